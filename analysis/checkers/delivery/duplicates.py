"""Duplicates: consumptions of an offset that the group had consumed before.

Judged where the drain was complete: before that, a redelivery may still be on its way. At-least-once delivery allows
duplicates; a kill gives some, a graceful hand-over need not.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs
from analysis.checkers.delivery.order import of_queues


def observe(inputs: Inputs) -> DataFrame:
    """``duplicate_count`` for each group and queue of the trials that were drained."""
    count = F.col("consumptions") - F.col("different_offsets")
    said = "{consumptions} consumptions of {different_offsets} offsets"
    return of_queues("duplicate_count", count, said, inputs, inputs.trials.where("drained"))
