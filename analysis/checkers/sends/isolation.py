"""Isolation: how long requests of each kind waited while one of the broker's pools was jammed.

There is one request of each kind at a time, so the longest of a trial is the longest wait in that kind's own pool. Requests
count that were under way at any moment of the stalled append, which jams the send pool, or of the jam of another pool; in a
trial without either, of the hold.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations
from harness.model.faults import PoolJam


def observe(inputs: Inputs) -> DataFrame:
    """For each trial with probes and each kind of them."""
    is_jam = F.col("fault") == PoolJam.kind
    from_ns = F.coalesce("append_entry_ns", F.when(is_jam, F.col("injected_ns")), "hold_from_ns")
    to_ns = F.coalesce("append_exit_ns", F.when(is_jam, F.col("healed_ns")), "hold_to_ns")
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
            F.count_if(F.col("code") < 0).alias("unanswered"),
        )
    )
    values = {
        "probe_worst_ms": "worst_ms",
        "probe_median_ms": "median_ms",
        "probe_unanswered_count": "unanswered",
    }
    said, kind = "the slowest of {requests} requests, kind {kind}", {"kind": "kind"}
    return observations(
        by_kind,
        *[Value(measure, column, said, at=in_events(), params=kind) for measure, column in values.items()],
    )
