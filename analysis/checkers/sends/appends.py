"""Appends: how long the stalled append held the put lock, by the rule's own stamps and by the store's log.

The releases log an append only above 500 ms, so the stamps of entry and exit that the rule takes inside the broker are
the measure, and store.log is cross-evidence. A line belongs to a stall when it is the stalled node's, was written
between its entry and one second after its exit, and names a duration within 50 ms of the stamps'.

The rule stamps the append to a file. The wait for the next file is under the lock as well, but outside of that method:
only the log knows it, and ``slow_append_lines`` counts what it says from the fault to the trial's end.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from analysis.checkers.base import Inputs, Value, events_file, observations, together
from analysis.evidence.tables import frame_of
from analysis.logs import store

_STORE_LOG = "store.log"
_TOLERANCE_MS = 50.0
_WRITTEN_AFTER_US = 1_000_000
_LOGS = StructType([StructField(name, StringType()) for name in ("deployment", "fault_target", "log_file")])


def observe(inputs: Inputs) -> DataFrame:
    """For each stall its length and whether a log names it; for each trial the lines of its fault."""
    return together(_stalls(inputs), _lines_of_faults(inputs))


def _stalls(inputs: Inputs) -> DataFrame:
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
        Value(
            measure="append_in_lock_ms",
            value=F.when(name == _STORE_LOG, F.col("in_lock_ms")),
            file=events_file(),
            line=F.col("append_line"),
            operation=F.concat(F.lit("stalled append on "), F.col("append_node")),
        ),
        Value(measure="store_log_line", value=is_logged.cast("int"), params={"file": name}, **shown),
    )


def _lines_of_stalls(inputs: Inputs, stalls: DataFrame) -> DataFrame:
    """One row for each stall and file that names it."""
    logged = store.parse(inputs.logs.kept).select(
        "deployment",
        "node",
        "name",
        F.col("file").alias("log_file"),
        F.col("line").alias("log_line"),
        "wall_us",
        "resolution_us",
        F.col("in_lock_ms").alias("logged_ms"),
    )
    entry_us, exit_us = _wall_us("append_entry_ns"), _wall_us("append_exit_ns")
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


def _lines_of_faults(inputs: Inputs) -> DataFrame:
    """How often the store of the fault's node logged a slow append; nothing where its log was not kept."""
    kept = {(one.deployment, one.node): one.file for one in inputs.logs.files if one.name == _STORE_LOG}
    logs = frame_of(
        inputs.spark,
        [{"deployment": name, "fault_target": node, "log_file": file} for (name, node), file in kept.items()],
        _LOGS,
    )
    trials = inputs.trials.where("wall_minus_mono_us IS NOT NULL").join(logs, ["deployment", "fault_target"])
    lines = (
        store.parse(inputs.logs.kept)
        .where(F.col("name") == _STORE_LOG)
        .select("deployment", F.col("node").alias("fault_target"), "file", "line", "wall_us", "in_lock_ms")
    )
    within = F.col("wall_us").between(_wall_us("fault_ns"), _wall_us("end_ns"))
    found = (
        trials.join(lines, ["deployment", "fault_target"])
        .where(within)
        .groupBy("trial")
        .agg(F.count("*").alias("lines"), F.max("in_lock_ms").alias("longest_ms"), F.min("line").alias("line"))
    )
    words = F.concat(F.lit("slow appends logged; the longest held the lock for ms: "), F.col("longest_ms"))
    return observations(
        trials.join(found, "trial", "left"),
        Value(
            measure="slow_append_lines",
            value=F.coalesce("lines", F.lit(0)),
            file=F.when(F.col("line").isNotNull(), F.col("log_file")).otherwise(events_file()),
            line=F.coalesce("line", "fault_line"),
            operation=F.coalesce(words, F.lit("no slow append in store.log")),
        ),
    )


def _wall_us(column: str) -> Column:
    return F.expr(f"{column} div 1000") + F.col("wall_minus_mono_us")
