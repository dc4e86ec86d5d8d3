"""A name server's log: brokers that came and went.

Wordings of org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager of 4.6.0, 4.9.7 and 5.3.3: "new broker registered,
127.0.0.1:10911", "The broker channel expired, ...", "unregisterBroker, remove ..." and "the broker's channel destroyed".
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

_CAME = ("new broker registered",)
_WENT = ("broker channel expired", "unregisterBroker, remove from brokerLiveTable", "the broker's channel destroyed")


def wanted() -> Column:
    """Registration and removal of brokers."""
    any_of = F.lit(False)
    for words in (*_CAME, *_WENT):
        any_of = any_of | F.col("text").contains(words)
    return (F.col("kind") == "namesrv") & any_of


def parse(lines: DataFrame) -> DataFrame:
    """One row a line: whether a broker ``came`` (else it went), and its address."""
    return lines.where(wanted()).select(
        "deployment",
        "node",
        "file",
        "line",
        "wall_us",
        F.col("text").contains(_CAME[0]).alias("came"),
        F.regexp_extract("text", r"(\d+\.\d+\.\d+\.\d+:\d+)", 1).alias("broker_address"),
    )
