"""Loss: messages that the broker acknowledged and that a group never consumed.

A queue is judged where the drain was complete and the broker's own counts were read after it. Failed and unknown sends
promise nothing. Of the acknowledged ones two kinds are lost to a group:

- The message lies in the store (its offset is neither below the queue's smallest nor at its largest), and the group did not
  consume it. The group did come that far: it consumed something at or above the offset, or its committed offset is beyond.
- The message lies at or above the largest offset that the store has: it was acknowledged and is absent.

An offset below the smallest has expired, so nothing can be said of it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from analysis.checkers.base import Inputs, Value, in_events, observations
from analysis.evidence.consumption import QUEUE_KEY
from analysis.evidence.records import place
from analysis.evidence.tables import BITS, frame_of, table

_QUEUE = ("trial", "topic", "broker", "queue")
_GROUPS = table(trial=StringType(), group=StringType())
_NAMED_MAX = 1000
"""More offsets than these are not written into a query."""


def observe(inputs: Inputs) -> DataFrame:
    """``lost_count`` for each group and queue of the trials that were drained and whose store was read."""
    expected = _expected(inputs)
    missing = _missing(inputs, expected)
    # There are few or none, so the sends are not sorted to be joined with them.
    lines = _acknowledged(inputs, missing).join(F.broadcast(missing), [*_QUEUE, "offset"])
    lost = lines.groupBy(*QUEUE_KEY).agg(
        F.count("*").alias("lost"),
        F.count_if("absent").alias("absent"),
        F.min_by(place(), "offset").alias("lost_at"),
    )
    return observations(
        expected.join(lost, list(QUEUE_KEY), "left").fillna(0, ["lost", "absent"]),
        Value(
            "lost_count",
            "lost",
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
    groups = frame_of(
        inputs.spark,
        [{"trial": trial.trial, "group": group} for trial in inputs.run.trials for group in trial.groups],
        _GROUPS,
    )
    told = F.struct(F.col("group"), F.col("consumer_offset"))
    store = (
        inputs.records.events.where("type = 'store_max'")
        .withColumn("queue", F.col("queue").cast("int"))
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
        .join(F.broadcast(groups), "trial")
        .join(seen, list(QUEUE_KEY), "left")
        .withColumn("seen_below", F.greatest(F.coalesce(F.col("offset_max") + 1, F.lit(0)), reported))
        .drop("told")
    )


def _acknowledged(inputs: Inputs, missing: DataFrame) -> DataFrame:
    """The acknowledged sends; where few offsets are missing, only sends that were given one of these in any queue.

    One number of each send is compared sooner than the names of its queue.
    """
    offsets = [row["offset"] for row in missing.select("offset").distinct().limit(_NAMED_MAX + 1).collect()]
    sends = inputs.records.sends.where("outcome = 'ok' AND offset IS NOT NULL")
    if len(offsets) <= _NAMED_MAX:
        sends = sends.where(F.expr(f"offset IN ({', '.join(map(str, offsets))})") if offsets else F.lit(False))
    return sends.select(*_QUEUE, "offset", "file", "n")


def _missing(inputs: Inputs, expected: DataFrame) -> DataFrame:
    """The offsets that were acknowledged, that the group should have consumed, and did not; one row each."""
    key, limits, none = (*QUEUE_KEY, "chunk"), ("min_offset", "max_offset", "seen_below"), F.lit(None).cast("long")
    sent = inputs.consumption.sent.withColumnRenamed("offsets", "sent").join(F.broadcast(expected), list(_QUEUE))
    consumed = inputs.consumption.strides.where("offsets IS NOT NULL").withColumnRenamed("offsets", "consumed")
    # Side by side, since two large tables are sooner added up than sorted for a join.
    both = sent.select(*key, "sent", none.alias("consumed"), *limits).unionByName(
        consumed.select(*key, none.alias("sent"), "consumed", *[none.alias(name) for name in limits])
    )
    chunks = (
        both.groupBy(*key)
        .agg(
            F.max("sent").alias("sent"),
            F.max("consumed").alias("consumed"),
            *[F.max(name).alias(name) for name in limits],
        )
        .withColumn("not_consumed", F.expr("sent & ~coalesce(consumed, 0L)"))
        .where("not_consumed != 0")
    )
    positions = F.explode(F.sequence(F.lit(0), F.lit(BITS - 1))).alias("at")
    return (
        chunks.select("*", positions)
        .where(F.expr("shiftright(not_consumed, at) & 1L") == 1)
        .withColumn("offset", F.col("chunk") * BITS + F.col("at"))
        .withColumn("absent", F.col("offset") >= F.col("max_offset"))
        .where(_is_lost())
        .select(*QUEUE_KEY, "offset", "absent")
    )


def _is_lost() -> Column:
    passed_by = (F.col("offset") >= F.col("min_offset")) & (F.col("offset") < F.col("seen_below"))
    return F.col("absent") | passed_by
