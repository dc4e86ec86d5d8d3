"""Statuses: sends that a broker stored, but answered with another status than SEND_OK.

Such a send has the outcome unknown, as one that nobody answered has; its status tells the two apart. A master that dies
before it flushes or replicates may lose the message, so that it is neither a success nor a failure. Zero is a result and
is given for every status.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations
from analysis.evidence.records import place
from harness.model.rocketmq import STORED_UNSURE


def observe(inputs: Inputs) -> DataFrame:
    """By status, over all sends of every trial that has some."""
    statuses = F.explode(F.array(*[F.lit(status) for status in STORED_UNSURE])).alias("status")
    counted = (
        inputs.records.sends.where(F.col("status").isNotNull())
        .groupBy("trial", "status")
        .agg(F.count("*").alias("sends_unsure"), F.min_by(place(), "finished_ns").alias("at"))
    )
    return observations(
        inputs.trials.where("sends > 0").select("*", statuses).join(counted, ["trial", "status"], "left"),
        Value(
            "stored_unsure_count",
            F.coalesce("sends_unsure", F.lit(0)),
            "{value} sends answered with {status}",
            at=F.coalesce("at", at_fault()),
            params={"status": "status"},
        ),
    )
