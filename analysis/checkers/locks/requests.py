"""Requests about queue locks: the codes, the queues that an owner had, and what was asked for each of them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs
from analysis.evidence.consumption import OWNER, SUCCESSOR, owned_at_fault, queue_name
from analysis.evidence.records import place
from harness.model.rocketmq import LOCK_BATCH_MQ, RETRY_PREFIX, UNLOCK_BATCH_MQ

LOCKED_QUEUE = ("trial", "group", "lock_queue")
"""What a lock is kept by, within a deployment."""

_RENEWER = "ConsumeMessageScheduledThread"
"""The client's own lock thread, of ConsumeMessageOrderlyService. Requests of other threads come from rebalancing, which
asks for one queue at a time; where a 5.x client's hook sees the network's thread, several queues in one request tell
that it came from RebalanceImpl.lockAll, which the lock thread alone calls."""


def owned_queues(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """The queues that owners had at the fault of ``trials``, with ``lock_queue`` and the trials' columns."""
    return (
        inputs.consumption.queues.join(trials, ["trial", "topic"])
        .where(owned_at_fault())
        .withColumn("lock_queue", queue_name())
    )


def of_lock_timer() -> Column:
    """Whether a request came from the client's lock timer."""
    return F.col("thread").startswith(_RENEWER) | (F.size("asked") > 1)


def of_one_queue() -> Column:
    """Whether a request asks for one queue, as a rebalance does."""
    return F.size("asked") == 1


def of_topic_queues() -> Column:
    """Whether a request is not of a retry topic's queue alone: queues are named without their topic, and it has a queue 0, too."""
    return ~(of_one_queue() & F.col("topic").startswith(RETRY_PREFIX))


def requests_of_queues(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """What was asked about each queue (``LOCKED_QUEUE``) by its owner, first, last and to unlock it, and by the successor.

    A request without an answer was neither granted nor refused.
    """
    each = (
        inputs.records.lock_requests.where("finished_ns IS NOT NULL")
        .where(F.col("code").isin(LOCK_BATCH_MQ, UNLOCK_BATCH_MQ))
        .where(of_topic_queues())
        .join(trials.select("trial", "fault_ns"), "trial")
        .select("*", F.explode("asked").alias("lock_queue"))
    )
    locks, after = F.col("code") == LOCK_BATCH_MQ, F.col("started_ns") >= F.col("fault_ns")
    granted = F.coalesce(F.array_contains("granted", F.col("lock_queue")), F.lit(False))
    by_owner, by_successor = F.col("process") == OWNER, F.col("process") == SUCCESSOR
    started = F.col("started_ns")
    # A successor takes over by its rebalance, a queue at a time. Its renewals name its own retry queue, too.
    granted_ns = F.when(locks & by_successor & after & granted & of_one_queue(), started)
    refused_ns = F.when(locks & by_successor & after & ~granted, started)
    unlock_ns = F.when(~locks & by_owner & after, started)
    return each.groupBy(*LOCKED_QUEUE).agg(
        F.min(F.when(locks & by_owner & granted, started)).alias("locked_ns"),
        F.max(F.when(locks & by_owner & ~after & granted, started)).alias("renewed_ns"),
        F.min(granted_ns).alias("granted_ns"),
        F.min_by(place(), granted_ns).alias("granted_at"),
        F.max_by(place(), refused_ns).alias("refused_at"),
        F.min_by(place(), unlock_ns).alias("unlock_at"),
    )
