"""Attempts: what a client did next when a broker refused its send, and how the send ended.

A send counts as refused when any answer to one of its attempts, or its own end, carries one of the five keywords; it
counts under each keyword that it met. ``first-four`` are all but the one for waiting too long. In a client of 4.x the
answers to asynchronous attempts are not seen, but such a send ends with the refusal itself.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together
from analysis.checkers.sends.busy import ANY_LABEL, FIRST_FOUR, in_window, keyword_of
from analysis.evidence.records import place
from harness.model.rocketmq import TIMEOUT_CLEAN_QUEUE

SOON_NS = 100_000_000
"""Half of the time that a request may wait before it is failed fast, by default."""


def observe(inputs: Inputs) -> DataFrame:
    """For every trial that recorded attempts."""
    trials = inputs.trials.where("NOT grouped AND sends > 0")
    attempts = inputs.records.attempts.groupBy("trial", "seq").agg(
        F.count("*").alias("attempts"),
        F.collect_set("address").alias("addresses"),
    )
    sends = (
        inputs.records.sends.join(F.broadcast(trials), "trial")
        .where(in_window())
        .withColumns({"keyword": keyword_of("remark"), "at": place()})
    )
    tried = sends.join(attempts, ["trial", "seq"]).persist()
    answered = inputs.records.answers.select("trial", "seq", "at_ns", keyword_of("remark").alias("keyword"))
    met = (
        answered.unionByName(sends.select("trial", "seq", F.col("finished_ns").alias("at_ns"), "keyword"))
        .where("keyword IS NOT NULL")
        .select("trial", "seq", "at_ns", F.explode(_labels()).alias("label"))
        .groupBy("trial", "seq", "label")
        .agg(F.min("at_ns").alias("refused_ns"))
    )
    return together(_refused(trials, tried, met), _each(tried, met), _failed(tried))


def _labels() -> Column:
    first_four = F.when(F.col("keyword") != TIMEOUT_CLEAN_QUEUE, F.lit(FIRST_FOUR))
    return F.array_compact(F.array(F.col("keyword"), first_four, F.lit(ANY_LABEL)))


def _refused(trials: DataFrame, tried: DataFrame, met: DataFrame) -> DataFrame:
    """By trial and label: how many sends were refused at least once, and the shares of what became of them."""
    elsewhere = (F.col("attempts") > 1) & (F.size("addresses") > 1)
    saved = F.col("outcome") == "ok"
    by_label = (
        tried.join(met, ["trial", "seq"])
        .groupBy("trial", "label")
        .agg(
            F.count("*").alias("refused"),
            F.avg(elsewhere.cast("int")).alias("elsewhere"),
            F.avg(saved.cast("int")).alias("saved"),
            F.avg((saved & (F.col("finished_ns") - F.col("refused_ns") <= SOON_NS)).cast("int")).alias("saved_soon"),
            F.min_by("at", "refused_ns").alias("at"),
        )
    )
    recorded = tried.select("trial").distinct()
    labels = F.explode(F.array(F.lit(FIRST_FOUR), F.lit(ANY_LABEL))).alias("label")
    table = trials.join(recorded, "trial").select("*", labels).join(by_label, ["trial", "label"], "left")
    values = {
        "refused_count": "refused",
        "retried_elsewhere_share": "elsewhere",
        "refused_then_ok_share": "saved",
        "refused_ok_soon_share": "saved_soon",
    }
    said, keyword = "{refused} sends were refused at least once", {"keyword": "label"}
    at = F.coalesce("at", in_events(F.coalesce("append_line", "fault_line")))
    return observations(
        table.fillna(0, ["refused"]),
        *[Value(measure, column, said, at=at, params=keyword) for measure, column in values.items()],
    )


def _each(tried: DataFrame, met: DataFrame) -> DataFrame:
    """Every refused send: its attempts, and how long after the refusal it succeeded."""
    wanted = met.where(F.col("label").isin(FIRST_FOUR, ANY_LABEL))
    after_ms = F.when(F.col("outcome") == "ok", (F.col("finished_ns") - F.col("refused_ns")) / 1e6)
    said, keyword = "send {seq} in {attempts} attempts, {outcome}", {"keyword": "label"}
    return observations(
        tried.join(wanted, ["trial", "seq"]),
        Value("attempts", "attempts", said, params=keyword),
        Value("ok_after_ms", after_ms, said, params=keyword),
    )


def _failed(tried: DataFrame) -> DataFrame:
    """Of all sends around the fault, the share that failed for good."""
    failed = F.col("outcome") == "failed"
    by_trial = tried.groupBy("trial", "deployment").agg(
        F.avg(failed.cast("int")).alias("share"),
        F.count("*").alias("sends"),
        F.coalesce(F.min_by("at", F.when(failed, F.col("finished_ns"))), F.min("at")).alias("at"),
    )
    return observations(by_trial, Value("failed_share", "share", "of {sends} sends around the fault", at="at"))
