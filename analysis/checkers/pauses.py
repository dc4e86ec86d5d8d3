"""Owners that stood still: whether another member consumed one of their queues meanwhile."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, owner_unit
from analysis.consumption import owned_at_fault

MEASURES: tuple[str, ...] = ("taken_while_paused",)

PAUSE = "pause-owners"


def observe(inputs: Inputs) -> DataFrame:
    """1 for an owner that lost a queue before the end of its pause, which the hold lasts for; else 0."""
    queues = (
        inputs.consumption.queues.drop("delays_ns")
        .join(inputs.trials.where(F.col("fault") == PAUSE), ["trial", "topic"])
        .where(owned_at_fault())
    )
    taken = F.col("taken_ns") <= F.col("hold_to_ns")
    owners = queues.groupBy("trial", "deployment", "group").agg(
        F.count(F.when(taken, 1)).alias("taken"),
        F.coalesce(F.min_by("taken_file", F.when(taken, F.col("taken_ns"))), F.min("owned_file")).alias("file"),
        F.coalesce(F.min_by("taken_line", F.when(taken, F.col("taken_ns"))), F.min("owned_line")).alias("line"),
    )
    return observations(
        owners,
        owner_unit(),
        Value(
            measure="taken_while_paused",
            value=(F.col("taken") > 0).cast("int"),
            file=F.col("file"),
            line=F.col("line"),
            operation=F.concat(F.lit("group "), F.col("group"), F.lit(": "), F.col("taken"), F.lit(" queues taken")),
        ),
    )
