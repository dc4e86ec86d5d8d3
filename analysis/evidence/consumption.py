"""Every queue's consumption, in the order in which it happened, folded to what the checkers ask.

The one large table of a run is its consumptions. It is sorted once, by group and queue and then by start, and folded
twice: into *pieces* (a run of one instance, cut into chunks of 64 offsets), and those into one row per group and queue.
All checkers of consumption work on these two small tables.

A *run* is a sequence of consumptions of a queue by one instance with no start of another one in between. A consumption
is a *step ahead* when its offset is higher than every offset that its group consumed in that queue before. Offsets are
kept as sets of bits, 64 to a number, so that "how many different ones" and "which are missing" are exact and cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import ANALYSIS_FOLDER, keep, place
from analysis.spark_settings import PARTITIONS
from harness.rundir.reading import RunDirectory

QUEUE_KEY = ("trial", "group", "topic", "broker", "queue")
_SORT_KEY = ("trial", "group", "broker", "queue")

OWNER, SUCCESSOR = "owner", "successor"
"""The client processes that hold every group's first and second member."""

OWNED_BEFORE_NS = 5_000_000_000
"""A queue is the owner's when the owner began to consume a message of it in the 5 s before the fault: queues get one every
three seconds at least. Where a listener works for ten seconds that is true of half of the owner's queues, and the others
are left out. Message delays are taken from the same moment on."""

SECOND_NS = 1_000_000_000
_BITS = 64
_PARTITIONS_MIN = 8


@dataclass(frozen=True, kw_only=True)
class Consumption:
    """``pieces`` has a row for each queue, run and chunk of offsets; ``queues`` one for each group and queue."""

    pieces: DataFrame
    queues: DataFrame


def fold_consumption(spark: SparkSession, consumptions: DataFrame, trials: DataFrame, run: RunDirectory) -> Consumption:
    """Sort and fold the consumptions; both tables are kept in ``RUN/analysis/``."""
    folder = run.path / ANALYSIS_FOLDER
    pieces = keep(spark, _pieces(_in_order(consumptions), trials), folder / "pieces.parquet")
    queues = keep(spark, _queues(pieces), folder / "queues.parquet")
    return Consumption(pieces=pieces, queues=queues)


def _in_order(consumptions: DataFrame) -> DataFrame:
    """The consumptions with what came before each of them in its group and queue.

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
    return ordered.withColumn("run", F.coalesce(F.sum(taken_over).over(in_queue), F.lit(0)))


def _pieces(ordered: DataFrame, trials: DataFrame) -> DataFrame:
    windows = trials.select("trial", "fault_ns", "hold_to_ns")
    ahead = F.col("highest_before").isNull() | (F.col("offset") > F.col("highest_before"))
    after_fault = F.col("started_ns") >= F.col("fault_ns")
    timed = ahead & F.col("intended_ns").between(F.col("fault_ns") - OWNED_BEFORE_NS, F.col("hold_to_ns"))
    in_ten_seconds = F.col("intended_ns").between(F.col("fault_ns"), F.col("fault_ns") + 10 * SECOND_NS)
    bit = F.expr(f"shiftleft(1L, cast(pmod(offset, {_BITS}) as int))")
    delay = F.when(timed, F.col("started_ns") - F.col("intended_ns"))
    # A listener that is at work when the fault comes has the queue, however long ago it began.
    at_work_ns = F.least(F.coalesce("finished_ns", "started_ns"), "fault_ns")
    folded = (
        ordered.join(windows, "trial", "left")
        .groupBy("hash", *_SORT_KEY, "file", "instance", "run", F.expr(f"offset div {_BITS}").alias("chunk"))
        .agg(
            F.count("*").alias("consumptions"),
            F.count(F.when(ahead, 1)).alias("steps_ahead"),
            F.bit_or(bit).alias("offsets"),
            F.min("started_ns").alias("first_ns"),
            F.min_by("n", "started_ns").alias("first_line"),
            F.max("started_ns").alias("last_ns"),
            F.max_by("n", "started_ns").alias("last_line"),
            F.max("finished_ns").alias("finished_ns"),
            F.max("offset").alias("offset_max"),
            F.min_by("n", F.when(~ahead, F.col("started_ns"))).alias("not_ahead_line"),
            F.min(F.when(~ahead, F.col("started_ns"))).alias("not_ahead_ns"),
            F.min(F.when(after_fault, F.col("started_ns"))).alias("after_fault_ns"),
            F.min_by("n", F.when(after_fault, F.col("started_ns"))).alias("after_fault_line"),
            F.max(F.when(~after_fault, at_work_ns)).alias("before_fault_ns"),
            F.max_by("n", F.when(~after_fault, F.col("started_ns"))).alias("before_fault_line"),
            F.count(delay).alias("timed"),
            F.count(F.when(delay > SECOND_NS, 1)).alias("over_1s"),
            F.count(F.when(timed & in_ten_seconds & (delay > SECOND_NS), 1)).alias("late_in_10s"),
            F.max(delay).alias("delay_ns_max"),
            F.max_by("n", delay).alias("delay_max_line"),
        )
    )
    # A trial has one topic, and a history is named for its process: both are known without carrying them along.
    process = F.substring_index(F.substring_index("file", "/", -1), ".", 1)
    return folded.drop("hash").join(trials.select("trial", "topic"), "trial").withColumn("process", process)


def _queues(pieces: DataFrame) -> DataFrame:
    different = (
        pieces.groupBy(*QUEUE_KEY, "chunk")
        .agg(F.bit_or("offsets").alias("offsets"))
        .groupBy(*QUEUE_KEY)
        .agg(F.sum(F.bit_count("offsets")).alias("different_offsets"))
    )
    is_owner, is_successor = F.col("process") == OWNER, F.col("process") == SUCCESSOR
    taken_ns = F.when(is_successor, F.col("after_fault_ns"))
    owned_ns = F.when(is_owner, F.col("before_fault_ns"))
    folded = pieces.groupBy(*QUEUE_KEY).agg(
        F.sum("consumptions").alias("consumptions"),
        F.sum("steps_ahead").alias("steps_ahead"),
        F.max("offset_max").alias("offset_max"),
        F.max_by(place("last_line"), "last_ns").alias("last_at"),
        F.min_by(place("not_ahead_line"), "not_ahead_ns").alias("not_ahead_at"),
        F.min(taken_ns).alias("taken_ns"),
        F.min_by(place("after_fault_line"), taken_ns).alias("taken_at"),
        F.max(owned_ns).alias("owned_ns"),
        F.max_by(place("before_fault_line"), owned_ns).alias("owned_at"),
        F.sum("timed").alias("timed"),
        F.sum("over_1s").alias("over_1s"),
        F.sum("late_in_10s").alias("late_in_10s"),
        F.max("delay_ns_max").alias("delay_ns_max"),
        F.max_by(place("delay_max_line"), "delay_ns_max").alias("delay_max_at"),
    )
    return folded.join(different, list(QUEUE_KEY))


def runs_of(pieces: DataFrame) -> DataFrame:
    """One row for each run of an instance in a queue: when it began, and when its last consumption ended."""
    return pieces.groupBy(*QUEUE_KEY, "run", "instance", "file").agg(
        F.min("first_ns").alias("first_ns"),
        F.min_by("first_line", "first_ns").alias("first_line"),
        F.max("finished_ns").alias("finished_ns"),
    )


def queue_name() -> Column:
    """``broker-a:3``, as lock requests and probes name a queue."""
    return F.concat_ws(":", "broker", "queue")


def owned_at_fault() -> Column:
    """True for a queue that the owner was consuming from in the 5 s before the fault (table ``queues`` with trials)."""
    return F.col("owned_ns") >= F.col("fault_ns") - OWNED_BEFORE_NS
