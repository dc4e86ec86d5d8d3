"""Order within a queue: the first consumptions of a queue's messages come in the order of their offsets.

A group's consumptions of a queue are taken by start, across all of its instances. A message that had not been consumed
before, while one with a higher offset had, is out of order. One that had been consumed before is a redelivery, which a
kill must give, since what its owner did not report is consumed again: it is counted as a duplicate, not here.

Every first consumption is either a step ahead of all before or out of order, so the count is exactly the number of
different offsets less the number of steps ahead.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, queue_words


def observe(inputs: Inputs) -> DataFrame:
    """``out_of_order_count`` for each group and queue that was consumed from."""
    queues = inputs.consumption.queues.join(inputs.trials.select("trial", "deployment"), "trial")
    count = F.col("different_offsets") - F.col("steps_ahead")
    # The earliest consumption that was no step ahead; where there is none, the last of all, which was in order.
    shown = (count > 0) & F.col("not_ahead_line").isNotNull()
    return observations(
        queues,
        Value(
            measure="out_of_order_count",
            value=count,
            file=F.when(shown, F.col("not_ahead_file")).otherwise(F.col("last_file")),
            line=F.when(shown, F.col("not_ahead_line")).otherwise(F.col("last_line")),
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
