"""Duplicates: consumptions of an offset that the group had consumed before.

Judged where the drain was complete: before that, a redelivery may still be on its way. At-least-once delivery allows
duplicates; a kill gives some, a graceful hand-over need not.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, queue_words
from analysis.checkers.delivery.order import place_of


def observe(inputs: Inputs) -> DataFrame:
    """``duplicate_count`` for each group and queue of the trials that were drained."""
    drained = inputs.trials.where("drained").select("trial", "deployment")
    queues = inputs.consumption.queues.join(drained, "trial")
    count = F.col("consumptions") - F.col("different_offsets")
    file, line = place_of(count)
    return observations(
        queues,
        Value(
            measure="duplicate_count",
            value=count,
            file=file,
            line=line,
            operation=F.concat(
                queue_words(),
                F.lit(": "),
                F.col("consumptions"),
                F.lit(" consumptions of "),
                F.col("different_offsets"),
                F.lit(" offsets"),
            ),
        ),
    )
