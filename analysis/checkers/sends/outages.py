"""What producers with fault avoidance on and off go through together while a broker of theirs is at fault, and after it.

Each producer has a topic of its own. A send counts by when it was due, so that one that had to wait for its turn is late, too.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations, trials_of
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place

LATE_MS = 1000
BACK_FROM_S, BACK_TO_S = 10, 20
"""After the broker is well: shares are those of the seconds from the shortest time on for which any release avoids a failed one."""
DURING, AFTER = "during", "after"


def observe(inputs: Inputs) -> DataFrame:
    """By producer, during the outage and from ten to twenty seconds after it."""
    healed_ns = F.coalesce("healed_ns", "hold_to_ns")
    windows = trials_of(inputs, "outages").select(
        "trial",
        "deployment",
        "fault_ns",
        "fault_target",
        "hold_to_ns",
        (healed_ns + BACK_FROM_S * SECOND_NS).alias("back_ns"),
        (healed_ns + BACK_TO_S * SECOND_NS).alias("end_ns"),
    )
    due = F.col("intended_ns")
    when = F.when(due.between(F.col("fault_ns"), F.col("hold_to_ns")), DURING).when(
        due.between(F.col("back_ns"), F.col("end_ns")), AFTER
    )
    took_ms = (F.col("finished_ns") - due) / 1e6
    ok = F.col("outcome") == "ok"
    sends = (
        inputs.records.sends.join(F.broadcast(windows), "trial")
        .withColumns({"when": when, "took_ms": took_ms, "ok": ok, "late": ~ok | (took_ms > LATE_MS), "at": place()})
        .where("when IS NOT NULL")
    )
    each = sends.groupBy("trial", "deployment", "instance", "when").agg(
        F.count("*").alias("sends"),
        F.count_if("ok").alias("accepted"),
        F.count_if("late").alias("late"),
        F.count_if(F.col("ok") & (F.col("broker") == F.substring_index("fault_target", ", ", 1))).alias("there"),
        F.percentile("took_ms", F.array(F.lit(0.99), F.lit(0.999))).alias("tail_ms"),
        F.first(_seconds()).alias("seconds"),
        F.max_by("at", "took_ms").alias("at"),
    )
    said = "{instance}, {when} the outage: {late} of {sends} sends were late or failed; this one took longest"
    params: dict[str, Column | str] = {"producer": "instance", "when": "when"}
    values = {
        "late_of_producer_share": F.col("late") / F.col("sends"),
        "p99_of_producer_ms": F.element_at("tail_ms", 1),
        "p999_of_producer_ms": F.element_at("tail_ms", 2),
        "accepted_of_producer_per_s": F.col("accepted") / F.col("seconds"),
        "to_faulty_share": F.col("there") / F.col("accepted"),
    }
    return observations(
        each, *[Value(measure, value, said, at="at", params=params) for measure, value in values.items()]
    )


def _seconds() -> Column:
    during_s = (F.col("hold_to_ns") - F.col("fault_ns")) / SECOND_NS
    return F.when(F.col("when") == DURING, during_s).otherwise(F.lit(float(BACK_TO_S - BACK_FROM_S)))
