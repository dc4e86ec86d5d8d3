"""Senders while a route changes: what fails meanwhile, and when each producer first uses a queue that is new."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place

INCIDENTS = ("name-server-divergence", "retry-topic-flood")
"""Those whose clients send and consume steadily while routes change."""

LATE_S = 30.0
"""A message that is consumed so late was in a queue that nobody consumed: a client looks for its route every 30 s."""


def observe(inputs: Inputs) -> DataFrame:
    """By trial the failed sends and what consumers saw; by producer the time until it uses a new queue."""
    of_routes = inputs.trials.where(F.col("incident").isin(*INCIDENTS))
    windows = of_routes.select("trial", "deployment", "fault", "fault_ns", "fault_line", "hold_to_ns", "end_ns")
    sends = inputs.records.sends.join(windows, "trial")
    return together(_failed(sends), _noticed(sends), _consumed(inputs.records.consumptions.join(windows, "trial")))


def _failed(sends: DataFrame) -> DataFrame:
    held = sends.where(F.col("intended_ns").between(F.col("fault_ns"), F.col("hold_to_ns")))
    failed = F.col("outcome") != "ok"
    each = held.groupBy("trial", "deployment", "fault_line").agg(
        F.count_if(failed).alias("failed"),
        F.count("*").alias("sent"),
        F.min_by(place(), F.when(failed, F.col("n"))).alias("at"),
    )
    share, at = F.col("failed") / F.col("sent"), F.coalesce("at", at_fault())
    return observations(each, Value("failed_send_share", share, "{failed} of {sent} sends failed", at=at))


def _noticed(sends: DataFrame) -> DataFrame:
    """Only where the topic gets more queues. A producer that has used none of them by the end of the hold is censored."""
    changed = sends.where("fault = 'more-queues' AND outcome = 'ok'")
    before = changed.where("started_ns < fault_ns").groupBy("trial").agg(F.max("queue").alias("queue_max"))
    new = F.when((F.col("started_ns") > F.col("fault_ns")) & (F.col("queue") > F.col("queue_max")), F.col("started_ns"))
    each = (
        changed.join(before, "trial")
        .groupBy("trial", "deployment", "instance", "fault_ns", "hold_to_ns", "fault_line")
        .agg(F.min(new).alias("noticed_ns"), F.min_by(place(), new).alias("at"))
    )
    return observations(
        each,
        Value(
            "notice_s",
            (F.coalesce("noticed_ns", "hold_to_ns") - F.col("fault_ns")) / SECOND_NS,
            "{instance}: its first send to a new queue",
            at=F.coalesce("at", at_fault()),
            censored=F.col("noticed_ns").isNull(),
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
            F.min((F.col("started_ns") - F.col("intended_ns")) / SECOND_NS).alias("delay_s"),
            F.max_by(place(), "started_ns").alias("at"),
        )
    )
    twice, late = F.col("times") > 1, F.col("delay_s") > LATE_S
    each = by_message.groupBy("trial", "deployment").agg(
        F.count_if(twice).alias("twice"),
        F.count_if(late).alias("late"),
        F.count("*").alias("messages"),
        F.coalesce(F.min_by("at", F.when(twice, F.col("seq"))), F.min("at")).alias("twice_at"),
        F.coalesce(F.min_by("at", F.when(late, F.col("seq"))), F.min("at")).alias("late_at"),
    )
    said = "{value} of {messages} messages that were sent meanwhile"
    return observations(
        each,
        Value("duplicate_messages", "twice", said, at="twice_at"),
        Value("late_messages", "late", said, at="late_at"),
    )
