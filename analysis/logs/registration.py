"""Registrations that are too long, in the logs of both sides.

A name server writes "Adjusted frame length exceeds 16777216: 16777295 - discarded" (io.netty's TooLongFrameException, by
org.apache.rocketmq.remoting.netty.NettyDecoder of 4.x and 5.x). A broker's log has the failure of
org.apache.rocketmq.broker.out.BrokerOuterAPI, whose next line names the exception's class.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE, contains_any, said, says
from harness.model.log_events import Logged

ARTICLES_WORDS = "registerBroker Exception"
"""How a broker of 4.x begins the line that the exception follows; 5.x has "Failed to register current broker to name server".
The line of a broker that is stopped, "unregisterBroker Exception", has these words without a space before them."""

FAILURES = ("RemotingSendRequestException", "RemotingTimeoutException", "RemotingConnectException", ARTICLES_WORDS)
_PACKAGE = "org.apache.rocketmq.remoting.exception."
_ABOUT = "egister"
"""Of register, Registering and unregister: in each line of a broker about its registration, whatever else it says."""


def wanted() -> Column:
    """Frames that are too long in any log, the classes of a broker's failures, and whatever else it says of its registration."""
    kind = F.col("kind")
    told = (kind == "namesrv") & says(Logged.UNDECODABLE)
    of_broker = (kind == "broker") & (_failure().isNotNull() | contains_any(_ABOUT))
    return says(Logged.FRAME_TOO_LONG) | told | of_broker


def refused(lines: DataFrame) -> DataFrame:
    """One row for each frame that a name server refused, with its length, the limit, and the time of the line before."""
    of_servers = lines.where(F.col("kind") == "namesrv")
    told = of_servers.where(says(Logged.UNDECODABLE)).select("file", (F.col("line") + 1).alias("line"), "wall_us")
    return (
        of_servers.where(says(Logged.FRAME_TOO_LONG))
        .select(
            *("deployment", "node", "file", "line"),
            said("limit", Logged.FRAME_TOO_LONG).try_cast("long").alias("limit_bytes"),
            said("bytes", Logged.FRAME_TOO_LONG).try_cast("long").alias("frame_bytes"),
        )
        .join(told, ["file", "line"], "left")
    )


def of_brokers(lines: DataFrame) -> DataFrame:
    """One row a line of a broker: ``what`` is the exception's class, or ``size`` where a frame's size is named."""
    what = F.coalesce(F.when(says(Logged.FRAME_TOO_LONG), "size"), _failure())
    kept = lines.where((F.col("kind") != "namesrv") & (F.col("node") != "") & what.isNotNull())
    return kept.select("deployment", "node", "file", "line", what.alias("what"))


def numbers_told(lines: DataFrame) -> DataFrame:
    """One row a line of a broker about its registration, with its numbers but for addresses, times and a data version's counter."""
    numbers = F.regexp_extract_all("text", F.lit(r"(?<![\w.:,-])(?<!counter=)(\d{1,9})(?![\w.:-])"))
    about = lines.where((F.col("kind") == "broker") & contains_any(_ABOUT))
    return about.select(*PLACE, F.transform(numbers, lambda found: found.cast("long")).alias("numbers"))


def _failure() -> Column:
    """The class of a broker's failure, on the line that names it, or the article's words for one."""
    classes = [F.when(F.col("text").startswith(_PACKAGE + name), name) for name in FAILURES[:-1]]
    return F.coalesce(*classes, F.when(contains_any(f" {ARTICLES_WORDS}"), ARTICLES_WORDS))
