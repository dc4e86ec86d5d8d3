"""Owners that stood still: whether another member got one of their queues meanwhile.

A queue is lost when another member is granted its lock, since the owner's next renewal is then refused, or when another
member consumes from it. A client may begin to consume long after it was granted the lock: one of 4.6.0 waits until its own
lock timer has told it once more (``handover_part_s``, the part "marking").
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations
from analysis.checkers.locks.requests import LOCKED_QUEUE, owned_queues, requests_of_queues

PAUSE = "pause-owners"


def observe(inputs: Inputs) -> DataFrame:
    """1 for an owner that lost a queue before the end of its pause, which the hold lasts for; else 0."""
    trials = inputs.trials.where(F.col("fault") == PAUSE)
    requests = requests_of_queues(inputs, trials).select(*LOCKED_QUEUE, "granted_ns", "granted_at")
    queues = owned_queues(inputs, trials).join(requests, list(LOCKED_QUEUE), "left")
    granted = F.col("granted_ns") <= F.col("hold_to_ns")
    consumed = F.col("taken_ns") <= F.col("hold_to_ns")
    lost_ns = F.when(granted, F.col("granted_ns")).when(consumed, F.col("taken_ns"))
    lost_at = F.when(granted, F.col("granted_at")).otherwise(F.col("taken_at"))
    owners = queues.groupBy("trial", "deployment", "group").agg(
        F.count(lost_ns).alias("taken"), F.coalesce(F.min_by(lost_at, lost_ns), F.min("owned_at")).alias("at")
    )
    lost = (F.col("taken") > 0).cast("int")
    return observations(owners, Value("taken_while_paused", lost, "group {group}: {taken} queues taken", at="at"))
