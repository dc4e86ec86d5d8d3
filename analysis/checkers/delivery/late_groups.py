"""Late groups: what a consumer group gets of the messages that were there before it first started, and of those after.

A message belongs to the history when its send was due before the moment of the trial's fault, or where there is none, where one
would have come: the group starts after that. A trial that was not drained gives no value, since more may have come.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, trials_of
from analysis.evidence.records import place


def observe(inputs: Inputs) -> DataFrame:
    """By group, over the accepted sends."""
    trials = trials_of(inputs, "late_groups").where("drained")
    windows = trials.select("trial", "deployment", "fault_ns", "hold_to_ns")
    sends = inputs.records.sends.where("outcome = 'ok'").select("trial", "seq", "intended_ns")
    consumed = inputs.records.consumptions.where("outcome = 'ok'").select(
        "trial", "seq", F.lit(True).alias("consumed"), place().alias("at"), "started_ns"
    )
    first = consumed.groupBy("trial", "seq").agg(
        F.min_by("at", "started_ns").alias("at"),
        F.first("consumed").alias("consumed"),
        F.min("started_ns").alias("first_ns"),
    )
    groups = inputs.records.events.where("type = 'store_max' AND group IS NOT NULL")
    named = groups.groupBy("trial").agg(F.first("group").alias("group"), F.max_by(place(), "n").alias("ends_at"))
    is_history = F.col("intended_ns") < F.col("fault_ns")
    read = F.coalesce("consumed", F.lit(False))
    each = (
        sends.join(windows, "trial")
        .join(first, ["trial", "seq"], "left")
        .groupBy("trial", "deployment")
        .agg(
            F.count_if(is_history).alias("history"),
            F.count_if(is_history & read).alias("history_read"),
            F.count_if(is_history & read & (F.col("first_ns") <= F.col("hold_to_ns"))).alias("read_in_hold"),
            F.count_if(~is_history).alias("later"),
            F.count_if(~is_history & read).alias("later_read"),
            F.min_by("at", F.when(read & is_history, F.col("seq"))).alias("history_at"),
            F.min_by("at", F.when(read & ~is_history, F.col("seq"))).alias("later_at"),
        )
        .join(named, "trial")
    )
    return observations(
        each,
        Value(
            "history_read_share",
            F.when(F.col("history") > 0, F.col("history_read") / F.col("history")),
            "{group}: {history_read} of {history} messages of before",
            at=F.coalesce("history_at", "ends_at"),
        ),
        Value(
            "read_in_hold_share",
            F.when(F.col("history") > 0, F.col("read_in_hold") / F.col("history")),
            "{group}: {read_in_hold} of {history} messages of before, within the hold",
            at=F.coalesce("history_at", "ends_at"),
        ),
        Value(
            "later_read_share",
            F.when(F.col("later") > 0, F.col("later_read") / F.col("later")),
            "{group}: {later_read} of {later} messages of after",
            at=F.coalesce("later_at", "ends_at"),
        ),
    )
