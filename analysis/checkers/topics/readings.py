"""Readings: numbers that the harness read off a broker, its release's code or the rule inside the append.

Each is a measure of its own name, with the moment (before the fault or after it) as its parameter. Page faults are read as
totals of the appending threads; what is judged is how many came with each message that was acknowledged meanwhile.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together
from harness.model.measures import measures_of

_FAULTS = "write_faults"
_OF_FAULTS = ("faults_per_append", "append_faults")
_PLAIN = tuple(name for name in measures_of("readings") if name not in _OF_FAULTS)


def observe(inputs: Inputs) -> DataFrame:
    """Every reading of every trial."""
    read = inputs.records.events.where("type = 'reading'").select(
        "trial", "n", "at_ns", "name", "value", "target", "moment", "detail"
    )
    with_trials = read.join(inputs.trials.select("trial", "deployment"), "trial")
    return together(_plain(with_trials), _faults(inputs, with_trials))


def _plain(read: DataFrame) -> DataFrame:
    told = read.withColumn("said", F.concat_ws(": ", "target", "detail"))
    moment = {"moment": "moment"}
    return observations(
        told,
        *[
            Value(name, F.when(F.col("name") == name, F.col("value")), "{said}", at=in_events(), params=moment)
            for name in _PLAIN
        ],
    )


def _faults(inputs: Inputs, read: DataFrame) -> DataFrame:
    """Page faults between the two readings, and how many there were for each acknowledged send."""
    said = "{target}: {faults} page faults, {appends} appends"
    return observations(
        lambda: _counted(inputs, read),
        Value("faults_per_append", F.col("faults") / F.col("appends"), said, at=in_events()),
        Value("append_faults", "faults", said, at=in_events()),
    )


def _counted(inputs: Inputs, read: DataFrame) -> DataFrame:
    """One row for each trial with both readings."""
    at_before, at_after = (F.when(F.col("moment") == moment, F.col("at_ns")) for moment in ("before", "after"))
    counted = (
        read.where(F.col("name") == _FAULTS)
        .groupBy("trial", "deployment")
        .agg(
            F.min(at_before).alias("from_ns"),
            F.max(at_after).alias("to_ns"),
            (F.max("value") - F.min("value")).alias("faults"),
            F.max("n").alias("n"),
            F.max("target").alias("target"),
        )
        .where("from_ns IS NOT NULL AND to_ns IS NOT NULL")
    )
    sends = inputs.records.sends.where("outcome = 'ok'").select("trial", "finished_ns")
    appended = (
        sends.join(F.broadcast(counted.select("trial", "from_ns", "to_ns")), "trial")
        .where("finished_ns BETWEEN from_ns AND to_ns")
        .groupBy("trial")
        .agg(F.count("*").alias("appends"))
    )
    return counted.join(appended, "trial")
