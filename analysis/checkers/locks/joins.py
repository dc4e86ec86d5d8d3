"""Members that join an ordered group: from the lock of a queue that one is granted to the first message that it is given of it.

A successor joins when the fault has come. Its rebalance asks for one queue at a time; the first grant of each queue counts. A queue
of which it is given nothing by the end of the trial is censored there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations
from analysis.evidence.consumption import OWNER, SECOND_NS, SUCCESSOR, queue_name
from analysis.evidence.records import place
from harness.model.rocketmq import LOCK_BATCH_MQ

_QUEUE = ["trial", "group", "lock_queue"]


def observe(inputs: Inputs) -> DataFrame:
    """``lock_wait_s`` and ``join_gap_s`` for each queue whose lock a member was granted that joined after the fault."""
    trials = inputs.trials.select("trial", "deployment", "fault_ns", "end_ns")
    joined = (
        inputs.records.instances.where("event = 'starting'")
        .where(F.col("instance").endswith(f"-{SUCCESSOR}"))
        .join(trials, "trial")
        .where("at_ns > fault_ns")
        .select("trial", "deployment", "group", "instance", "end_ns")
    )
    granted = (
        inputs.records.lock_requests.where(F.col("code") == LOCK_BATCH_MQ)
        .join(joined, ["trial", "group", "instance"])
        .select(*_granted_columns())
        .groupBy(*_QUEUE, "deployment", "instance", "end_ns")
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
    said = "group {group} queue {lock_queue}: its lock is granted"
    return observations(
        waits,
        Value("lock_wait_s", (until_ns - F.col("granted_ns")) / SECOND_NS, said, at="at", censored=never),
        Value("join_gap_s", (until_ns - F.col("last_ns")) / SECOND_NS, said, at="at", censored=never),
    )


def _granted_columns() -> list[Column]:
    queue = F.explode("granted").alias("lock_queue")
    return [
        *map(F.col, ("trial", "group", "deployment", "instance", "end_ns", "finished_ns")),
        place().alias("at"),
        queue,
    ]
