"""A name server's log: brokers that came and went.

Wordings of org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager of 4.x and 5.x: "new broker registered,
127.0.0.1:10911", "The broker channel expired, ...", "unregisterBroker, remove ..." and "the broker's channel destroyed".
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE, address, contains_any

_CAME = "new broker registered"
_WENT = ("broker channel expired", "unregisterBroker, remove from brokerLiveTable", "the broker's channel destroyed")


def wanted() -> Column:
    """Registration and removal of brokers."""
    return (F.col("kind") == "namesrv") & contains_any(_CAME, *_WENT)


def parse(lines: DataFrame) -> DataFrame:
    """One row a line: whether a broker ``came`` (else it went), and its address."""
    return lines.where(wanted()).select(
        *PLACE,
        F.col("text").contains(_CAME).alias("came"),
        address().alias("broker_address"),
    )
