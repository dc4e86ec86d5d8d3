"""Loss: messages that the broker acknowledged and that a group never consumed.

A queue is judged where the drain was complete and the broker's own counts were read after it, at the trial's end. A trial that did
not come to its end shows what was lost, and never that nothing was. Failed and unknown sends promise nothing. Of the acknowledged
ones two kinds are lost to a group:

- The message lies in the store (its offset is neither below the queue's smallest nor at its largest), and the group did not
  consume it. The group did come that far: it consumed something at or above the offset, or its committed offset is beyond.
- The message lies at or above the largest offset that the store has: it was acknowledged and is absent.

An offset below the smallest has expired, so nothing can be said of it. A broker that forgets messages gives their offsets to
others: of an offset that was acknowledged more than once each message is looked for by its number.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations
from analysis.checkers.delivery.ends import came_to_its_end, read_at_end
from analysis.evidence.consumption import QUEUE_KEY, groups_of
from analysis.evidence.records import place

_QUEUE = ("trial", "topic", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """``lost_count`` for each group and queue of the trials that were drained and whose store was read."""
    expected = _expected(inputs)
    lost, absent = F.count_if(_is_lost()), F.count_if(_is_absent())
    counts = (
        expected.join(inputs.consumption.unseen, list(QUEUE_KEY), "left")
        .groupBy(*expected.columns)
        .agg(
            lost.alias("lost"),
            absent.alias("absent"),
            F.min_by(place(), F.when(_is_lost(), F.col("offset"))).alias("lost_at"),
        )
    )
    return observations(
        counts,
        Value(
            "lost_count",
            F.when((F.col("lost") > 0) | came_to_its_end(inputs), F.col("lost")),
            "group {group} queue {broker}:{queue}: store holds offsets {min_offset} to below {max_offset}, {value} "
            "acknowledged and never consumed, {absent} of them absent from the store",
            at=F.coalesce("lost_at", in_events("store_line")),
        ),
    )


def _expected(inputs: Inputs) -> DataFrame:
    """Every group and queue that can be judged, with what the store has and how far the group was seen to come.

    The groups are those of the trial, not those that consumed: one that got nothing of a queue has lost all of it.
    """
    drained = inputs.trials.where("drained").select("trial", "deployment")
    told = F.struct(F.col("group"), F.col("consumer_offset"))
    store = (
        read_at_end(inputs)
        .groupBy(*_QUEUE)
        .agg(
            F.max("n").alias("store_line"),
            F.max("min_offset").alias("min_offset"),
            F.max("max_offset").alias("max_offset"),
            F.collect_list(F.when(F.col("consumer_offset").isNotNull(), told)).alias("told"),
        )
    )
    seen = inputs.consumption.queues.select(*QUEUE_KEY, "offset_max")
    of_group = F.filter("told", lambda item: item["group"] == F.col("group"))
    reported = F.coalesce(F.array_max(F.transform(of_group, lambda item: item["consumer_offset"])), F.lit(0))
    return (
        store.join(drained, "trial")
        .join(groups_of(inputs.spark, inputs.run), "trial")
        .join(seen, list(QUEUE_KEY), "left")
        .withColumn("seen_below", F.greatest(F.coalesce(F.col("offset_max") + 1, F.lit(0)), reported))
        .drop("told", "offset_max")
    )


def _is_absent() -> Column:
    return F.col("offset") >= F.col("max_offset")


def _is_lost() -> Column:
    passed_by = (F.col("offset") >= F.col("min_offset")) & (F.col("offset") < F.col("seen_below"))
    return _is_absent() | passed_by
