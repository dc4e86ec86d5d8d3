"""Order within a queue: the first consumptions of a queue's messages come in the order of their offsets.

A group's consumptions of a queue are sorted by their start, across all of its instances. A message is out of order when it
is consumed for the first time after one of a higher offset. A message that had been consumed before is a redelivery, which
counts as a duplicate and not here: after a kill, whatever its owner did not report is consumed again.

Every first consumption is either a step ahead of all before or out of order. The count is therefore exactly the number of
different offsets less the number of steps ahead.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, queue_words


def observe(inputs: Inputs) -> DataFrame:
    """``out_of_order_count`` for each group and queue that was consumed from."""
    queues = inputs.consumption.queues.join(inputs.trials.select("trial", "deployment"), "trial")
    count = F.col("different_offsets") - F.col("steps_ahead")
    file, line = place_of(count)
    return observations(
        queues,
        Value(
            measure="out_of_order_count",
            value=count,
            file=file,
            line=line,
            operation=F.concat(
                queue_words(),
                F.lit(": "),
                F.col("consumptions"),
                F.lit(" consumptions of "),
                F.col("different_offsets"),
                F.lit(" offsets, "),
                count,
                F.lit(" out of order"),
            ),
        ),
    )


def place_of(count: Column) -> tuple[Column, Column]:
    """File and line of a queue's earliest consumption that was no step ahead; of its last one where ``count`` is zero."""
    shown = (count > 0) & F.col("not_ahead_line").isNotNull()
    return (
        F.when(shown, F.col("not_ahead_file")).otherwise(F.col("last_file")),
        F.when(shown, F.col("not_ahead_line")).otherwise(F.col("last_line")),
    )
