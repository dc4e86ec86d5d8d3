"""Transactions: which ended ones a broker asks about all the same, and which committed messages come late, or twice.

A message's key names how its producer ended the transaction. Counted are those whose half message was accepted: the producer ends
it at once, by a request that nobody answers.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together, trials_of
from analysis.evidence.records import place
from harness.model.loads import COMMITTED, STATE_PREFIX, UNDECIDED
from harness.model.rocketmq import CHECKS_MAX

LATE_S = 5.0
_SECOND_NS, _MS_NS = 1e9, 1e6


def observe(inputs: Inputs) -> DataFrame:
    """By trial: what was asked about, what came late or twice, what was given up."""
    trials = (
        trials_of(inputs, "transactions")
        .where("drained")
        .select(
            "trial", "deployment", "fault_line", F.coalesce("injected_ns", "fault_ns").alias("from_ns"), "hold_to_ns"
        )
    )
    sent = _sent(inputs, trials).persist()
    return together(_asked(inputs, sent), _came(inputs, sent), _given_up(inputs, sent))


def _sent(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """One row for each transaction whose half message was accepted, with its state."""
    state = F.regexp_extract("key", rf"^{STATE_PREFIX}(\d)$", 1).cast("int")
    return (
        inputs.records.sends.where("outcome = 'ok'")
        .join(F.broadcast(trials), "trial")
        .withColumn("state", state)
        .where("state IS NOT NULL")
        .withColumn("sent_at", place())
        .select(*trials.columns, "seq", "state", "sent_at", "started_ns", "finished_ns")
    )


def _checks(inputs: Inputs) -> DataFrame:
    return inputs.records.checks.select("trial", "seq", "at_ns", place().alias("asked_at"))


def _asked(inputs: Inputs, sent: DataFrame) -> DataFrame:
    """Ended transactions that were asked about, each once however often it was, before the fault and after it."""
    asked = _checks(inputs).groupBy("trial", "seq").agg(
        F.min("at_ns").alias("first_ns"), F.max("at_ns").alias("last_ns"), F.max_by("asked_at", "at_ns").alias("asked_at")
    )  # fmt: skip
    counted = (
        sent.where(F.col("state") != UNDECIDED)
        .join(asked, ["trial", "seq"], "left")
        .groupBy("trial", "deployment", "fault_line")
        .agg(
            F.count("*").alias("ended"),
            F.count_if(F.col("first_ns") < F.col("from_ns")).alias("before"),
            F.count_if(F.col("last_ns") >= F.col("from_ns")).alias("after"),
            F.min_by("asked_at", "last_ns").alias("asked_at"),
        )
    )
    at = F.coalesce("asked_at", at_fault())
    said = "of {ended} transactions that had ended {value} were asked about"
    return observations(
        counted,
        Value("asked_again_count", "before", f"{said} before", at=at, params={"by": F.lit("before")}),
        Value("asked_again_count", "after", f"{said} since", at=at, params={"by": F.lit("after")}),
    )


def _came(inputs: Inputs, sent: DataFrame) -> DataFrame:
    """What of the committed came late, or lies in its topic twice; and how long sends took."""
    came = (
        inputs.records.consumptions.where("outcome = 'ok'")
        .groupBy("trial", "seq")
        .agg(
            F.min("started_ns").alias("came_ns"),
            F.countDistinct("broker", "queue", "offset").alias("copies"),
            F.max_by(place(), "started_ns").alias("came_at"),
        )
    )
    is_late = F.col("came_ns").isNull() | (F.col("came_ns") > F.col("finished_ns") + LATE_S * _SECOND_NS)
    is_judged = (F.col("started_ns") >= F.col("from_ns")) & (
        F.col("finished_ns") <= F.col("hold_to_ns") - LATE_S * _SECOND_NS
    )
    is_twice = F.col("copies") > 1
    counted = (
        sent.where(F.col("state") == COMMITTED)
        .join(came, ["trial", "seq"], "left")
        .groupBy("trial", "deployment", "fault_line")
        .agg(
            F.count("*").alias("committed"),
            F.count_if(is_twice).alias("twice"),
            F.min_by("came_at", F.when(is_twice, F.col("seq"))).alias("twice_at"),
            F.count_if(is_judged).alias("judged"),
            F.count_if(is_judged & is_late).alias("late"),
            F.min_by("sent_at", F.when(is_judged & is_late, F.col("seq"))).alias("late_at"),
            F.median((F.col("finished_ns") - F.col("started_ns")) / _MS_NS).alias("took_ms"),
        )
    )
    return observations(
        counted,
        Value(
            "committed_twice_count",
            "twice",
            "{twice} of {committed} committed messages lie in the topic more than once",
            at=F.coalesce("twice_at", at_fault()),
        ),
        Value(
            "committed_late_share",
            F.when(F.col("judged") > 0, F.col("late") / F.col("judged")),
            "{late} of {judged} committed messages had not come after 5 s",
            at=F.coalesce("late_at", at_fault()),
        ),
        Value("transaction_ms", "took_ms", "the median of {committed} transactions", at=at_fault()),
    )


def _given_up(inputs: Inputs, sent: DataFrame) -> DataFrame:
    """When undecided transactions were asked about for the last time, of those that no broker asks about again."""
    asked = _checks(inputs).groupBy("trial", "seq").agg(
        F.count("*").alias("times"), F.max("at_ns").alias("last_ns"), F.max_by("asked_at", "at_ns").alias("asked_at")
    )  # fmt: skip
    took_s = (F.col("last_ns") - F.col("started_ns")) / _SECOND_NS
    given_up = (
        sent.where(F.col("state") == UNDECIDED)
        .join(asked.where(F.col("times") >= CHECKS_MAX), ["trial", "seq"])
        .groupBy("trial", "deployment")
        .agg(
            F.count("*").alias("given_up"),
            F.max(took_s).alias("took_s"),
            F.max_by("asked_at", took_s).alias("asked_at"),
        )
    )
    said = f"{{given_up}} transactions were asked about {CHECKS_MAX} times"
    return observations(given_up, Value("given_up_s", "took_s", said, at="asked_at"))
