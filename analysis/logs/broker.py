"""The broker's own log: its registration with the name servers, by which a broker is in the route or drops out of it.

Wordings of org.apache.rocketmq.broker.out.BrokerOuterAPI: "register broker[0]to name server 127.0.0.1:9876 OK" (4.x;
5.3.3 has "Registering current broker to name server completed. TargetHost=127.0.0.1:9876"), and
"registerBroker Exception, 127.0.0.1:9876" (5.3.3: "Failed to register current broker to name server").
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

_DONE = ("]to name server ", "Registering current broker to name server completed")
_FAILED = ("registerBroker Exception", "Failed to register current broker to name server")


def wanted() -> Column:
    """Registrations, done and failed."""
    text = F.col("text")
    any_of = F.lit(False)
    for words in (*_DONE, *_FAILED):
        any_of = any_of | text.contains(words)
    return (F.col("kind") == "broker") & any_of & ~text.contains("unregisterBroker")


def parse(lines: DataFrame) -> DataFrame:
    """One row for each attempt: ``registered``, whether in the words of 4.x, and the address of the name server."""
    text = F.col("text")
    failed = text.contains(_FAILED[0]) | text.contains(_FAILED[1])
    return lines.where(wanted()).select(
        "deployment",
        "node",
        "file",
        "line",
        "wall_us",
        (~failed).alias("registered"),
        text.contains(_DONE[0]).alias("worded_4x"),
        F.regexp_extract("text", r"(\d+\.\d+\.\d+\.\d+:\d+)", 1).alias("name_server"),
    )
