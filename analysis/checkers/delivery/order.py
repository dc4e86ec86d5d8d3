"""Order within a queue: the first consumptions of a queue's messages come in the order of their offsets.

A group's consumptions of a queue are sorted by their start, across all of its instances. A message is out of order when it
is consumed for the first time after one of a higher offset. A message that had been consumed before is a redelivery, which
counts as a duplicate and not here: after a kill, whatever its owner did not report is consumed again.

Every first consumption is either a step ahead of all before or out of order. The count is therefore exactly the number of
different offsets less the number of steps ahead.

In a queue whose broker gave an offset to more than one message, offsets tell neither order nor what came again: there is no value.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations


def observe(inputs: Inputs) -> DataFrame:
    """``out_of_order_count`` for each group and queue that was consumed from."""
    count = F.col("different_offsets") - F.col("steps_ahead")
    said = "{consumptions} consumptions of {different_offsets} offsets, {value} out of order"
    return of_queues("out_of_order_count", count, said, inputs, inputs.trials)


def of_queues(measure: str, count: Column, said: str, inputs: Inputs, trials: DataFrame) -> DataFrame:
    """A count for each queue of the trials. Its place is the queue's earliest consumption that was no step ahead, or the last
    one of a queue without any."""
    queues, reused = inputs.consumption.queues, inputs.consumption.reused
    if reused is not None:
        of_queue = ["trial", "topic", "broker", "queue"]
        reused_queues = F.broadcast(reused.select(*of_queue).distinct().withColumn("is_reused", F.lit(True)))
        queues = queues.join(reused_queues, of_queue, "left")
        count = F.when(F.col("is_reused").isNull(), count)
    at = F.coalesce(F.when(count > 0, F.col("not_ahead_at")), "last_at")
    words = f"group {{group}} queue {{broker}}:{{queue}}: {said}"
    return observations(queues.join(trials.select("trial", "deployment"), "trial"), Value(measure, count, words, at=at))
