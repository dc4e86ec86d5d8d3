"""Senders while a route changes: what fails meanwhile, and when each producer first uses a queue that is new."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations

INCIDENTS = ("name-server-divergence", "retry-topic-flood")
"""Those whose clients send and consume steadily while routes change."""

_SECOND_NS = 1_000_000_000
LATE_S = 30.0
"""A message that is consumed so late was in a queue that nobody consumed: a client looks for its route every 30 s."""


def observe(inputs: Inputs) -> DataFrame:
    """By trial the failed sends and what consumers saw; by producer the time until it uses a new queue."""
    of_routes = inputs.trials.where(F.col("incident").isin(*INCIDENTS))
    windows = of_routes.select("trial", "deployment", "fault", "fault_ns", "fault_line", "hold_to_ns", "end_ns")
    sends = inputs.records.sends.join(windows, "trial")
    return (
        _failed(sends)
        .unionByName(_noticed(sends))
        .unionByName(_consumed(inputs.records.consumptions.join(windows, "trial")))
    )


def _failed(sends: DataFrame) -> DataFrame:
    held = sends.where(F.col("intended_ns").between(F.col("fault_ns"), F.col("hold_to_ns")))
    failed = F.when(F.col("outcome") != "ok", F.col("n"))
    each = held.groupBy("trial", "deployment").agg(
        F.count(failed).alias("failed"),
        F.count("*").alias("sent"),
        F.min_by("file", failed).alias("file"),
        F.min(failed).alias("line"),
        F.min("fault_line").alias("fault_line"),
    )
    return observations(
        each,
        Value(
            measure="failed_send_share",
            value=F.col("failed") / F.col("sent"),
            file=F.coalesce("file", events_file()),
            line=F.coalesce("line", "fault_line"),
            operation=F.concat(F.col("failed"), F.lit(" of "), F.col("sent"), F.lit(" sends failed")),
        ),
    )


def _noticed(sends: DataFrame) -> DataFrame:
    """Only where the topic gets more queues. A producer that has used none of them by the end of the hold is censored."""
    changed = sends.where("fault = 'more-queues' AND outcome = 'ok'")
    before = changed.where("started_ns < fault_ns").groupBy("trial").agg(F.max("queue").alias("queue_max"))
    new = F.when((F.col("started_ns") > F.col("fault_ns")) & (F.col("queue") > F.col("queue_max")), F.col("started_ns"))
    each = (
        changed.join(before, "trial")
        .groupBy("trial", "deployment", "instance")
        .agg(
            F.min(new).alias("noticed_ns"),
            F.min_by("file", new).alias("file"),
            F.min_by("n", new).alias("line"),
            F.max("fault_ns").alias("fault_ns"),
            F.max("hold_to_ns").alias("hold_to_ns"),
            F.max("fault_line").alias("fault_line"),
        )
    )
    return observations(
        each,
        Value(
            measure="notice_s",
            value=(F.coalesce("noticed_ns", "hold_to_ns") - F.col("fault_ns")) / _SECOND_NS,
            censored=F.col("noticed_ns").isNull(),
            file=F.coalesce("file", events_file()),
            line=F.coalesce("line", "fault_line"),
            operation=F.concat(F.col("instance"), F.lit(": its first send to a new queue")),
        ),
    )


def _consumed(consumptions: DataFrame) -> DataFrame:
    """Messages sent in the hold that were consumed more than once, or so late that nobody had their queue."""
    sent_in = F.col("intended_ns").between(F.col("fault_ns"), F.col("hold_to_ns"))
    by_message = (
        consumptions.where(sent_in)
        .groupBy("trial", "deployment", "seq")
        .agg(
            F.count("*").alias("times"),
            F.min((F.col("started_ns") - F.col("intended_ns")) / _SECOND_NS).alias("delay_s"),
            F.max_by("file", "started_ns").alias("file"),
            F.max_by("n", "started_ns").alias("n"),
        )
    )
    twice, late = F.col("times") > 1, F.col("delay_s") > LATE_S
    each = by_message.groupBy("trial", "deployment").agg(
        F.count(F.when(twice, 1)).alias("twice"),
        F.count(F.when(late, 1)).alias("late"),
        F.count("*").alias("messages"),
        F.min_by("file", F.when(twice, F.col("seq"))).alias("twice_file"),
        F.min_by("n", F.when(twice, F.col("seq"))).alias("twice_line"),
        F.min_by("file", F.when(late, F.col("seq"))).alias("late_file"),
        F.min_by("n", F.when(late, F.col("seq"))).alias("late_line"),
        F.min("file").alias("any_file"),
        F.min_by("n", "file").alias("any_line"),
    )
    words = F.concat(F.lit(" of "), F.col("messages"), F.lit(" messages that were sent meanwhile"))
    return observations(
        each,
        Value(
            measure="duplicate_messages",
            value=F.col("twice"),
            file=F.coalesce("twice_file", "any_file"),
            line=F.coalesce("twice_line", "any_line"),
            operation=F.concat(F.col("twice"), words),
        ),
        Value(
            measure="late_messages",
            value=F.col("late"),
            file=F.coalesce("late_file", "any_file"),
            line=F.coalesce("late_line", "any_line"),
            operation=F.concat(F.col("late"), words),
        ),
    )
