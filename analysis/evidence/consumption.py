"""Every queue's consumption, in the order in which it happened, folded to what the checkers ask.

The one large table of a run is its consumptions. They are put in order, by group and queue and then by start, and folded twice:
into *strides* (see ``strides.py``), and those into one row per group and queue. All checkers of consumption work on these two
small tables. Of a run on this machine the strides are there when Spark is; of one elsewhere, and where most messages came out of
order, Spark sorts all consumptions, and puts together what is alike.

A *run* is a sequence of consumptions of a queue by one instance with no start of another one in between. A consumption
is a *step ahead* when its offset is higher than every offset that its group consumed in that queue before. Offsets are
kept as sets of bits, 64 to a number, so that "how many different ones" and "which are missing" are exact and cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructType

from analysis.evidence import queues, strides
from analysis.evidence.records import (
    QUEUES_TABLE,
    SENT_TABLE,
    STRIDES_TABLE,
    UNSEEN_TABLE,
    Records,
    keep,
    place,
    stored,
)
from analysis.evidence.tables import BITS, QUEUES, SENT, STRIDES, UNSEEN, frame_of, table
from analysis.spark_settings import PARTITIONS
from harness.rundir.reading import RunDirectory

QUEUE_KEY = ("trial", "group", "topic", "broker", "queue")
_SORT_KEY = ("trial", "group", "broker", "queue")
_SENT_KEY = ("trial", "topic", "broker", "queue")
_GROUPS = table(trial=StringType(), group=StringType())

OWNER, SUCCESSOR, SECOND_NS = queues.OWNER, queues.SUCCESSOR, strides.SECOND_NS
_PARTITIONS_MIN = 8


@dataclass(frozen=True, kw_only=True)
class Consumption:
    """``strides`` has a row for each stride, ``queues`` one for each group and queue, ``sent`` one for each chunk of a queue, and
    ``unseen`` one for each acknowledged send that a group of a drained trial did not consume.

    ``reused`` has the chunks with an offset that was acknowledged more than once: the broker forgot messages, and gave their
    offsets to others. None where there is no such chunk, as in nearly every run.
    """

    strides: DataFrame
    queues: DataFrame
    sent: DataFrame
    unseen: DataFrame
    reused: DataFrame | None


def fold_consumption(spark: SparkSession, records: Records, trials: DataFrame, run: RunDirectory) -> Consumption:
    """Put the consumptions in order and fold them; all tables are kept in ``RUN/analysis/``."""

    def there(name: str, schema: StructType, make: Callable[[], DataFrame]) -> DataFrame:
        path = run.path / name
        return stored(spark, path, schema) if path.exists() else keep(spark, make(), path)

    ordered = there(STRIDES_TABLE, STRIDES, lambda: _sorted(records.consumptions, trials))
    # A trial has one topic, and a history is named for its process: both are known without carrying them along.
    process = F.substring_index(F.substring_index("file", "/", -1), ".", 1)
    named = ordered.join(trials.select("trial", "topic", "fault_ns", "hold_to_ns"), "trial").withColumn(
        "process", process
    )
    sent = there(SENT_TABLE, SENT, lambda: _sent(records.sends))
    audience = trials.where("drained").select("trial").join(groups_of(spark, run), "trial")
    reused = sent.where(F.col("sends") > F.bit_count("offsets")).select(*_SENT_KEY, "chunk")
    has_reused = not reused.isEmpty()
    unseen = there(UNSEEN_TABLE, UNSEEN, lambda: _unseen(records.sends, sent, named, audience))
    return Consumption(
        strides=named,
        queues=there(QUEUES_TABLE, QUEUES, lambda: _queues(named)),
        sent=sent,
        unseen=unseen.unionByName(_overwritten(records, reused, audience)).distinct() if has_reused else unseen,
        reused=reused if has_reused else None,
    )


def groups_of(spark: SparkSession, run: RunDirectory) -> DataFrame:
    """The groups of each trial, small enough to be joined by broadcast."""
    rows = [{"trial": trial.trial, "group": group} for trial in run.trials for group in trial.groups]
    return F.broadcast(frame_of(spark, rows, _GROUPS))


def _sorted(consumptions: DataFrame, trials: DataFrame) -> DataFrame:
    """The consumptions in their order; those of one run, chunk and side are put together, whatever came in between.

    The number before the key is there to be sorted by: comparing it first is a fraction of comparing four texts that
    begin alike, and equal numbers of different queues are told apart by the key that follows.
    """
    columns = consumptions.select(
        F.xxhash64(*_SORT_KEY).alias("hash"),
        *(*_SORT_KEY, "file", "n", "instance", "offset", "intended_ns", "started_ns", "finished_ns"),
    )
    # Small enough partitions to be sorted in memory, two at a time.
    told = columns.sparkSession.conf.get(PARTITIONS)
    spread = columns.repartition(max(_PARTITIONS_MIN, int(told or 0)), "hash")
    in_queue = Window.partitionBy("hash", *_SORT_KEY).orderBy("started_ns", "n")
    before = in_queue.rowsBetween(Window.unboundedPreceding, -1)
    ordered = spread.select(
        "*",
        F.max("offset").over(before).alias("highest_before"),
        F.lag("instance").over(in_queue).alias("instance_before"),
    )
    taken_over = (F.col("instance_before") != F.col("instance")).cast("int")
    in_runs = ordered.withColumn("run", F.coalesce(F.sum(taken_over).over(in_queue), F.lit(0)))
    return _together(in_runs.join(trials.select("trial", "fault_ns", "hold_to_ns"), "trial", "left"))


def _together(consumptions: DataFrame) -> DataFrame:
    started, intended, fault = F.col("started_ns"), F.col("intended_ns"), F.col("fault_ns")
    is_ahead = F.col("highest_before").isNull() | (F.col("offset") > F.col("highest_before"))
    sides = (
        started >= fault,
        intended >= fault - strides.OWNED_BEFORE_NS,
        intended >= fault,
        intended > fault + strides.LATE_WITHIN_NS,
        intended > F.col("hold_to_ns"),
        F.col("finished_ns").isNull(),
    )
    alike = F.concat(*[F.coalesce(side, F.lit(False)).cast("int").cast("string") for side in (is_ahead, *sides)])
    delay = started - intended
    found = consumptions.groupBy(
        "hash", *_SORT_KEY, "file", "instance", "run", F.expr(f"offset div {BITS}").alias("chunk"), alike.alias("alike")
    ).agg(
        F.count("*").alias("consumptions"),
        F.count_if(is_ahead).alias("steps_ahead"),
        F.bit_or(F.expr(f"shiftleft(1L, cast(pmod(offset, {BITS}) as int))")).alias("bits"),
        F.max("offset").alias("offset_max"),
        F.min("started_ns").alias("first_ns"),
        F.min_by("n", "started_ns").alias("first_line"),
        F.max("started_ns").alias("last_ns"),
        F.max_by("n", "started_ns").alias("last_line"),
        F.max("finished_ns").alias("finished_ns"),
        F.min("intended_ns").alias("intended_ns"),
        F.count_if(delay > SECOND_NS).alias("over_1s"),
        F.max(delay).alias("delay_ns_max"),
        F.max_by("n", delay).alias("delay_max_line"),
    )
    of_chunk = Window.partitionBy("hash", *_SORT_KEY, "chunk")
    is_first = F.row_number().over(of_chunk.orderBy("first_ns", "first_line")) == 1
    return found.withColumn("offsets", F.when(is_first, F.bit_or("bits").over(of_chunk))).select(*STRIDES.names)


def _queues(named: DataFrame) -> DataFrame:
    """As :func:`analysis.evidence.queues.queues_of` makes it where this process makes the strides."""
    is_ahead, fault = F.col("steps_ahead") > 0, F.col("fault_ns")
    not_ahead_ns = F.when(~is_ahead, F.col("first_ns"))
    is_after = F.col("first_ns") >= fault
    taken_ns = F.when((F.col("process") == SUCCESSOR) & is_after, F.col("first_ns"))
    # A listener that is at work when the fault comes has the queue, however long ago it began.
    at_work_ns = F.least(F.coalesce("finished_ns", "last_ns"), fault)
    owned_ns = F.when((F.col("process") == OWNER) & ~is_after, at_work_ns)
    intended = F.col("intended_ns")
    timed = is_ahead & intended.between(fault - strides.OWNED_BEFORE_NS, F.col("hold_to_ns"))
    in_ten_seconds = intended.between(fault, fault + strides.LATE_WITHIN_NS)
    delay = F.when(timed, F.col("delay_ns_max"))
    return named.groupBy(*QUEUE_KEY).agg(
        F.sum("consumptions").alias("consumptions"),
        F.sum("steps_ahead").alias("steps_ahead"),
        F.sum(F.bit_count("offsets")).alias("different_offsets"),
        F.max("offset_max").alias("offset_max"),
        F.max_by(place("last_line"), "last_ns").alias("last_at"),
        F.min_by(place("first_line"), not_ahead_ns).alias("not_ahead_at"),
        F.min(taken_ns).alias("taken_ns"),
        F.min_by(place("first_line"), taken_ns).alias("taken_at"),
        F.max(owned_ns).alias("owned_ns"),
        F.max_by(place("last_line"), owned_ns).alias("owned_at"),
        F.sum(F.when(timed, F.col("consumptions")).otherwise(0)).alias("timed"),
        F.sum(F.when(timed, F.col("over_1s")).otherwise(0)).alias("over_1s"),
        F.sum(F.when(timed & in_ten_seconds, F.col("over_1s")).otherwise(0)).alias("late_in_10s"),
        F.max(delay).alias("delay_ns_max"),
        F.max_by(place("delay_max_line"), delay).alias("delay_max_at"),
    )


def _acknowledged(sends: DataFrame) -> DataFrame:
    """Those whose place is known."""
    return sends.where("outcome = 'ok' AND broker IS NOT NULL AND queue IS NOT NULL AND offset IS NOT NULL")


def _sent(sends: DataFrame) -> DataFrame:
    return (
        _acknowledged(sends)
        .groupBy(*_SENT_KEY, F.expr(f"offset div {BITS}").alias("chunk"))
        .agg(
            F.count("*").alias("sends"),
            F.bit_or(F.expr(f"shiftleft(1L, cast(pmod(offset, {BITS}) as int))")).alias("offsets"),
            F.max("offset").alias("offset_max"),
        )
    )


def _unseen(sends: DataFrame, sent: DataFrame, named: DataFrame, audience: DataFrame) -> DataFrame:
    """As :func:`analysis.evidence.unseen.unseen_sends` makes it where there are few."""
    key, none = (*QUEUE_KEY, "chunk"), F.lit(None).cast("long")
    asked = sent.join(F.broadcast(audience), "trial").select(
        *key, F.col("offsets").alias("sent"), none.alias("consumed")
    )
    consumed = named.where("offsets IS NOT NULL").select(*key, none.alias("sent"), F.col("offsets").alias("consumed"))
    # Side by side, since two large tables are sooner added up than sorted for a join.
    both = (
        asked.unionByName(consumed).groupBy(*key).agg(F.max("sent").alias("sent"), F.max("consumed").alias("consumed"))
    )
    bits, position = F.expr("sent & ~coalesce(consumed, 0L)"), F.explode(F.sequence(F.lit(0), F.lit(BITS - 1)))
    offsets = (
        both.select(*QUEUE_KEY, "chunk", bits.alias("bits"))
        .where("bits != 0")
        .select("*", position.alias("at"))
        .where(F.expr("shiftright(bits, at) & 1L") == 1)
        .select(*QUEUE_KEY, (F.col("chunk") * BITS + F.col("at")).alias("offset"))
    )
    of_no_group = _acknowledged(sends).drop("group")
    # There are few or none, so the sends are not sorted to be joined with them.
    return of_no_group.join(F.broadcast(offsets), [*_SENT_KEY, "offset"]).select(*UNSEEN.names)


def _overwritten(records: Records, reused: DataFrame, audience: DataFrame) -> DataFrame:
    """Of the acknowledged sends whose offset was given to another one as well, those that a group did not consume: the number of
    the message tells them apart."""
    of_no_group = _acknowledged(records.sends).drop("group").withColumn("chunk", F.expr(f"offset div {BITS}"))
    near = of_no_group.join(F.broadcast(reused), [*_SENT_KEY, "chunk"])
    shared = near.groupBy(*_SENT_KEY, "offset").agg(F.count("*").alias("sends")).where("sends > 1").drop("sends")
    sends = near.join(shared, [*_SENT_KEY, "offset"]).where("seq IS NOT NULL").join(F.broadcast(audience), "trial")
    at = ["trial", "group", "broker", "queue", "offset", "seq"]
    return sends.join(records.consumptions.select(*at).distinct(), at, "left_anti").select(*UNSEEN.names)


def runs_of(named: DataFrame) -> DataFrame:
    """One row for each run of an instance in a queue: when it began, and when its last consumption ended."""
    return named.groupBy(*QUEUE_KEY, "run", "instance", "file").agg(
        F.min("first_ns").alias("first_ns"),
        F.min_by("first_line", "first_ns").alias("first_line"),
        F.max("finished_ns").alias("finished_ns"),
    )


def queue_name() -> Column:
    """``broker-a:3``, as lock requests and probes name a queue."""
    return F.concat_ws(":", "broker", "queue")


def owned_at_fault() -> Column:
    """True for a queue that the owner was consuming from in the 5 s before the fault (table ``queues`` with trials)."""
    return F.col("owned_ns") >= F.col("fault_ns") - strides.OWNED_BEFORE_NS
