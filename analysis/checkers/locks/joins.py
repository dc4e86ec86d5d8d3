"""Members that join an ordered group: from the lock of a queue that one is granted to the first message that it is given of it.

A successor joins when the fault has come. Its rebalance asks for one queue at a time; the first grant of each queue counts. A queue
of which it is given nothing by the end of the trial is censored there. Beside the time the pulls are counted that its own log says
it put off until then: a time has the start of a pull in it as well, which a release may delay for reasons of its own.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, observations
from analysis.evidence.consumption import OWNER, SECOND_NS, SUCCESSOR, queue_name
from analysis.evidence.records import place
from analysis.logs import client
from harness.model.rocketmq import LOCK_BATCH_MQ, RETRY_PREFIX

_QUEUE = ["trial", "group", "lock_queue"]
_FRAME = ["deployment", "end_ns", "wall_minus_mono_us"]


def observe(inputs: Inputs) -> DataFrame:
    """The measures of each queue whose lock a member was granted that joined after the fault.

    ``put_off_pull_count`` needs the log of the member's process from the grant on; where there is none it is not known.
    """
    trials = inputs.trials.select("trial", "fault_ns", *_FRAME)
    joined = (
        inputs.records.instances.where("event = 'starting'")
        .where(F.col("instance").endswith(f"-{SUCCESSOR}"))
        .join(trials, "trial")
        .where("at_ns > fault_ns")
        .select("trial", "group", "instance", *_FRAME)
    )
    granted = (
        inputs.records.lock_requests.where(F.col("code") == LOCK_BATCH_MQ)
        .join(joined, ["trial", "group", "instance"])
        .select(*_granted_columns())
        .groupBy(*_QUEUE, "instance", *_FRAME)
        .agg(F.min("finished_ns").alias("granted_ns"), F.min_by("at", "finished_ns").alias("at"))
    )
    consumed = (
        inputs.records.consumptions.withColumn("lock_queue", queue_name())
        .groupBy(*_QUEUE, "instance")
        .agg(F.min("started_ns").alias("first_ns"))
    )
    before = (
        inputs.records.consumptions.where(F.col("instance").endswith(f"-{OWNER}"))
        .withColumn("lock_queue", queue_name())
        .groupBy(*_QUEUE)
        .agg(F.max("finished_ns").alias("last_ns"))
    )
    waits = granted.join(consumed, [*_QUEUE, "instance"], "left").join(before, _QUEUE, "left")
    until_ns, never = F.coalesce("first_ns", "end_ns"), F.col("first_ns").isNull()
    waits = _with_put_off(inputs, waits.withColumn("until_ns", until_ns))
    said = "group {group} queue {lock_queue}: its lock is granted"
    put_off = "group {group} queue {lock_queue}: {value} pulls put off before its first message"
    return observations(
        waits,
        Value("lock_wait_s", (F.col("until_ns") - F.col("granted_ns")) / SECOND_NS, said, at="at", censored=never),
        Value("join_gap_s", (F.col("until_ns") - F.col("last_ns")) / SECOND_NS, said, at="at", censored=never),
        Value("put_off_pull_count", "put_off", put_off, at=F.coalesce("put_off_at", "at")),
    )


def _granted_columns() -> list[Column]:
    queue = F.explode("granted").alias("lock_queue")
    return [
        *map(F.col, ("trial", "group", "instance", *_FRAME, "finished_ns")),
        place().alias("at"),
        queue,
    ]


def _with_put_off(inputs: Inputs, waits: DataFrame) -> DataFrame:
    """``waits`` with how many pulls the member's log says were put off until then, and where the first one stands."""
    logs = logged.of_processes(inputs, logged.CLIENT_LOG).where(F.col("process") == SUCCESSOR).drop("process")
    lines = (
        client.parse(inputs.logs.kept)
        .where((F.col("process") == SUCCESSOR) & ~F.col("topic").startswith(RETRY_PREFIX))
        .withColumn("lock_queue", queue_name())
        .select(*_QUEUE, "wall_us", F.struct("file", F.col("line").cast("long").alias("line")).alias("line_at"))
    )
    # A line's time is the start of its millisecond, so that one of the moment itself is not after it.
    in_time = F.col("wall_us") - F.col("wall_minus_mono_us") <= F.col("until_ns") / 1000
    told = (
        waits.select(*_QUEUE, "until_ns", "wall_minus_mono_us")
        .join(lines, _QUEUE)
        .where(in_time)
        .groupBy(*_QUEUE)
        .agg(F.count("*").alias("told"), F.min_by("line_at", "wall_us").alias("put_off_at"))
    )
    put_off = F.when(logged.spans(logged.wall_us("granted_ns")), F.coalesce("told", F.lit(0)))
    return waits.join(F.broadcast(logs), "trial", "left").join(told, _QUEUE, "left").withColumn("put_off", put_off)
