"""What can be seen while a successor waits: how long the broker logs it, what its threads do, and what stops them.

The log lines are those of the lock manager that another client has the queue locked, in any file. The threads are the
consuming threads of the successors' process, counted once a second. Stops come from that process's own log of collections
and safepoints. Where a log is not there, or begins after the fault, nothing is said of its lines.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, at_fault, observations, together
from analysis.checkers.locks.requests import owned_queues
from analysis.evidence.consumption import SUCCESSOR
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from analysis.logs import gc, lock

_LOGGED_QUEUE = ["deployment", "group", "topic", "broker", "queue"]


def observe(inputs: Inputs) -> DataFrame:
    """By queue the share of its wait between the first and the last line; by trial one value of each count and stop."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    return together(_logged(inputs, trials), _parked(inputs, trials), _stopped(inputs, trials))


def _logged(inputs: Inputs, trials: DataFrame) -> DataFrame:
    queues = (
        owned_queues(inputs, trials)
        .where("taken_ns IS NOT NULL")
        .join(F.broadcast(logged.of_lock_managers(inputs)), "deployment")
        .where(logged.spans(logged.wall_us("fault_ns")))
    )
    lines = (
        lock.parse(inputs.logs.kept)
        .where(F.col("happened") == lock.WAITING)
        .select(*_LOGGED_QUEUE, "wall_us", place("line").alias("at"))
    )
    mono_us = F.col("wall_us") - F.col("wall_minus_mono_us")
    waited_us = F.when(mono_us.between(F.col("fault_ns") / 1000, F.col("taken_ns") / 1000), mono_us)
    waits = (
        queues.join(lines, _LOGGED_QUEUE, "left")
        .groupBy("trial", "deployment", "group", "broker", "queue", "fault_ns", "taken_ns", "taken_at")
        .agg((F.max(waited_us) - F.min(waited_us)).alias("spanned_us"), F.max_by("at", waited_us).alias("at"))
    )
    share = F.coalesce("spanned_us", F.lit(0)) * 1000 / (F.col("taken_ns") - F.col("fault_ns"))
    said = "group {group} queue {broker}:{queue}: last line of its waiting"
    return observations(waits, Value("wait_logged_share", share, said, at=F.coalesce("at", "taken_at")))


def _parked(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Counts during the hold. A process without consuming threads says nothing yet."""
    counts = (
        inputs.records.threads.where(F.col("process") == SUCCESSOR)
        .where("parked + busy > 0")
        .join(trials.select("trial", "deployment", "fault_ns", "hold_to_ns"), "trial")
        .where("at_ns BETWEEN fault_ns AND hold_to_ns")
    )
    share = F.col("parked") / (F.col("parked") + F.col("busy"))
    return observations(counts, Value("parked_share", share, "{parked} consuming threads parked, {busy} not"))


def _stopped(inputs: Inputs, trials: DataFrame) -> DataFrame:
    own = F.concat(F.lit("trials/"), F.col("trial"), F.lit(f"/clients/{SUCCESSOR}/"))
    logs = logged.of_processes(inputs, logged.GC_LOG).where(F.col("process") == SUCCESSOR)
    windows = (
        trials.select("trial", "deployment", "fault_ns", "fault_line", "hold_to_ns", "wall_minus_mono_us")
        .join(F.broadcast(logs.drop("process")), "trial")
        .where(logged.spans(logged.wall_us("fault_ns")))
        .drop("since_us")
    )
    mono_us = F.col("wall_us") - F.col("wall_minus_mono_us")
    stops = (
        gc.parse(inputs.logs.kept)
        .drop("deployment", "since_us")
        .join(windows, "trial")
        .where(F.col("file").startswith(own) & mono_us.between(F.col("fault_ns") / 1000, F.col("hold_to_ns") / 1000))
        .groupBy("trial")
        .agg(F.max("stopped_ms").alias("stopped_ms"), F.max_by(place("line"), "stopped_ms").alias("at"))
    )
    said = "longest stop of the successors' JVM while they waited"
    return observations(
        windows.join(stops, "trial", "left").fillna(0.0, ["stopped_ms"]),
        Value("stopped_ms_max", "stopped_ms", said, at=F.coalesce("at", at_fault())),
    )
