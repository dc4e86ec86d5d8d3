"""Aftermath: what a broker does with the sends that come after a fault, and after what was done to cure it.

A fault may be over in a moment and leave a broker behind that refuses what comes next. Sends count by when they were due: from
the fault to the end of the hold, from there to the end of the cure, and after it. Trials whose fault was over before the hold
ended, or had no way back, have no cure. What a broker notices late is judged by the sends that were due last.

Refused is what met the flag of a busy page cache, by its own keywords: that a request waited too long, or found its queue full, is
a busy host's doing as well.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations
from analysis.checkers.sends.busy import PAGE_CACHE, keyword_of
from analysis.evidence.records import place

AFTER_FAULT, AFTER_CURE, DURING_CURE = "fault", "cure", "during the cure"
LAST_NS = 5_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """By trial and window; one in which no send was due gives no value."""
    trials = inputs.trials.where("sends > 0")
    due, hold_to, healed = F.col("intended_ns"), F.col("hold_to_ns"), F.col("healed_ns")
    window = (
        F.when(due.between(F.coalesce("injected_ns", "fault_ns"), hold_to), F.lit(AFTER_FAULT))
        .when((healed >= hold_to) & due.between(hold_to, healed), F.lit(DURING_CURE))
        .when((healed >= hold_to) & (due > healed), F.lit(AFTER_CURE))
    )
    refused, unaccepted = F.coalesce(keyword_of("remark").isin(*PAGE_CACHE), F.lit(False)), F.col("outcome") != "ok"
    counted = (
        inputs.records.sends.join(F.broadcast(trials), "trial")
        .withColumn("window", window)
        .where("window IS NOT NULL")
        .groupBy("trial", "deployment", "fault_line", "window")
        .agg(
            F.count_if(refused).alias("refused"),
            F.count_if(unaccepted).alias("unaccepted"),
            F.avg(F.when(due >= hold_to - LAST_NS, unaccepted.cast("int"))).alias("last"),
            F.count("*").alias("sent"),
            F.min_by(place(), F.when(unaccepted, F.col("n"))).alias("failed_at"),
            F.min_by(place(), F.when(refused, F.col("n"))).alias("refused_at"),
        )
    )
    during = F.col("window") == DURING_CURE
    at = F.coalesce("failed_at", at_fault())
    return observations(
        counted,
        Value(
            "refused_after_share",
            F.when(~during, F.col("refused") / F.col("sent")),
            "{refused} of {sent} sends refused after the {window}",
            at=F.coalesce("refused_at", at),
            params={"after": "window"},
        ),
        Value(
            "unaccepted_after_share",
            F.when(~during, F.col("unaccepted") / F.col("sent")),
            "{unaccepted} of {sent} sends not accepted after the {window}",
            at=at,
            params={"after": "window"},
        ),
        Value(
            "unaccepted_last_share",
            F.when(F.col("window") == AFTER_FAULT, F.col("last")),
            "{unaccepted} of {sent} sends not accepted after the {window}",
            at=at,
        ),
        Value(
            "unaccepted_in_cure_count",
            F.when(during, F.col("unaccepted")),
            "{unaccepted} of {sent} sends not accepted during the cure",
            at=at,
        ),
    )
