"""What can be seen while a successor waits: how long the broker logs it, what its threads do, and what stops them.

The log lines are those of the lock manager that another client has the queue locked, in any file. The threads are the
consuming threads of the successors' process, counted once a second. Stops come from that process's own log of collections
and safepoints.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import (
    Inputs,
    Value,
    events_file,
    observations,
    queue_words,
    together,
)
from analysis.checkers.locks.requests import owned_queues
from analysis.evidence.consumption import SUCCESSOR
from analysis.evidence.trials import OWNERS_END
from analysis.logs import gc, lock


def observe(inputs: Inputs) -> DataFrame:
    """By queue the share of its wait between the first and the last line; by trial one value of each count and stop."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    return together(_logged(inputs, trials), _parked(inputs, trials), _stopped(inputs, trials))


def _logged(inputs: Inputs, trials: DataFrame) -> DataFrame:
    queues = owned_queues(inputs, trials).where("taken_ns IS NOT NULL")
    lines = (
        lock.parse(inputs.logs.kept)
        .where(F.col("happened") == lock.WAITING)
        .select("deployment", "group", "topic", "broker", "queue", "wall_us", F.col("file").alias("log_file"), "line")
    )
    mono_us = F.col("wall_us") - F.col("wall_minus_mono_us")
    in_wait = mono_us.between(F.col("fault_ns") / 1000, F.col("taken_ns") / 1000)
    waits = (
        queues.join(lines, ["deployment", "group", "topic", "broker", "queue"], "left")
        .groupBy("trial", "deployment", "group", "broker", "queue", "fault_ns", "taken_ns", "taken_file", "taken_line")
        .agg(
            F.min(F.when(in_wait, mono_us)).alias("first_us"),
            F.max(F.when(in_wait, mono_us)).alias("last_us"),
            F.max_by("log_file", F.when(in_wait, mono_us)).alias("log_file"),
            F.max_by("line", F.when(in_wait, mono_us)).alias("log_line"),
        )
    )
    spanned_us = F.coalesce(F.col("last_us") - F.col("first_us"), F.lit(0))
    return observations(
        waits,
        Value(
            measure="wait_logged_share",
            value=spanned_us * 1000 / (F.col("taken_ns") - F.col("fault_ns")),
            file=F.coalesce("log_file", "taken_file"),
            line=F.coalesce("log_line", "taken_line"),
            operation=F.concat(queue_words(), F.lit(": last line of its waiting")),
        ),
    )


def _parked(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Counts during the hold. A process without consuming threads says nothing yet."""
    counts = (
        inputs.records.threads.where(F.col("process") == SUCCESSOR)
        .where("parked + busy > 0")
        .join(trials.select("trial", "deployment", "fault_ns", "hold_to_ns"), "trial")
        .where("at_ns BETWEEN fault_ns AND hold_to_ns")
    )
    return observations(
        counts,
        Value(
            measure="parked_share",
            value=F.col("parked") / (F.col("parked") + F.col("busy")),
            operation=F.concat(F.col("parked"), F.lit(" consuming threads parked, "), F.col("busy"), F.lit(" not")),
        ),
    )


def _stopped(inputs: Inputs, trials: DataFrame) -> DataFrame:
    own = F.concat(F.lit("trials/"), F.col("trial"), F.lit(f"/clients/{SUCCESSOR}/"))
    windows = trials.select("trial", "deployment", "fault_ns", "fault_line", "hold_to_ns", "wall_minus_mono_us")
    mono_us = F.col("wall_us") - F.col("wall_minus_mono_us")
    stops = (
        gc.parse(inputs.logs.kept)
        .select("trial", "file", "line", "stopped_ms", "wall_us")
        .join(windows.select("trial", "fault_ns", "hold_to_ns", "wall_minus_mono_us"), "trial")
        .where(F.col("file").startswith(own) & mono_us.between(F.col("fault_ns") / 1000, F.col("hold_to_ns") / 1000))
        .groupBy("trial")
        .agg(
            F.max("stopped_ms").alias("stopped_ms"),
            F.max_by("file", "stopped_ms").alias("stop_file"),
            F.max_by("line", "stopped_ms").alias("stop_line"),
        )
    )
    every = windows.join(stops, "trial", "left")
    return observations(
        every,
        Value(
            measure="stopped_ms_max",
            value=F.coalesce("stopped_ms", F.lit(0.0)),
            file=F.coalesce("stop_file", events_file()),
            line=F.coalesce("stop_line", "fault_line"),
            operation=F.lit("longest stop of the successors' JVM while they waited"),
        ),
    )
