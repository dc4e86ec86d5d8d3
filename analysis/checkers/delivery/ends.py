"""Queues' ends as the brokers told them when a trial had ended: what was read before says nothing of what became of them then."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs


def store_readings(inputs: Inputs) -> DataFrame:
    """The brokers' own offsets of queues and groups, of whatever ``moment``."""
    return inputs.records.events.where("type = 'store_max'").withColumn("queue", F.col("queue").cast("int"))


def read_at_end(inputs: Inputs) -> DataFrame:
    """Those of the end."""
    return store_readings(inputs).where("moment = 'end'")


def came_to_its_end(inputs: Inputs) -> Column:
    """Whether a row's ``trial`` did. Of another one some queues may not have been read: what is missing in them is not seen, so
    that a count of nothing is none."""
    return ~F.col("trial").isin([one.trial for one in inputs.run.trials if one.status != "complete"])
