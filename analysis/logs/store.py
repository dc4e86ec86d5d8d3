"""The store's log: appends that held the put lock for more than 500 ms.

``[NOTIFYME]putMessage in lock cost time(ms)=N`` is written by org.apache.rocketmq.store.CommitLog of 4.x and
5.x after the lock is released, with ``putMessages`` for a batch. ``[PAGECACHERT]`` of StoreStatsService, each minute,
counts appends by duration.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE, contains_any, number

_SLOW = " in lock cost time(ms)="
_DISTRIBUTION = "[PAGECACHERT]"


def wanted() -> Column:
    """Slow appends in any file, the distribution in the store's."""
    return contains_any(_SLOW) | ((F.col("kind") == "store") & contains_any(_DISTRIBUTION))


def parse(lines: DataFrame) -> DataFrame:
    """One row for each append that was logged as slow, with ``in_lock_ms``."""
    in_lock_ms = number(r"in lock cost time\(ms\)=(\d+)", "double").alias("in_lock_ms")
    return lines.where(contains_any(_SLOW)).select(*PLACE, "name", "resolution_us", in_lock_ms)
