"""A Java client's log: the pulls that it puts off, since the client takes their queue for not locked.

The wording is that of org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl.pullMessage, the same in 4.x and 5.x:
"pull message later because not locked in broker, PullRequest [consumerGroup=..., messageQueue=MessageQueue [...]".
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import said, says
from harness.model.log_events import Logged


def wanted() -> Column:
    """Lines of a pull that is put off."""
    return (F.col("kind") == "client") & says(Logged.PULL_PUT_OFF)


def parse(lines: DataFrame) -> DataFrame:
    """One row a pull that is put off: which client process says so, when, and of which group's queue."""
    return lines.where(wanted()).select(
        *("trial", "file", "line", "wall_us"),
        process().alias("process"),
        *(said(name, Logged.PULL_PUT_OFF).alias(name) for name in ("group", "topic", "broker")),
        said("queue", Logged.PULL_PUT_OFF).try_cast("int").alias("queue"),
    )


def process() -> Column:
    """The client process in whose folder a log file is."""
    return F.regexp_extract("file", "/clients/([^/]+)/", 1)
