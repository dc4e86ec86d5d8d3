"""A Java client's log: what an ordered consumer says while it has no lock.

Wordings of org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService, the same in 4.x and 5.x:
"the message queue not locked, so consume later" and "the message queue lock expired, so consume later".
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import contains_any, number, part

_NOT_LOCKED = "the message queue not locked, so consume later"
_EXPIRED = "the message queue lock expired, so consume later"


def wanted() -> Column:
    """Lines of a consumer that waits for a lock."""
    return (F.col("kind") == "client") & contains_any(_NOT_LOCKED, _EXPIRED)


def parse(lines: DataFrame) -> DataFrame:
    """One row a line: which queue waits, and whether its lock had ``expired`` at the client."""
    return lines.where(wanted()).select(
        *("trial", "file", "line", "wall_us"),
        F.col("text").contains(_EXPIRED).alias("expired"),
        part(r"topic=([^,\]]+)").alias("topic"),
        part(r"brokerName=([^,\]]+)").alias("broker"),
        number(r"queueId=(\d+)", "int").alias("queue"),
    )
