"""Appends: how long the stalled append held the put lock, by the rule's own stamps and by the store's log.

The releases log an append only above 500 ms, so the stamps of entry and exit that the rule takes inside the broker are
the measure, and store.log is cross-evidence. A line belongs to a stall when it is the stalled node's, was written
between its entry and one second after its exit, and names a duration within 50 ms of the stamps'.

The rule stamps the append to a file. The wait for the next file is under the lock as well, but outside of that method:
only the log knows it, and ``slow_append_lines`` counts what it says from the fault to the trial's end. Where store.log is not
there, or begins after the fault, it is not said that it lacks a line.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, at_fault, in_events, observations, together
from analysis.evidence.records import place
from analysis.logs import store

_TOLERANCE_MS = 50.0
_WRITTEN_AFTER_US = 1_000_000


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
        stalls.select("trial", F.lit(logged.STORE_LOG).alias("name"))
        .unionByName(lines.select("trial", "name"))
        .distinct()
    )
    logs = logged.of_nodes(inputs, logged.STORE_LOG).withColumnRenamed("node", "append_node")
    files = (
        stalls.join(asked, "trial")
        .join(lines, ["trial", "name"], "left")
        .join(F.broadcast(logs), ["deployment", "append_node"], "left")
    )
    is_told = (F.col("name") != logged.STORE_LOG) | logged.spans(logged.wall_us("append_entry_ns"))
    is_logged, without = F.col("at").isNotNull(), F.concat(F.lit("stalled append without a line in "), "name")
    return observations(
        files.withColumn("logged", F.when(is_logged, "the stalled append, logged").otherwise(without)),
        Value(
            "append_in_lock_ms",
            F.when(F.col("name") == logged.STORE_LOG, F.col("in_lock_ms")),
            "stalled append on {append_node}",
            at=in_events("append_line"),
        ),
        Value(
            "store_log_line",
            F.when(is_told, is_logged.cast("int")),
            "{logged}",
            at=F.coalesce("at", in_events("append_line")),
            params={"file": "name"},
        ),
    )


def _lines_of_stalls(inputs: Inputs, stalls: DataFrame) -> DataFrame:
    """One row for each stall and file that names it."""
    written = store.parse(inputs.logs.kept).withColumnRenamed("in_lock_ms", "logged_ms")
    entry_us, exit_us = logged.wall_us("append_entry_ns"), logged.wall_us("append_exit_ns")
    off_ms = F.abs(F.col("logged_ms") - F.col("in_lock_ms"))
    return (
        stalls.join(written, "deployment")
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
            at=F.coalesce("slow_at", at_fault()),
        ),
    )


def _slow_appends(inputs: Inputs) -> DataFrame:
    """One row for each trial, with what the log of its fault's node says."""
    logs = logged.of_nodes(inputs, logged.STORE_LOG).withColumnRenamed("node", "fault_target")
    trials = (
        inputs.trials.join(F.broadcast(logs), ["deployment", "fault_target"])
        .where(logged.spans(logged.wall_us("fault_ns")))
        .drop("since_us")
    )
    lines = (
        store.parse(inputs.logs.kept)
        .where(F.col("name") == logged.STORE_LOG)
        .select("deployment", F.col("node").alias("fault_target"), "file", "line", "wall_us", "in_lock_ms")
    )
    within = F.col("wall_us").between(logged.wall_us("fault_ns"), logged.wall_us("end_ns"))
    found = (
        trials.join(lines, ["deployment", "fault_target"])
        .where(within)
        .groupBy("trial")
        .agg(
            F.count("*").alias("lines"), F.max("in_lock_ms").alias("longest_ms"), F.min(place("line")).alias("slow_at")
        )
    )
    words = F.concat(F.lit("slow appends logged; the longest held the lock for ms: "), F.col("longest_ms"))
    return trials.join(found, "trial", "left").withColumn(
        "logged", F.coalesce(words, F.lit("no slow append in store.log"))
    )
