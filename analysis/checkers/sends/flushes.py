"""Sends to a broker whose flushes take longer: how many share one, how many are accepted and refused, and which wait for one.

Sends count by when they ended: senders that wait for their answers fall behind their schedule where the broker is slow. Where no
flush was held up there is no number of flushes.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, trials_of
from analysis.checkers.sends.busy import keyword_of
from analysis.evidence.records import place

_TRIAL = ["trial", "deployment", "fault_line"]


def observe(inputs: Inputs) -> DataFrame:
    """By trial, over the sends that ended from the fault to the end of the hold."""
    trials = trials_of(inputs, "flushes").select(
        *(*_TRIAL, "hold_to_ns"), F.coalesce("injected_ns", "fault_ns").alias("from_ns")
    )
    readings = inputs.records.events.where("type = 'reading'").groupBy("trial")
    flushes = readings.agg(
        *(F.max(F.when(F.col("name") == name, F.col("value"))).alias(name) for name in ("flush_count", "flush_held_ms"))
    )
    accepted, refused = F.col("outcome") == "ok", keyword_of("remark").isNotNull()
    waited = (F.col("finished_ns") - F.col("started_ns")) / 1e6 >= F.col("flush_held_ms")
    ended = (
        inputs.records.sends.join(F.broadcast(trials.join(flushes, "trial", "left")), "trial")
        .where("finished_ns BETWEEN from_ns AND hold_to_ns")
        .groupBy(*_TRIAL, "flush_count", ((F.col("hold_to_ns") - F.col("from_ns")) / 1e9).alias("window_s"))
        .agg(
            F.count("*").alias("ended"),
            F.count_if(accepted).alias("accepted"),
            F.count_if(refused).alias("refused"),
            F.avg(F.when(accepted, waited.cast("int"))).alias("waited"),
            F.min_by(place(), F.when(refused, F.col("n"))).alias("refused_at"),
        )
    )
    each_flush = F.when(F.col("flush_count") > 0, F.col("accepted") / F.col("flush_count"))
    of_all = "{accepted} of {ended} sends were accepted"
    return observations(
        ended,
        Value("accepted_per_flush", each_flush, "{accepted} sends, {flush_count} flushes", at=at_fault()),
        Value("accepted_per_s", F.col("accepted") / F.col("window_s"), of_all, at=at_fault()),
        Value(
            "refused_in_hold_share",
            F.col("refused") / F.col("ended"),
            "{refused} of {ended} sends were refused",
            at=F.coalesce("refused_at", at_fault()),
        ),
        Value("waited_flush_share", "waited", of_all, at=at_fault()),
    )
