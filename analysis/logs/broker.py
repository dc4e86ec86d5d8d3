"""The broker's own log: its registration with the name servers, by which a broker is in the route or drops out of it.

Wordings of org.apache.rocketmq.broker.out.BrokerOuterAPI: "register broker[0]to name server 127.0.0.1:9876 OK" (4.x;
5.x has "Registering current broker to name server completed. TargetHost=127.0.0.1:9876"), and
"registerBroker Exception, 127.0.0.1:9876" (5.x: "Failed to register current broker to name server").
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE, address, contains_any, says
from harness.model.log_events import Logged

_4X = "]to name server "


def wanted() -> Column:
    """Registrations, done and failed."""
    return (F.col("kind") == "broker") & says(Logged.REGISTERED, Logged.NOT_REGISTERED) & ~says(Logged.SHUT_DOWN)


def parse(lines: DataFrame) -> DataFrame:
    """One row for each attempt: ``registered``, whether in the words of 4.x, and the address of the name server."""
    return lines.where(wanted()).select(
        *PLACE,
        (~says(Logged.NOT_REGISTERED)).alias("registered"),
        contains_any(_4X).alias("worded_4x"),
        address().alias("name_server"),
    )
