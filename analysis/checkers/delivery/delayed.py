"""Delayed messages: which of them do not come when their time has come, are dropped, or come again.

A message's key names its delay level, 0 for none; its time has come that level's delay after its send was answered. Counted are
accepted sends. Messages that come within ``LATE_S`` of the end of the hold are judged by nobody: a few may still be on their way.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together, trials_of
from analysis.evidence.records import place
from harness.model.loads import LEVEL_PREFIX
from harness.model.rocketmq import delays_s

LATE_S = 2.0
LAST_S = 2.5
"""Before the fault. What came then was delivered less than 4 s before it, where a consumer was no more than 1.5 s behind."""
_SECOND_NS = 1e9


def observe(inputs: Inputs) -> DataFrame:
    """By level what did not come, and by trial what was dropped or came again."""
    trials = (
        trials_of(inputs, "delayed")
        .where("drained")
        .select(
            "trial",
            "deployment",
            "fault_line",
            "fault_ns",
            F.coalesce("injected_ns", "fault_ns").alias("from_ns"),
            "hold_to_ns",
        )
    )
    messages = _messages(inputs, trials).persist()
    return together(_undelivered(messages), _dropped(messages), _again(messages))


def _messages(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """One row for each accepted send: its level, when its time came, when it was first consumed, and its places in the topic."""
    level = F.regexp_extract("key", rf"^{LEVEL_PREFIX}(\d+)$", 1).cast("int")
    delays = F.array(*[F.lit(seconds) for seconds in (0.0, *delays_s())])
    sent = (
        inputs.records.sends.where("outcome = 'ok'")
        .join(F.broadcast(trials), "trial")
        .withColumn("level", level)
        .withColumn("due_ns", F.col("finished_ns") + F.get(delays, "level") * _SECOND_NS)
        .withColumn("at", place())
        .drop("queue", "offset")
    )
    came = (
        inputs.records.consumptions.where("outcome = 'ok'")
        .groupBy("trial", "seq")
        .agg(
            F.min("started_ns").alias("came_ns"),
            F.countDistinct("broker", "queue", "offset").alias("copies"),
            F.max_by(place(), "started_ns").alias("came_at"),
        )
    )
    return sent.join(came, ["trial", "seq"], "left")


def _judged() -> Column:
    return F.col("due_ns") <= F.col("hold_to_ns") - LATE_S * _SECOND_NS


def _undelivered(messages: DataFrame) -> DataFrame:
    """Of a level's messages whose time came after the fault: those that had not come by the hold's end, and by the trial's."""
    due = messages.where((F.col("due_ns") > F.col("from_ns")) & _judged())
    missing = F.col("came_ns").isNull()
    late_s = (F.col("came_ns") - F.col("due_ns")) / _SECOND_NS
    counted = due.groupBy("trial", "deployment", "fault_line", "level").agg(
        F.count("*").alias("due"),
        F.count_if(missing | (F.col("came_ns") > F.col("hold_to_ns"))).alias("held"),
        F.count_if(missing).alias("never"),
        F.max(late_s).alias("late"),
        F.min_by("at", F.when(missing, F.col("seq"))).alias("missing_at"),
        F.max_by("came_at", late_s).alias("late_at"),
    )
    missing_at = F.coalesce("missing_at", "late_at", at_fault())
    return observations(
        counted,
        Value(
            "undelivered_share",
            F.col("held") / F.col("due"),
            "level {level}: {held} of {due} had not come by the end of the hold",
            at=missing_at,
            params={"level": "level", "by": F.lit("hold")},
        ),
        Value(
            "undelivered_share",
            F.col("never") / F.col("due"),
            "level {level}: {never} of {due} have not come",
            at=missing_at,
            params={"level": "level", "by": F.lit("end")},
        ),
        Value(
            "delivery_late_s",
            "late",
            "level {level}: the latest of {due}",
            at=F.coalesce("late_at", at_fault()),
            params={"level": "level"},
        ),
    )


def _dropped(messages: DataFrame) -> DataFrame:
    """Messages that have not come although a later one of their level has."""
    last = messages.groupBy("trial", "level").agg(
        F.max(F.when(F.col("came_ns").isNotNull(), F.col("due_ns"))).alias("last_ns")
    )
    is_dropped = F.col("came_ns").isNull() & (F.col("due_ns") < F.col("last_ns"))
    counted = (
        messages.join(last, ["trial", "level"])
        .where(_judged())
        .groupBy("trial", "deployment", "fault_line")
        .agg(
            F.count_if(is_dropped).alias("dropped"),
            F.count("*").alias("due"),
            F.min_by("at", F.when(is_dropped, F.col("seq"))).alias("dropped_at"),
        )
    )
    at = F.coalesce("dropped_at", at_fault())
    return observations(counted, Value("dropped_count", "dropped", "{dropped} of {due} messages dropped", at=at))


def _again(messages: DataFrame) -> DataFrame:
    """Messages that lie in their topic more than once, of those whose send had ended before the fault.

    A send that a restart of the broker meets may be stored twice by its producer.
    """
    again = F.col("copies") > 1
    is_last = (F.col("level") > 0) & F.col("came_ns").between(
        F.col("fault_ns") - LAST_S * _SECOND_NS, F.col("fault_ns")
    )
    counted = (
        messages.where(F.col("finished_ns") < F.col("from_ns"))
        .groupBy("trial", "deployment", "fault_line")
        .agg(
            F.count_if(again).alias("again"),
            F.count("*").alias("sent"),
            F.count_if(again & is_last).alias("last_again"),
            F.count_if(is_last).alias("last"),
            F.min_by("came_at", F.when(again, F.col("seq"))).alias("again_at"),
        )
    )
    at = F.coalesce("again_at", at_fault())
    return observations(
        counted,
        Value("delivered_again_count", "again", "{again} of {sent} messages came again", at=at),
        Value(
            "delivered_again_share",
            F.when(F.col("last") > 0, F.col("last_again") / F.col("last")),
            "{last_again} of the {last} delayed messages that came last came again",
            at=at,
        ),
    )
