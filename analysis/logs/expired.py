"""A Java client's log: the messages that it gives back since their consumption has taken longer than ``consumeTimeout``.

The wording is that of org.apache.rocketmq.client.impl.consumer.ProcessQueue.cleanExpiredMsg, the same in 4.x and 5.x: "send expire
msg back. topic=..., msgId=..., storeHost=..., queueId=..., queueOffset=...".
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.client import process
from analysis.logs.lines import says
from harness.model.log_events import Logged


def wanted() -> Column:
    """Lines of a message that is given back."""
    return (F.col("kind") == "client") & says(Logged.EXPIRED_BACK)


def parse(lines: DataFrame) -> DataFrame:
    """One row a message that is given back: which client process says so, and when."""
    return lines.where(wanted()).select("trial", "file", "line", "wall_us", process().alias("process"))
