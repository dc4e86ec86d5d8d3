"""Loss: messages that the broker acknowledged and that a group never consumed.

Judged only where it can be: the drain was complete, and the broker's own counts of the queue were read after it. Of the
acknowledged sends (failed and unknown ones promise nothing) these are lost to a group:

- the message lies in the store (its offset is not below the queue's smallest and below its largest), something at or
  above its offset was consumed by the group or the group's offset at the broker is beyond it, and it itself was not;
- the message lies at or above the largest offset that the store has: acknowledged and absent.

An offset below the smallest has expired, and nothing can be said of it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, owner_unit, queue_words
from analysis.consumption import QUEUE_KEY

MEASURES: tuple[str, ...] = ("lost_count",)

_QUEUE = ("trial", "topic", "broker", "queue")
_BITS = 64


def observe(inputs: Inputs) -> DataFrame:
    """``lost_count`` for each group and queue of the trials that were drained and whose store was read."""
    expected = _expected(inputs)
    missing = _missing(inputs, expected)
    lost = missing.groupBy(*QUEUE_KEY).agg(
        F.count("*").alias("lost"),
        F.count(F.when(F.col("absent"), 1)).alias("absent"),
        F.min_by("file", "offset").alias("lost_file"),
        F.min_by("n", "offset").alias("lost_line"),
    )
    judged = expected.join(lost, list(QUEUE_KEY), "left").withColumn("lost", F.coalesce("lost", F.lit(0)))
    return observations(
        judged,
        owner_unit(),
        Value(
            measure="lost_count",
            value=F.col("lost"),
            file=F.when(F.col("lost") > 0, F.col("lost_file")).otherwise(events_file()),
            line=F.when(F.col("lost") > 0, F.col("lost_line")).otherwise(F.col("store_line")),
            operation=F.concat(
                queue_words(),
                F.lit(": store holds offsets "),
                F.col("min_offset"),
                F.lit(" to below "),
                F.col("max_offset"),
                F.lit(", "),
                F.col("lost"),
                F.lit(" acknowledged and never consumed, "),
                F.coalesce("absent", F.lit(0)),
                F.lit(" of them absent from the store"),
            ),
        ),
    )


def _expected(inputs: Inputs) -> DataFrame:
    """Every group and queue that can be judged, with what the store has and how far the group was seen to come."""
    drained = inputs.trials.where("drained").select("trial", "deployment")
    store = (
        inputs.records.events.where("type = 'store_max'")
        .select(
            "trial",
            "topic",
            "broker",
            F.col("queue").cast("int").alias("queue"),
            "group",
            "n",
            "min_offset",
            "max_offset",
            "consumer_offset",
        )
        .join(drained, "trial")
    )
    held = store.groupBy(*_QUEUE, "deployment").agg(
        F.max("n").alias("store_line"), F.max("min_offset").alias("min_offset"), F.max("max_offset").alias("max_offset")
    )
    reported = (
        store.where("group IS NOT NULL").groupBy(*QUEUE_KEY).agg(F.max("consumer_offset").alias("consumer_offset"))
    )
    # A group that consumed nothing of a queue has lost all of it, so the groups come from the whole trial.
    groups = (
        inputs.records.instances.where("group IS NOT NULL")
        .select("trial", "group")
        .unionByName(inputs.consumption.queues.select("trial", "group"))
        .distinct()
    )
    seen = inputs.consumption.queues.select(*QUEUE_KEY, "offset_max")
    return (
        held.join(groups, "trial")
        .join(seen, list(QUEUE_KEY), "left")
        .join(reported, list(QUEUE_KEY), "left")
        .withColumn(
            "seen_below",
            F.greatest(F.coalesce(F.col("offset_max") + 1, F.lit(0)), F.coalesce("consumer_offset", F.lit(0))),
        )
    )


def _missing(inputs: Inputs, expected: DataFrame) -> DataFrame:
    """The acknowledged sends that the group should have consumed and did not, one row each."""
    acknowledged = inputs.records.sends.where("outcome = 'ok' AND offset IS NOT NULL")
    chunk, bit = F.expr(f"offset div {_BITS}"), F.expr(f"shiftleft(1L, cast(pmod(offset, {_BITS}) as int))")
    sent = acknowledged.groupBy(*_QUEUE, chunk.alias("chunk")).agg(F.bit_or(bit).alias("sent"))
    consumed = inputs.consumption.pieces.groupBy(*QUEUE_KEY, "chunk").agg(F.bit_or("offsets").alias("consumed"))
    chunks = (
        sent.join(expected.select(*QUEUE_KEY, "min_offset", "max_offset", "seen_below"), list(_QUEUE))
        .join(consumed, [*QUEUE_KEY, "chunk"], "left")
        .withColumn("not_consumed", F.expr("sent & ~coalesce(consumed, 0L)"))
        .where("not_consumed != 0")
    )
    positions = F.explode(F.sequence(F.lit(0), F.lit(_BITS - 1)))
    offsets = (
        chunks.select(
            *QUEUE_KEY, "chunk", "not_consumed", "min_offset", "max_offset", "seen_below", positions.alias("at")
        )
        .where(F.expr("shiftright(not_consumed, at) & 1L") == 1)
        .withColumn("offset", F.col("chunk") * _BITS + F.col("at"))
        .withColumn("absent", F.col("offset") >= F.col("max_offset"))
        .where(_is_lost())
    )
    lines = acknowledged.select(*_QUEUE, "offset", "file", "n")
    return offsets.join(lines, [*_QUEUE, "offset"])


def _is_lost() -> Column:
    passed_by = (F.col("offset") >= F.col("min_offset")) & (F.col("offset") < F.col("seen_below"))
    return F.col("absent") | passed_by
