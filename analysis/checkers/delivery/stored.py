"""Stored: what became of sends in the broker's own store, for loads without consumers.

- ``lost_count``: messages that were acknowledged and lie at or above the largest offset that the queue has at the end.
- ``lost_on_slave_count``: the same by what a slave had while its master was down.
- ``lost_from_log_count``: the same by what the commit log on the disk had after a power loss, before the broker began again.
- ``refused_for_good_count``: sends that ended with a refusal.
- ``refused_stored_count``: how many messages more the queues took than were acknowledged, at most the refused ones. A
  refused send is thus never taken for a stored one on its word alone.
- ``unanswered_absent_count``: how many messages fewer the queues took than were acknowledged or sent one-way without an error.

Trials are judged whose drain was complete and whose store was read before and at the end. One that did not come to its end, or of
which a queue was not read then, shows what was lost and refused, and never that nothing was.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations
from analysis.checkers.delivery.ends import came_to_its_end, store_readings
from analysis.checkers.sends.busy import keyword_of
from analysis.evidence.records import place

LONE_SEQ = 1_000_000_000
"""harness/load/open_loop.py: the message that is sent alone."""

_QUEUE = ("trial", "topic", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """For every drained trial of ungrouped sends whose store was read."""
    ends = (
        store_readings(inputs)
        .groupBy(*_QUEUE)
        .agg(
            F.min_by("max_offset", "n").alias("first_max"),
            F.max(F.when(F.col("moment") == "end", F.col("max_offset"))).alias("last_max"),
            F.max("n").alias("store_line"),
            F.count("*").alias("reads"),
            F.max(F.when(F.col("moment") == "held", F.col("max_offset"))).alias("slave_max"),
        )
    )
    ends = _with_log(inputs, ends)
    trials = inputs.trials.where("NOT grouped AND sends > 0 AND drained").select("trial", "deployment")
    read = (
        ends.join(trials, "trial")
        .groupBy("trial", "deployment")
        .agg(
            F.sum(F.col("last_max") - F.col("first_max")).alias("grown"),
            F.min("reads").alias("reads"),
            F.bool_and(F.col("last_max").isNotNull()).alias("all_read"),
            F.max("store_line").alias("store_line"),
            F.max("slave_max").isNotNull().alias("has_slave"),
            F.max("log_max").isNotNull().alias("has_log"),
        )
    )
    sends = inputs.records.sends.select(*_QUEUE, "seq", "offset", "outcome", "remark", "error", "file", "n")
    lost = (
        sends.where("outcome = 'ok' AND offset IS NOT NULL")
        .join(F.broadcast(ends), list(_QUEUE))
        .where("offset >= last_max OR offset >= slave_max OR offset >= log_max")
        .withColumn("absent_seq", F.when(F.col("offset") >= F.col("last_max"), F.col("seq")))
    )
    absent = lost.groupBy("trial").agg(
        F.count_if(F.col("absent_seq") < LONE_SEQ).alias("lost"),
        F.count_if(F.col("absent_seq") >= LONE_SEQ).alias("lost_lone"),
        F.count_if(F.col("offset") >= F.col("slave_max")).alias("lost_on_slave"),
        F.count_if(F.col("offset") >= F.col("log_max")).alias("lost_from_log"),
        F.min_by(place(), "offset").alias("lost_at"),
    )
    ended = sends.groupBy("trial").agg(
        F.count_if(F.col("outcome") == "ok").alias("ok"),
        F.count_if((F.col("outcome") == "failed") & keyword_of("remark").isNotNull()).alias("failed"),
        F.count_if(F.col("outcome") == "unknown").alias("unknown"),
        F.count_if((F.col("outcome") == "unknown") & F.col("error").isNull()).alias("unanswered"),
        F.max(F.when(F.col("seq") >= LONE_SEQ, F.col("outcome"))).alias("lone"),
        F.min_by(place(), F.when(F.col("outcome") == "failed", F.col("seq"))).alias("failed_at"),
    )
    counts = read.join(absent, "trial", "left").fillna(0, ["lost", "lost_lone", "lost_on_slave", "lost_from_log"])
    table = counts.join(ended, "trial").withColumn("absent", F.col("lost") + F.col("lost_lone"))
    return _observed(table.withColumn("is_whole", F.col("all_read") & came_to_its_end(inputs)))


def _with_log(inputs: Inputs, ends: DataFrame) -> DataFrame:
    """``ends`` with the log's own; a queue of which a log has nothing has no event, and ends at 0."""
    log = (
        inputs.records.events.where("type = 'log_end'")
        .withColumn("queue", F.col("queue").cast("int"))
        .groupBy(*_QUEUE)
        .agg(F.max("max_offset").alias("log_max"))
    )
    read = log.select("trial", F.lit(True).alias("is_read")).distinct()
    log_max = F.when(F.col("is_read"), F.coalesce("log_max", F.lit(0)))
    joined = ends.join(F.broadcast(log), list(_QUEUE), "left").join(F.broadcast(read), "trial", "left")
    return joined.withColumn("log_max", log_max)


def _observed(table: DataFrame) -> DataFrame:
    # Nothing may be said of refused or one-way sends where others have no outcome, or where the store lost its tail.
    has_outcomes = F.col("unknown") == F.col("unanswered")
    told = F.col("is_whole") & (F.col("reads") > 1) & has_outcomes & (F.col("absent") == 0)
    judged = told & (F.col("unanswered") == 0)
    stored = F.least(F.greatest(F.col("grown") - F.col("ok"), F.lit(0)), F.col("failed"))
    untold = F.least(F.greatest(F.col("ok") + F.col("unanswered") - F.col("grown"), F.lit(0)), F.col("unanswered"))
    lost_at, failed_at = (F.coalesce(at, in_events("store_line")) for at in ("lost_at", "failed_at"))
    lost_said = "{ok} acknowledged, {absent} of them absent from the store"
    failed_said = "{failed} sends ended with a refusal; the store {grew}"
    grew = F.when(F.col("all_read"), F.concat(F.lit("grew by "), "grown")).otherwise(F.lit("was not read at the end"))

    def seen(name: str) -> Column:
        return F.when(F.col("is_whole") | (F.col(name) > 0), F.col(name))

    return observations(
        # Nobody consumes: the trial is what is independent.
        table.withColumn("group", F.lit(None).cast("string")).withColumn("grew", grew),
        Value("lost_count", seen("lost"), lost_said, at=lost_at),
        Value("lost_lone_count", F.when(F.col("lone") == "ok", seen("lost_lone")), lost_said, at=lost_at),
        Value("lost_on_slave_count", F.when(F.col("has_slave"), F.col("lost_on_slave")), lost_said, at=lost_at),
        Value("lost_from_log_count", F.when(F.col("has_log"), F.col("lost_from_log")), lost_said, at=lost_at),
        Value("refused_for_good_count", seen("failed"), failed_said, at=failed_at),
        Value("refused_stored_count", F.when(judged, stored), failed_said, at=failed_at),
        Value(
            "unanswered_absent_count",
            F.when(told, untold),
            "{unanswered} sends were one-way; the store {grew}",
            at=in_events("store_line"),
        ),
    )
