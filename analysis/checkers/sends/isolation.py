"""Isolation: how long requests of other kinds waited while the send pool was jammed.

There is one request of each kind at a time, so the longest of a trial is the longest wait in that kind's own pool. Requests
count that were under way at any moment of the stalled append, or of the hold in a trial without one.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations


def observe(inputs: Inputs) -> DataFrame:
    """For each trial with probes and each kind of them."""
    from_ns, to_ns = F.coalesce("append_entry_ns", "hold_from_ns"), F.coalesce("append_exit_ns", "hold_to_ns")
    probes = inputs.records.events.where("type = 'request'").select(
        "trial", "n", "kind", "started_ns", "finished_ns", "code"
    )
    took_ms = (F.col("finished_ns") - F.col("started_ns")) / 1e6
    by_kind = (
        probes.join(inputs.trials, "trial")
        .where((F.col("finished_ns") > from_ns) & (F.col("started_ns") < to_ns))
        .groupBy("trial", "deployment", "kind")
        .agg(
            F.max(took_ms).alias("worst_ms"),
            F.median(took_ms).alias("median_ms"),
            F.max_by("n", took_ms).alias("n"),
            F.count("*").alias("requests"),
            F.count(F.when(F.col("code") < 0, 1)).alias("unanswered"),
        )
    )
    kind = {"kind": F.col("kind")}
    shown = {
        "file": events_file(),
        "line": F.col("n"),
        "operation": F.concat(F.lit("the slowest of "), F.col("requests"), F.lit(" requests, kind "), F.col("kind")),
    }
    return observations(
        by_kind,
        Value(measure="probe_worst_ms", value=F.col("worst_ms"), params=kind, **shown),
        Value(measure="probe_median_ms", value=F.col("median_ms"), params=kind, **shown),
        Value(measure="probe_unanswered_count", value=F.col("unanswered"), params=kind, **shown),
    )
