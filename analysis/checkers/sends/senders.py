"""Clients while a route changes: what fails meanwhile, when each producer first uses a queue that is new, and what groups of
consumers get late, twice, and last."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together, trials_of
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place

LATE_S = 30.0
"""A message that is consumed so late was in a queue that nobody consumed: a client looks for its route every 30 s."""


def observe(inputs: Inputs) -> DataFrame:
    """By trial the failed sends; by producer the time until it uses a new queue; by group what its consumers saw."""
    of_routes = trials_of(inputs, "senders")
    windows = of_routes.select("trial", "deployment", "fault", "fault_ns", "fault_line", "hold_to_ns", "drained")
    sends = inputs.records.sends.join(windows, "trial")
    messages = _messages(inputs.records.consumptions.join(windows, "trial"))
    return together(_failed(sends), _noticed(sends), _consumed(messages), _through(messages, _equal_views(inputs)))


def _failed(sends: DataFrame) -> DataFrame:
    held = sends.where(F.col("started_ns").between(F.col("fault_ns"), F.col("hold_to_ns")))
    failed = F.col("outcome") != "ok"
    each = held.groupBy("trial", "deployment", "fault_line").agg(
        F.count_if(failed).alias("failed"),
        F.count("*").alias("sent"),
        F.min_by(place(), F.when(failed, F.col("n"))).alias("at"),
    )
    share, at = F.col("failed") / F.col("sent"), F.coalesce("at", at_fault())
    return observations(each, Value("failed_send_share", share, "{failed} of {sent} sends failed", at=at))


def _noticed(sends: DataFrame) -> DataFrame:
    """Only where the topic gets more queues. A producer that has used none of them by the end of the hold is censored.

    One that sent nothing after the change could not use any.
    """
    changed = sends.where("fault = 'more-queues' AND outcome = 'ok'")
    before = changed.where("started_ns < fault_ns").groupBy("trial").agg(F.max("queue").alias("queue_max"))
    new = F.when((F.col("started_ns") > F.col("fault_ns")) & (F.col("queue") > F.col("queue_max")), F.col("started_ns"))
    each = (
        changed.join(before, "trial")
        .groupBy("trial", "deployment", "instance", "fault_ns", "hold_to_ns", "fault_line")
        .agg(
            F.min(new).alias("noticed_ns"),
            F.min_by(place(), new).alias("at"),
            F.count_if(F.col("started_ns").between(F.col("fault_ns"), F.col("hold_to_ns"))).alias("sends"),
        )
        .where("sends > 0")
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


def _messages(consumptions: DataFrame) -> DataFrame:
    """A row for each group and message sent in the hold that it consumed."""
    sent_in = F.col("intended_ns").between(F.col("fault_ns"), F.col("hold_to_ns"))
    return (
        consumptions.where(sent_in)
        .groupBy("trial", "deployment", "group", "fault_ns", "drained", "seq")
        .agg(
            F.count("*").alias("times"),
            F.min("started_ns").alias("first_ns"),
            F.min_by(place(), "started_ns").alias("first_at"),
            F.min((F.col("started_ns") - F.col("intended_ns")) / SECOND_NS).alias("delay_s"),
            F.max_by(place(), "started_ns").alias("at"),
        )
    )


def _consumed(messages: DataFrame) -> DataFrame:
    """Messages that were consumed more than once, or so late that nobody had their queue."""
    twice, late = F.col("times") > 1, F.col("delay_s") > LATE_S
    each = messages.groupBy("trial", "deployment", "group").agg(
        F.count_if(twice).alias("twice"),
        F.count_if(late).alias("late"),
        F.count("*").alias("messages"),
        F.coalesce(F.min_by("at", F.when(twice, F.col("seq"))), F.min("at")).alias("twice_at"),
        F.coalesce(F.min_by("at", F.when(late, F.col("seq"))), F.min("at")).alias("late_at"),
    )
    said = "{group}: {value} of {messages} messages that were sent meanwhile"
    return observations(
        each,
        Value("duplicate_messages", "twice", said, at="twice_at"),
        Value("late_messages", "late", said, at="late_at"),
    )


def _through(messages: DataFrame, equal: DataFrame) -> DataFrame:
    """From the moment at which all name servers said the same again to the last first consumption of what was sent before."""
    last = messages.groupBy("trial", "deployment", "group", "fault_ns", "drained").agg(
        F.max("first_ns").alias("through_ns"), F.max_by("first_at", "first_ns").alias("at")
    )
    waited_s = F.greatest(F.lit(0), F.col("through_ns") - F.col("equal_ns")) / SECOND_NS
    said = "{group}: the last message that was sent before the name servers agreed"
    return observations(
        last.join(equal, "trial").where("equal_ns > fault_ns"),
        Value("through_s", waited_s, said, at="at", censored=~F.coalesce("drained", F.lit(False))),
    )


def _equal_views(inputs: Inputs) -> DataFrame:
    """When the views of the trials changed for the last time, where all name servers say the same then."""
    last = (
        inputs.records.events.where("type = 'route'")
        .groupBy("trial", "node")
        .agg(
            F.max("at_ns").alias("at_ns"),
            F.max_by(F.concat_ws(" ", "registered", "routed"), "at_ns").alias("view"),
        )
    )
    both = last.groupBy("trial").agg(F.max("at_ns").alias("equal_ns"), F.count_distinct("view").alias("views"))
    return both.where("views = 1").select("trial", "equal_ns")
