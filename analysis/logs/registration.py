"""Registrations that are too long, in the logs of both sides.

A name server writes "Adjusted frame length exceeds 16777216: 16777295 - discarded" (io.netty's TooLongFrameException, by
org.apache.rocketmq.remoting.netty.NettyDecoder of 4.6.0, 4.9.7 and 5.3.3). A broker's log has the failure of
org.apache.rocketmq.broker.out.BrokerOuterAPI, whose next line names the exception's class.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

FAILURES = ("RemotingSendRequestException", "RemotingTimeoutException", "RemotingConnectException")
_PACKAGE = "org.apache.rocketmq.remoting.exception."
_TOLD = "decode exception, "
_SIZE = "Adjusted frame length exceeds "


def wanted() -> Column:
    """Frames that are too long in any log, and the classes of a broker's failures."""
    text = F.col("text")
    failed = F.lit(False)
    for name in FAILURES:
        failed = failed | text.startswith(_PACKAGE + name)
    told = (F.col("kind") == "namesrv") & text.contains(_TOLD)
    return text.contains(_SIZE) | told | ((F.col("kind") == "broker") & failed)


def refused(lines: DataFrame) -> DataFrame:
    """One row for each frame that a name server refused, with its length, the limit, and the time of the line before."""
    text = F.col("text")
    of_servers = lines.where(F.col("kind") == "namesrv")
    told = of_servers.where(text.contains(_TOLD)).select("file", (F.col("line") + 1).alias("line"), "wall_us")
    return (
        of_servers.where(text.contains(_SIZE))
        .select(
            "deployment",
            "node",
            "file",
            "line",
            F.regexp_extract(text, r"exceeds (\d+)", 1).try_cast("long").alias("limit_bytes"),
            F.regexp_extract(text, r"exceeds \d+: (\d+)", 1).try_cast("long").alias("frame_bytes"),
        )
        .join(told, ["file", "line"], "left")
    )


def of_brokers(lines: DataFrame) -> DataFrame:
    """One row a line of a broker: ``what`` is the exception's class, or ``size`` where a frame's size is named."""
    text = F.col("text")
    what = F.coalesce(
        F.when(text.contains(_SIZE), F.lit("size")),
        *[F.when(text.startswith(_PACKAGE + name), F.lit(name)) for name in FAILURES],
    )
    kept = lines.where((F.col("kind") != "namesrv") & (F.col("node") != "") & what.isNotNull())
    return kept.select("deployment", "node", "file", "line", what.alias("what"))
