"""Appends: how long the stalled append held the put lock, by the rule's own stamps and by the store's log.

The releases log an append only above 500 ms, so the stamps of entry and exit that the rule takes inside the broker are
the measure, and store.log is cross-evidence. A line belongs to a stall when it is the stalled node's, was written
between its entry and one second after its exit, and names a duration within 50 ms of the stamps'.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, trial_unit

MEASURES: tuple[str, ...] = ("append_in_lock_ms", "store_log_line", "in_lock_logged_ms")

_STORE_LOG = "store.log"
_TOLERANCE_MS = 50.0
_WRITTEN_AFTER_US = 1_000_000


def observe(inputs: Inputs) -> DataFrame:
    """For each stall: its length, whether a log names it, and what the log says."""
    stalls = inputs.trials.where("append_entry_ns IS NOT NULL AND append_exit_ns IS NOT NULL").withColumn(
        "in_lock_ms", (F.col("append_exit_ns") - F.col("append_entry_ns")) / 1e6
    )
    lines = _lines_of_stalls(inputs, stalls)
    # store.log is asked of every stall, another file only where it names one.
    asked = (
        stalls.select("trial", F.lit(_STORE_LOG).alias("name")).unionByName(lines.select("trial", "name")).distinct()
    )
    files = stalls.join(asked, "trial").join(lines, ["trial", "name"], "left")
    is_logged, name = F.col("logged_ms").isNotNull(), F.col("name")
    shown = {
        "file": F.coalesce("log_file", events_file()),
        "line": F.coalesce("log_line", "append_line"),
        "operation": F.when(is_logged, F.lit("the stalled append, logged")).otherwise(
            F.concat(F.lit("stalled append without a line in "), name)
        ),
    }
    return observations(
        files,
        trial_unit(),
        Value(
            measure="append_in_lock_ms",
            value=F.when(name == _STORE_LOG, F.col("in_lock_ms")),
            file=events_file(),
            line=F.col("append_line"),
            operation=F.concat(F.lit("stalled append on "), F.col("append_node")),
        ),
        Value(measure="store_log_line", value=is_logged.cast("int"), params={"file": name}, **shown),
        Value(measure="in_lock_logged_ms", value=F.col("logged_ms"), params={"file": name}, **shown),
    )


def _lines_of_stalls(inputs: Inputs, stalls: DataFrame) -> DataFrame:
    """One row for each stall and file that names it."""
    logged = inputs.logs.slow_appends.select(
        "deployment",
        "node",
        "name",
        F.col("file").alias("log_file"),
        F.col("line").alias("log_line"),
        "wall_us",
        "resolution_us",
        F.col("in_lock_ms").alias("logged_ms"),
    )
    entry_us = F.expr("append_entry_ns div 1000") + F.col("wall_minus_mono_us")
    exit_us = F.expr("append_exit_ns div 1000") + F.col("wall_minus_mono_us")
    found = (
        stalls.join(logged, "deployment")
        .where(F.col("node") == F.col("append_node"))
        .where(F.col("wall_us") + F.col("resolution_us") > entry_us)
        .where(F.col("wall_us") <= exit_us + _WRITTEN_AFTER_US)
        .where(F.abs(F.col("logged_ms") - F.col("in_lock_ms")) <= _TOLERANCE_MS)
    )
    off_ms = F.abs(F.col("logged_ms") - F.col("in_lock_ms"))
    return found.groupBy("trial", "name").agg(
        F.min_by("logged_ms", off_ms).alias("logged_ms"),
        F.min_by("log_file", off_ms).alias("log_file"),
        F.min_by("log_line", off_ms).alias("log_line"),
    )
