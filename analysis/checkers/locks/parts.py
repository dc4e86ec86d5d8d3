"""What a hand-over's delay is made of: six parts, each from two stamps of its own, and how much they leave unexplained.

- *lock*: the lock that the owner left lives on, from the fault to its expiry or unlocking.
- *asking*: the successor asks again, from the expiry to the start of the request that is granted.
- *request*: that request itself.
- *marking*: the client marks its process queue as locked, from when the new process queue is seen to when its flag is.
- *pull*: from the flag to the first pull request.
- *delivery*: from the pull to the first consumption.

No part is what the others leave over. ``handover_gap_s`` is the difference between their sum and the delay: the time
between an answer and the process queue that is made of it, and how late a flag was seen. Where a stamp is missing it is the
whole delay.

Nobody records when a lock expires. It is computed: the end of the owner's last granted request and the broker's
lockMaxLiveTime (org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager, 60 s unless set by -D).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations
from analysis.checkers.locks.requests import LOCKED_QUEUE, owned_queues
from analysis.evidence.consumption import OWNER, SECOND_NS, SUCCESSOR, queue_name
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from harness.model.rocketmq import LOCK_BATCH_MQ, PULL_MESSAGE, UNLOCK_BATCH_MQ

PARTS: tuple[tuple[str, str, str], ...] = (
    ("lock", "fault_ns", "freed_ns"),
    ("asking", "freed_ns", "granted_ns"),
    ("request", "granted_ns", "answered_ns"),
    ("marking", "assigned_ns", "marked_ns"),
    ("pull", "marked_ns", "pulled_ns"),
    ("delivery", "pulled_ns", "taken_ns"),
)
"""Each part with the columns of its two stamps, in the order of time."""


def observe(inputs: Inputs) -> DataFrame:
    """The parts of every hand-over that was completed."""
    parts = [(name, _seconds(begin, end)) for name, begin, end in PARTS]
    gap = _seconds("fault_ns", "taken_ns") - F.coalesce(sum((part for _, part in parts), F.lit(0.0)), F.lit(0.0))
    queue, granted = "group {group} queue {broker}:{queue}: ", F.coalesce("granted_at", "taken_at")
    return observations(
        _handed_over(inputs),
        *[Value("handover_part_s", s, queue + name, at=granted, params={"part": F.lit(name)}) for name, s in parts],
        Value("handover_gap_s", F.abs(gap), queue + "delay less the sum of its parts", at="taken_at"),
    )


def _seconds(begin: str, end: str) -> Column:
    return (F.col(end) - F.col(begin)) / SECOND_NS


# --- the stamps -------------------------------------------------------------------------------------------------------


def _handed_over(inputs: Inputs) -> DataFrame:
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    stamped = (
        owned_queues(inputs, trials)
        .where("taken_ns IS NOT NULL")
        .join(_locks(inputs, trials), list(LOCKED_QUEUE), "left")
        .join(_flags(inputs, trials, "assigned"), list(LOCKED_QUEUE), "left")
        .join(_flags(inputs, trials, "locked"), list(LOCKED_QUEUE), "left")
        .join(_pulls(inputs, trials), list(LOCKED_QUEUE), "left")
    )
    expires_ns = F.col("renewed_ns") + F.col("lock_life_ms").cast("long") * 1_000_000
    after_grant = F.coalesce("granted_ns", "fault_ns")
    return stamped.withColumns(
        {
            "freed_ns": F.least(expires_ns, "unlocked_ns"),
            "assigned_ns": _first_after("assigned_at_ns", after_grant),
            "marked_ns": _first_after("locked_at_ns", after_grant),
            "pulled_ns": _first_after("pulled_at_ns", after_grant),
        }
    )


def _first_after(stamps: str, moment: Column) -> Column:
    return F.array_min(F.filter(stamps, lambda at: at >= moment))


def _locks(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """The end of the owner's last granted request, its unlocking, and the successor's first granted request."""
    each = (
        inputs.records.lock_requests.where(F.col("code").isin(LOCK_BATCH_MQ, UNLOCK_BATCH_MQ))
        .join(trials.select("trial", "fault_ns"), "trial")
        .select("*", F.explode("asked").alias("lock_queue"))
    )
    locks, after = F.col("code") == LOCK_BATCH_MQ, F.col("started_ns") >= F.col("fault_ns")
    granted = F.coalesce(F.array_contains("granted", F.col("lock_queue")), F.lit(False))
    by_owner, by_successor = F.col("process") == OWNER, F.col("process") == SUCCESSOR
    # A take-over is a request of the rebalance, which asks for one queue at a time.
    taken_ns = F.when(locks & by_successor & after & granted & (F.size("asked") == 1), F.col("started_ns"))
    return each.groupBy(*LOCKED_QUEUE).agg(
        F.max(F.when(locks & by_owner & ~after & granted, F.col("finished_ns"))).alias("renewed_ns"),
        # Some releases send it one-way: then there is no answer that would tell when it was done.
        F.min(F.when(~locks & by_owner & after, F.coalesce("finished_ns", "started_ns"))).alias("unlocked_ns"),
        F.min(taken_ns).alias("granted_ns"),
        F.min_by("finished_ns", taken_ns).alias("answered_ns"),
        F.min_by(place(), taken_ns).alias("granted_at"),
    )


def _flags(inputs: Inputs, trials: DataFrame, event: str) -> DataFrame:
    """When the successor's process queue was first seen, or seen to be locked."""
    seen = inputs.records.queue_flags.where((F.col("process") == SUCCESSOR) & (F.col("event") == event))
    return _stamps(seen.withColumn("lock_queue", queue_name()), trials, "at_ns", f"{event}_at_ns")


def _pulls(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """When the successor began to pull: the history has the first pull after each lock that a rebalance got."""
    pulls = inputs.records.lock_requests.where((F.col("code") == PULL_MESSAGE) & (F.col("process") == SUCCESSOR))
    return _stamps(pulls.select("*", F.explode("asked").alias("lock_queue")), trials, "started_ns", "pulled_at_ns")


def _stamps(records: DataFrame, trials: DataFrame, stamp: str, name: str) -> DataFrame:
    """All stamps of a queue after the fault: a few, since a queue changes hands once."""
    return (
        records.join(trials.select("trial", "fault_ns"), "trial")
        .where(F.col(stamp) >= F.col("fault_ns"))
        .groupBy(*LOCKED_QUEUE)
        .agg(F.collect_list(stamp).alias(name))
    )
