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

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence import strides
from analysis.evidence.records import ANALYSIS_FOLDER, SENT_TABLE, STRIDES_TABLE, Records, keep, place, stored
from analysis.evidence.tables import BITS, SENT, STRIDES
from analysis.spark_settings import PARTITIONS
from harness.rundir.reading import RunDirectory

QUEUE_KEY = ("trial", "group", "topic", "broker", "queue")
_SORT_KEY = ("trial", "group", "broker", "queue")
_SENT_KEY = ("trial", "topic", "broker", "queue")

OWNER, SUCCESSOR = "owner", "successor"
"""The client processes that hold every group's first and second member."""

SECOND_NS = strides.SECOND_NS
_PARTITIONS_MIN = 8


@dataclass(frozen=True, kw_only=True)
class Consumption:
    """``strides`` has a row for each stride, ``queues`` one for each group and queue, ``sent`` one for each chunk of a queue."""

    strides: DataFrame
    queues: DataFrame
    sent: DataFrame


def fold_consumption(spark: SparkSession, records: Records, trials: DataFrame, run: RunDirectory) -> Consumption:
    """Put the consumptions in order and fold them; all tables are kept in ``RUN/analysis/``."""
    made, sent = run.path / STRIDES_TABLE, run.path / SENT_TABLE
    ordered = (
        stored(spark, made, STRIDES) if made.exists() else keep(spark, _sorted(records.consumptions, trials), made)
    )
    # A trial has one topic, and a history is named for its process: both are known without carrying them along.
    process = F.substring_index(F.substring_index("file", "/", -1), ".", 1)
    named = ordered.join(trials.select("trial", "topic", "fault_ns", "hold_to_ns"), "trial").withColumn(
        "process", process
    )
    return Consumption(
        strides=named,
        queues=keep(spark, _queues(named), run.path / ANALYSIS_FOLDER / "queues.parquet"),
        sent=stored(spark, sent, SENT) if sent.exists() else keep(spark, _sent(records.sends), sent),
    )


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


def _sent(sends: DataFrame) -> DataFrame:
    acknowledged = sends.where("outcome = 'ok' AND broker IS NOT NULL AND queue IS NOT NULL AND offset IS NOT NULL")
    return acknowledged.groupBy(*_SENT_KEY, F.expr(f"offset div {BITS}").alias("chunk")).agg(
        F.count("*").alias("sends"),
        F.bit_or(F.expr(f"shiftleft(1L, cast(pmod(offset, {BITS}) as int))")).alias("offsets"),
        F.max("offset").alias("offset_max"),
    )


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
