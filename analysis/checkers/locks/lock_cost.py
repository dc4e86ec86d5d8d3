"""What ordered locks cost a broker: requests per second, and bytes logged while a member waits.

``phase`` is "steady" for the 15 s before the fault and "waiting" from the fault to the end of the hold. All requests of a
group's members to all brokers count, and all lines of the lock managers about the group.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, together
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
    steady = F.struct(
        F.lit("steady").alias("phase"),
        (F.col("fault_ns") - STEADY_NS).alias("from_ns"),
        F.col("fault_ns").alias("to_ns"),
    )
    waiting = F.struct(
        F.lit("waiting").alias("phase"), F.col("fault_ns").alias("from_ns"), F.col("hold_to_ns").alias("to_ns")
    )
    each = F.explode(F.array(steady, waiting)).alias("window")
    return trials.select("trial", "deployment", "fault_line", "wall_minus_mono_us", each).select("*", "window.*")


def _seconds() -> Column:
    return (F.col("to_ns") - F.col("from_ns")) / 1e9


def _requests(inputs: Inputs, windows: DataFrame) -> DataFrame:
    counted = (
        inputs.records.lock_requests.where(F.col("code") == LOCK_BATCH_MQ)
        .join(windows, "trial")
        .where("started_ns BETWEEN from_ns AND to_ns")
        .groupBy("trial", "deployment", "group", "phase", "from_ns", "to_ns")
        .agg(F.count("*").alias("count"), F.min("file").alias("file"), F.min("n").alias("n"))
    )
    return observations(
        counted,
        Value(
            measure="lock_requests_per_s",
            value=F.col("count") / _seconds(),
            params={"phase": F.col("phase")},
            operation=F.concat(F.col("group"), F.lit(": "), F.col("count"), F.lit(" lock requests")),
        ),
    )


def _logged(inputs: Inputs, windows: DataFrame) -> DataFrame:
    mono_ns = (F.col("wall_us") - F.col("wall_minus_mono_us")) * 1000
    lines = lock.parse(inputs.logs.kept).select("deployment", "group", "wall_us", "bytes")
    groups = inputs.records.instances.where("event = 'starting'").select("trial", "group").distinct()
    counted = (
        groups.join(windows, "trial")
        .join(lines, ["deployment", "group"], "left")
        .groupBy("trial", "deployment", "group", "phase", "from_ns", "to_ns", "fault_line")
        .agg(F.sum(F.when(mono_ns.between(F.col("from_ns"), F.col("to_ns")), F.col("bytes"))).alias("bytes"))
    )
    written = F.coalesce("bytes", F.lit(0))
    return observations(
        counted,
        Value(
            measure="lock_log_bytes_per_s",
            value=written / _seconds(),
            params={"phase": F.col("phase")},
            file=events_file(),
            line=F.col("fault_line"),
            operation=F.concat(F.col("group"), F.lit(": "), written, F.lit(" bytes of the lock manager's lines")),
        ),
    )
