"""The store's log: appends that held the put lock for more than 500 ms.

``[NOTIFYME]putMessage in lock cost time(ms)=N`` is written by org.apache.rocketmq.store.CommitLog of 4.x and
5.x after the lock is released, with ``putMessages`` for a batch.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from analysis.logs.lines import PLACE, said, says
from harness.model.log_events import Logged


def wanted() -> Column:
    """Slow appends, in any file."""
    return says(Logged.SLOW_APPEND)


def parse(lines: DataFrame) -> DataFrame:
    """One row for each append that was logged as slow, with ``in_lock_ms``."""
    in_lock_ms = said("ms", Logged.SLOW_APPEND).try_cast("double").alias("in_lock_ms")
    return lines.where(wanted()).select(*PLACE, "name", "resolution_us", in_lock_ms)
