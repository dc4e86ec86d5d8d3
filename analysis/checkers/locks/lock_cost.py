"""What ordered locks cost: requests per second, bytes logged while a member waits, and the time in which a queue is unlocked.

``phase`` is "steady" for the 15 s before the fault and "waiting" from the fault to the end of the hold. All requests of a
group's members to all brokers count, and all lines of the lock managers about the group.

A lock that is renewed more seldom than it lives expires under its owner, who goes on consuming: from then to the next renewal
the broker gives the queue to whoever asks (RebalanceLockManager.tryLockBatch), and two members work on it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers import logged
from analysis.checkers.base import Inputs, Value, at_fault, observations, together
from analysis.checkers.locks.requests import LOCKED_QUEUE, of_topic_queues, owned_queues
from analysis.evidence.consumption import OWNER
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from analysis.logs import lock
from harness.model.rocketmq import LOCK_BATCH_MQ

STEADY_NS = 15_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """All by group, where owners end, the first two by phase. A group without a request or a line has none."""
    windows = _windows(inputs)
    return together(_requests(inputs, windows), _logged(inputs, windows), _unlocked(inputs))


def _unlocked(inputs: Inputs) -> DataFrame:
    """Of the queues that an owner has at the fault. From each grant the lock lives on; to the next one, or the fault, none does."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    owned = owned_queues(inputs, trials).select(*LOCKED_QUEUE, "deployment", "fault_ns", "lock_life_ms")
    granted = (
        inputs.records.lock_requests.where((F.col("code") == LOCK_BATCH_MQ) & (F.col("process") == OWNER))
        .where(of_topic_queues())
        .select("trial", "group", "started_ns", "file", "n", F.explode("granted").alias("lock_queue"))
        .join(owned, list(LOCKED_QUEUE))
        .where("started_ns < fault_ns")
    )
    next_ns = F.lead("started_ns").over(Window.partitionBy(*LOCKED_QUEUE).orderBy("started_ns"))
    held_ns = F.coalesce(next_ns, F.col("fault_ns")) - F.col("started_ns")
    shares = (
        granted.withColumn("held_ns", held_ns)
        .withColumn("unlocked_ns", F.greatest(F.lit(0), F.col("held_ns") - F.col("lock_life_ms") * 1_000_000))
        .groupBy("trial", "deployment", "group")
        .agg((F.sum("unlocked_ns") / F.sum("held_ns")).alias("share"), F.max_by(place(), "unlocked_ns").alias("at"))
    )
    return observations(shares, Value("unlocked_share", "share", "{group}: the longest time after this grant", at="at"))


def _windows(inputs: Inputs) -> DataFrame:
    """One row for each trial and phase."""
    trials = inputs.trials.where(F.col("fault").isin(*OWNERS_END))
    windows = trials.select(
        *("trial", "deployment", "fault_line", "wall_minus_mono_us"),
        F.expr(
            f"""inline(array(
                struct('steady' AS phase, fault_ns - {STEADY_NS} AS from_ns, fault_ns AS to_ns),
                struct('waiting' AS phase, fault_ns AS from_ns, hold_to_ns AS to_ns)))"""
        ),
    )
    return windows.withColumn("seconds", (F.col("to_ns") - F.col("from_ns")) / 1e9)


def _requests(inputs: Inputs, windows: DataFrame) -> DataFrame:
    counted = (
        inputs.records.lock_requests.where(F.col("code") == LOCK_BATCH_MQ)
        .join(windows, "trial")
        .where("started_ns BETWEEN from_ns AND to_ns")
        .groupBy("trial", "deployment", "group", "phase", "seconds")
        .agg(F.count("*").alias("count"), F.min(place()).alias("at"))
    )
    per_s = F.col("count") / F.col("seconds")
    return observations(
        counted,
        Value("lock_requests_per_s", per_s, "{group}: {count} lock requests", at="at", params={"phase": "phase"}),
    )


def _logged(inputs: Inputs, windows: DataFrame) -> DataFrame:
    mono_ns = (F.col("wall_us") - F.col("wall_minus_mono_us")) * 1000
    lines = lock.parse(inputs.logs.kept).select("deployment", "group", "wall_us", "bytes")
    # All of a group's brokers write of it, so that without one of their logs the sum is none.
    windows = windows.join(F.broadcast(logged.of_lock_managers(inputs)), "deployment").where(
        logged.spans(logged.wall_us("from_ns"))
    )
    groups = inputs.records.instances.where("event = 'starting'").select("trial", "group").distinct()
    counted = (
        groups.join(windows, "trial")
        .join(lines, ["deployment", "group"], "left")
        .groupBy("trial", "deployment", "group", "phase", "seconds", "fault_line")
        .agg(F.sum(F.when(mono_ns.between(F.col("from_ns"), F.col("to_ns")), F.col("bytes"))).alias("bytes"))
        .fillna(0, ["bytes"])
    )
    per_s, said = F.col("bytes") / F.col("seconds"), "{group}: {bytes} bytes of the lock manager's lines"
    return observations(counted, Value("lock_log_bytes_per_s", per_s, said, at=at_fault(), params={"phase": "phase"}))
