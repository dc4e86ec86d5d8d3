"""Latency and throughput of open-loop sends, from the intended start: a send that had to wait its turn is late, too."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations
from analysis.evidence.records import place

_LEAD_NS = 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """For each trial of open-loop sends, over those due from one second before the fault to the end of the hold."""
    ok = F.col("outcome") == "ok"
    latency = F.when(ok, F.col("finished_ns") - F.col("intended_ns"))
    from_ns = F.col("fault_ns") - _LEAD_NS
    window = inputs.trials.where("NOT grouped").select(
        "trial", "deployment", "fault_ns", "hold_to_ns", ((F.col("hold_to_ns") - from_ns) / 1e9).alias("window_s")
    )
    trials = (
        inputs.records.sends.join(window, "trial")
        .where(F.col("intended_ns").between(from_ns, F.col("hold_to_ns")))
        .groupBy("trial", "deployment", "window_s")
        .agg(
            F.percentile(latency, F.array(F.lit(0.5), F.lit(0.99))).alias("latency_ns"),
            F.max(latency).alias("latency_ns_max"),
            F.coalesce(F.max_by(place(), latency), F.max(place())).alias("at"),
            F.count_if(ok).alias("ok"),
            F.count_if(F.col("outcome") == "failed").alias("failed"),
            F.count_if(F.col("outcome") == "unknown").alias("unknown"),
        )
    )
    values = {
        "latency_p50_ms": F.element_at("latency_ns", 1) / 1e6,
        "latency_p99_ms": F.element_at("latency_ns", 2) / 1e6,
        "latency_max_ms": F.col("latency_ns_max") / 1e6,
        "throughput_per_s": F.col("ok") / F.col("window_s"),
        "failed_count": F.col("failed"),
        "unknown_count": F.col("unknown"),
    }
    said = "the slowest accepted send of the window"
    return observations(trials, *[Value(measure, value, said, at="at") for measure, value in values.items()])
