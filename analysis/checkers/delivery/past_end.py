"""A broker that lost the last messages of its queues: what a group that had consumed them gets again, and what it is never given.

The broker's loss is what the group has consumed and the queues do not have once the broker is back. Sent anew is what is due after
that. A trial that was not drained gives no share, since more may have come.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, in_events, observations, together, trials_of
from analysis.evidence.records import place

_TRIAL = ["trial", "deployment", "fault_line"]
_QUEUE = ["trial", "broker", "queue"]


def observe(inputs: Inputs) -> DataFrame:
    """All by trial."""
    trials = F.broadcast(
        trials_of(inputs, "past_end").select(
            *(*_TRIAL, "drained"),
            F.coalesce("injected_ns", "fault_ns").alias("from_ns"),
            F.coalesce("healed_ns", "hold_to_ns").alias("back_ns"),
        )
    )
    consumed = (
        inputs.records.consumptions.where("outcome = 'ok'")
        .select("trial", "seq", "broker", "queue", "offset", "started_ns", place().alias("at"))
        .join(trials, "trial")
        .persist()
    )
    return together(
        _again(consumed), _skipped(inputs, trials, consumed), _lost(inputs, consumed), _took(inputs, trials)
    )


def _again(consumed: DataFrame) -> DataFrame:
    """Of the messages that were consumed before the fault, those that are consumed once more when the broker is back."""
    each = (
        consumed.where("drained")
        .groupBy(*_TRIAL, "seq")
        .agg(
            F.bool_or(F.col("started_ns") < F.col("from_ns")).alias("before"),
            F.bool_or(F.col("started_ns") >= F.col("back_ns")).alias("after"),
            F.max_by("at", "started_ns").alias("at"),
        )
        .where("before")
        .groupBy(*_TRIAL)
        .agg(
            F.count("*").alias("had"),
            F.count_if("after").alias("again"),
            F.min_by("at", F.when(F.col("after"), F.col("seq"))).alias("at"),
        )
    )
    share = F.col("again") / F.col("had")
    said = "{again} of {had} messages came again"
    return observations(each, Value("consumed_again_share", share, said, at=F.coalesce("at", at_fault())))


def _skipped(inputs: Inputs, trials: DataFrame, consumed: DataFrame) -> DataFrame:
    """Of the messages that were accepted after the return, those that the group was never given."""
    given = consumed.select("trial", "seq", F.lit(True).alias("given")).distinct()
    sent = (
        inputs.records.sends.where("outcome = 'ok'")
        .select("trial", "seq", "intended_ns", place().alias("at"))
        .join(trials, "trial")
        .where(F.col("drained") & (F.col("intended_ns") >= F.col("back_ns")))
        .join(given, ["trial", "seq"], "left")
        .groupBy(*_TRIAL)
        .agg(
            F.count("*").alias("sent"),
            F.count_if(F.col("given").isNull()).alias("skipped"),
            F.min_by("at", F.when(F.col("given").isNull(), F.col("seq"))).alias("at"),
        )
    )
    share = F.col("skipped") / F.col("sent")
    said = "{skipped} of {sent} messages sent after the return never came"
    return observations(sent, Value("skipped_after_share", share, said, at=F.coalesce("at", at_fault())))


def _lost(inputs: Inputs, consumed: DataFrame) -> DataFrame:
    """By how much the offsets that the group had reached lie beyond the ends of the queues, once the broker is back."""
    reached = (
        consumed.where("started_ns < from_ns").groupBy(*_TRIAL, "broker", "queue").agg(F.max("offset").alias("offset"))
    )
    ends = inputs.records.events.where("type = 'store_max' AND moment = 'held'").select(
        "trial", "broker", F.col("queue").cast("int").alias("queue"), "max_offset", "n"
    )
    beyond = F.greatest(F.col("offset") + 1 - F.col("max_offset"), F.lit(0))
    each = reached.join(ends, _QUEUE).groupBy(*_TRIAL).agg(F.sum(beyond).alias("beyond"), F.min("n").alias("n"))
    said = "the group's offsets lie {beyond} beyond the ends of the queues"
    return observations(each, Value("past_end_count", "beyond", said, at=in_events()))


def _took(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """What an accepted send took before the fault, by the median."""
    took_ms = (F.col("finished_ns") - F.col("started_ns")) / 1e6
    each = (
        inputs.records.sends.where("outcome = 'ok'")
        .join(trials, "trial")
        .where("finished_ns < from_ns")
        .groupBy(*_TRIAL)
        .agg(F.median(took_ms).alias("took"), F.count("*").alias("sent"))
    )
    return observations(each, Value("send_took_ms", "took", "median of {sent} sends", at=at_fault()))
