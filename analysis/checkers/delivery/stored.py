"""Stored: what became of sends in the broker's own store, for loads without consumers.

- ``lost_count``: messages that were acknowledged and lie at or above the largest offset that the queue has at the end.
- ``lost_on_slave_count``: the same by what a slave had while its master was down.
- ``refused_for_good_count``: sends that ended with a refusal.
- ``refused_stored_count``: how many messages more the queues took than were acknowledged, at most the refused ones. A
  refused send is thus never taken for a stored one on its word alone.

Trials are judged whose drain was complete and whose store was read before and after.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations
from analysis.checkers.sends.busy import keyword_of
from analysis.evidence.records import place

LONE_SEQ = 1_000_000_000
"""harness/load/open_loop.py: the message that is sent alone."""

_QUEUE = ("trial", "topic", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """For every drained trial of ungrouped sends whose store was read."""
    ends = (
        inputs.records.events.where("type = 'store_max'")
        .withColumn("queue", F.col("queue").cast("int"))
        .groupBy(*_QUEUE)
        .agg(
            F.min_by("max_offset", "n").alias("first_max"),
            F.max_by("max_offset", "n").alias("last_max"),
            F.max("n").alias("store_line"),
            F.count("*").alias("reads"),
            F.max(F.when(F.col("moment") == "held", F.col("max_offset"))).alias("slave_max"),
        )
    )
    trials = inputs.trials.where("NOT grouped AND sends > 0 AND drained").select("trial", "deployment")
    read = (
        ends.join(trials, "trial")
        .groupBy("trial", "deployment")
        .agg(
            F.sum(F.col("last_max") - F.col("first_max")).alias("grown"),
            F.min("reads").alias("reads"),
            F.max("store_line").alias("store_line"),
            F.max("slave_max").isNotNull().alias("has_slave"),
        )
    )
    sends = inputs.records.sends.select(*_QUEUE, "seq", "offset", "outcome", "remark", "file", "n")
    lost = (
        sends.where("outcome = 'ok' AND offset IS NOT NULL")
        .join(F.broadcast(ends), list(_QUEUE))
        .where("offset >= last_max OR offset >= slave_max")
        .withColumn("absent_seq", F.when(F.col("offset") >= F.col("last_max"), F.col("seq")))
    )
    absent = lost.groupBy("trial").agg(
        F.count_if(F.col("absent_seq") < LONE_SEQ).alias("lost"),
        F.count_if(F.col("absent_seq") >= LONE_SEQ).alias("lost_lone"),
        F.count_if(F.col("offset") >= F.col("slave_max")).alias("lost_on_slave"),
        F.min_by(place(), "offset").alias("lost_at"),
    )
    ended = sends.groupBy("trial").agg(
        F.count_if(F.col("outcome") == "ok").alias("ok"),
        F.count_if((F.col("outcome") == "failed") & keyword_of("remark").isNotNull()).alias("failed"),
        F.count_if(F.col("outcome") == "unknown").alias("unknown"),
        F.max(F.when(F.col("seq") >= LONE_SEQ, F.col("outcome"))).alias("lone"),
        F.min_by(place(), F.when(F.col("outcome") == "failed", F.col("seq"))).alias("failed_at"),
    )
    counts = read.join(absent, "trial", "left").fillna(0, ["lost", "lost_lone", "lost_on_slave"])
    return _observed(counts.join(ended, "trial").withColumn("absent", F.col("lost") + F.col("lost_lone")))


def _observed(table: DataFrame) -> DataFrame:
    # Nothing may be said of refused sends where some have no outcome, or where the store lost its tail.
    judged = (F.col("reads") > 1) & (F.col("unknown") == 0) & (F.col("absent") == 0)
    stored = F.least(F.greatest(F.col("grown") - F.col("ok"), F.lit(0)), F.col("failed"))
    lost_at, failed_at = (F.coalesce(at, in_events("store_line")) for at in ("lost_at", "failed_at"))
    lost_said = "{ok} acknowledged, {absent} of them absent from the store"
    failed_said = "{failed} sends ended with a refusal; the store grew by {grown}"
    return observations(
        table.withColumn("group", F.lit(None).cast("string")),  # nobody consumes: the trial is what is independent
        Value("lost_count", "lost", lost_said, at=lost_at),
        Value("lost_lone_count", F.when(F.col("lone") == "ok", F.col("lost_lone")), lost_said, at=lost_at),
        Value("lost_on_slave_count", F.when(F.col("has_slave"), F.col("lost_on_slave")), lost_said, at=lost_at),
        Value("refused_for_good_count", "failed", failed_said, at=failed_at),
        Value("refused_stored_count", F.when(judged, stored), failed_said, at=failed_at),
    )
