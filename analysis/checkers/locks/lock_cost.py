"""What ordered locks cost a broker: requests per second, and bytes logged while a member waits.

``phase`` is "steady" for the 15 s before the fault and "waiting" from the fault to the end of the hold. All requests of a
group's members to all brokers count, and all lines of the lock managers about the group.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from analysis.logs import lock
from harness.model.rocketmq import LOCK_BATCH_MQ

STEADY_NS = 15_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """Both measures by group and phase, where owners end. A group without a request or a line has none."""
    windows = _windows(inputs)
    return together(_requests(inputs, windows), _logged(inputs, windows))


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
