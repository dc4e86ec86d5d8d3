"""Stalls: what the stalled appends of a trial leave of its sends, be it one stall or several, of one broker or of several.

- ``not_in_time_count``: sends that were due from the first stall's begin to the last one's end and were not acknowledged in time,
  whether they failed or came later.
- ``acknowledged_late_count``: those of them that were acknowledged.
- ``lost_of_stall_count``: by stall, the messages whose send to its broker was under way during it, that were acknowledged, and that
  lie at or above the largest offset that the queue has at the end.

In time is within 500 ms: a send that waits the default 200 ms in the queue of a busy broker, is refused and is taken by another one
is, and one that waits for a stall to end is not. What is lost is told of trials that were drained and whose store was read then.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together
from analysis.checkers.delivery.ends import came_to_its_end, read_at_end
from analysis.evidence.records import place

IN_TIME_MS = 500
_QUEUE = ("trial", "topic", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """For every trial of ungrouped sends in which an append stalled."""
    trials = inputs.trials.where("NOT grouped AND sends > 0").select("trial", "deployment", "drained")
    stalls = inputs.records.events.where("type = 'append'").select(
        "trial",
        "entry_ns",
        "exit_ns",
        F.col("node").alias("broker"),
        F.col("n").alias("stall"),
    )
    stalls = stalls.join(F.broadcast(trials), "trial").persist()
    return together(_late(inputs, stalls), _lost(inputs, stalls))


def _late(inputs: Inputs, stalls: DataFrame) -> DataFrame:
    windows = stalls.groupBy("trial", "deployment").agg(
        F.min("entry_ns").alias("from_ns"),
        F.max("exit_ns").alias("to_ns"),
        F.min("stall").alias("first_stall"),
    )
    took_ms = (F.col("finished_ns") - F.col("intended_ns")) / 1e6
    acknowledged = F.col("outcome") == "ok"
    late = ~acknowledged | (took_ms > IN_TIME_MS)
    sends = inputs.records.sends.join(F.broadcast(windows), "trial").where("intended_ns BETWEEN from_ns AND to_ns")
    counts = sends.groupBy("trial", "deployment", "first_stall").agg(
        F.count("*").alias("sends"),
        F.count_if(late).alias("late"),
        F.count_if(late & acknowledged).alias("late_ok"),
        F.min_by(place(), F.when(late, F.col("n"))).alias("late_at"),
        F.min_by(place(), F.when(late & acknowledged, F.col("n"))).alias("late_ok_at"),
    )
    said = "{late} of {sends} sends had no acknowledgement within 500 ms, {late_ok} of them later"
    first = in_events("first_stall")
    return observations(
        counts,
        Value("not_in_time_count", "late", said, at=F.coalesce("late_at", first)),
        Value("acknowledged_late_count", "late_ok", said, at=F.coalesce("late_ok_at", first)),
    )


def _lost(inputs: Inputs, stalls: DataFrame) -> DataFrame:
    ends = read_at_end(inputs).groupBy(*_QUEUE).agg(F.max("max_offset").alias("last_max"))
    met = (
        inputs.records.sends.where("outcome = 'ok' AND offset IS NOT NULL")
        .select(*_QUEUE, "offset", "intended_ns", "finished_ns", "file", "n")
        .join(F.broadcast(ends), list(_QUEUE))
        .join(F.broadcast(stalls), ["trial", "broker"])
        .where("intended_ns <= exit_ns AND finished_ns >= entry_ns")
        .groupBy("trial", "stall")
        .agg(
            F.count("*").alias("met"),
            F.count_if(F.col("offset") >= F.col("last_max")).alias("lost"),
            F.min_by(place(), F.when(F.col("offset") >= F.col("last_max"), F.col("offset"))).alias("lost_at"),
        )
    )
    of_stalls = stalls.where("drained").join(met, ["trial", "stall"])
    return observations(
        of_stalls,
        Value(
            "lost_of_stall_count",
            F.when((F.col("lost") > 0) | came_to_its_end(inputs), F.col("lost")),
            "of {met} acknowledged sends that met a stall of {broker} {value} are absent from its store",
            at=F.coalesce("lost_at", in_events("stall")),
        ),
    )
