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
from pyspark.sql.types import StringType

from analysis.checkers.base import Inputs, Value, at_fault, in_events, observations, together
from analysis.evidence.records import place
from analysis.evidence.tables import frame_of, table
from analysis.logs import store

_STORE_LOG = "store.log"
_TOLERANCE_MS = 50.0
_WRITTEN_AFTER_US = 1_000_000
_LOGS = table(deployment=StringType(), fault_target=StringType(), log_file=StringType())


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
    is_logged, without = F.col("at").isNotNull(), F.concat(F.lit("stalled append without a line in "), "name")
    return observations(
        files.withColumn("logged", F.when(is_logged, "the stalled append, logged").otherwise(without)),
        Value(
            "append_in_lock_ms",
            F.when(F.col("name") == _STORE_LOG, F.col("in_lock_ms")),
            "stalled append on {append_node}",
            at=in_events("append_line"),
        ),
        Value(
            "store_log_line",
            is_logged.cast("int"),
            "{logged}",
            at=F.coalesce("at", in_events("append_line")),
            params={"file": "name"},
        ),
    )


def _lines_of_stalls(inputs: Inputs, stalls: DataFrame) -> DataFrame:
    """One row for each stall and file that names it."""
    logged = store.parse(inputs.logs.kept).withColumnRenamed("in_lock_ms", "logged_ms")
    entry_us, exit_us = _wall_us("append_entry_ns"), _wall_us("append_exit_ns")
    off_ms = F.abs(F.col("logged_ms") - F.col("in_lock_ms"))
    return (
        stalls.join(logged, "deployment")
        .where(F.col("node") == F.col("append_node"))
        .where(F.col("wall_us") + F.col("resolution_us") > entry_us)
        .where(F.col("wall_us") <= exit_us + _WRITTEN_AFTER_US)
        .where(off_ms <= _TOLERANCE_MS)
        .groupBy("trial", "name")
        .agg(F.min_by(place("line"), off_ms).alias("at"))
    )


def _lines_of_faults(inputs: Inputs) -> DataFrame:
    """How often the store of the fault's node logged a slow append; nothing where its log was not kept."""
    return observations(
        lambda: _slow_appends(inputs),
        Value(
            "slow_append_lines",
            F.coalesce("lines", F.lit(0)),
            "{logged}",
            at=F.when(F.col("line").isNotNull(), place("line", "log_file")).otherwise(at_fault()),
        ),
    )


def _slow_appends(inputs: Inputs) -> DataFrame:
    """One row for each trial, with what the log of its fault's node says."""
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
    return trials.join(found, "trial", "left").withColumn(
        "logged", F.coalesce(words, F.lit("no slow append in store.log"))
    )


def _wall_us(column: str) -> Column:
    return F.expr(f"{column} div 1000") + F.col("wall_minus_mono_us")
