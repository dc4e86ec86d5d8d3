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

from analysis.checkers.base import Inputs, Value, events_file, observations
from analysis.checkers.sends.busy import keyword_of

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
        F.count(F.when(F.col("absent_seq") < LONE_SEQ, 1)).alias("lost"),
        F.count(F.when(F.col("absent_seq") >= LONE_SEQ, 1)).alias("lost_lone"),
        F.count(F.when(F.col("offset") >= F.col("slave_max"), 1)).alias("lost_on_slave"),
        F.min_by("file", "offset").alias("lost_file"),
        F.min_by("n", "offset").alias("lost_line"),
    )
    ended = sends.groupBy("trial").agg(
        F.count(F.when(F.col("outcome") == "ok", 1)).alias("ok"),
        F.count(F.when((F.col("outcome") == "failed") & keyword_of("remark").isNotNull(), 1)).alias("failed"),
        F.count(F.when(F.col("outcome") == "unknown", 1)).alias("unknown"),
        F.max(F.when(F.col("seq") >= LONE_SEQ, F.col("outcome"))).alias("lone"),
        F.min_by("file", F.when(F.col("outcome") == "failed", F.col("seq"))).alias("failed_file"),
        F.min_by("n", F.when(F.col("outcome") == "failed", F.col("seq"))).alias("failed_line"),
    )
    return _observed(read.join(absent, "trial", "left").join(ended, "trial"))


def _observed(table: DataFrame) -> DataFrame:
    lost, lost_lone = F.coalesce("lost", F.lit(0)), F.coalesce("lost_lone", F.lit(0))
    # Nothing may be said of refused sends where some have no outcome, or where the store lost its tail.
    judged = (F.col("reads") > 1) & (F.col("unknown") == 0) & (lost + lost_lone == 0)
    stored = F.least(F.greatest(F.col("grown") - F.col("ok"), F.lit(0)), F.col("failed"))
    absent_shown = {
        "file": F.coalesce("lost_file", events_file()),
        "line": F.coalesce("lost_line", "store_line"),
        "operation": F.concat(
            F.col("ok"), F.lit(" acknowledged, "), lost + lost_lone, F.lit(" of them absent from the store")
        ),
    }
    failed_shown = {
        "file": F.coalesce("failed_file", events_file()),
        "line": F.coalesce("failed_line", "store_line"),
        "operation": F.concat(
            F.col("failed"), F.lit(" sends ended with a refusal; the store grew by "), F.col("grown")
        ),
    }
    return observations(
        table.withColumn("group", F.lit(None).cast("string")),  # nobody consumes: the trial is what is independent
        Value(measure="lost_count", value=lost, params={}, **absent_shown),
        Value(measure="lost_lone_count", value=F.when(F.col("lone") == "ok", lost_lone), params={}, **absent_shown),
        Value(
            measure="lost_on_slave_count",
            value=F.when(F.col("has_slave"), F.coalesce("lost_on_slave", F.lit(0))),
            params={},
            **absent_shown,
        ),
        Value(measure="refused_for_good_count", value=F.col("failed"), params={}, **failed_shown),
        Value(measure="refused_stored_count", value=F.when(judged, stored), params={}, **failed_shown),
    )
