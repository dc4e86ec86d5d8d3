"""The broker's queue ages, each second: "[WATERMARK] Send Queue Size: 3 SlowTimeMills: 41".

Written by org.apache.rocketmq.broker.BrokerController.printWaterMark of 4.6.0, 4.9.7 and 5.3.3.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE

_SEND = "[WATERMARK] Send Queue Size: "
_IDLE = "[WATERMARK] Send Queue Size: 0 SlowTimeMills: 0"


def wanted() -> Column:
    """Seconds in which a send waited; nearly all lines of the file say that none did."""
    text = F.col("text")
    return (F.col("kind") == "watermark") & text.contains(_SEND) & ~text.contains(_IDLE)


def parse(lines: DataFrame) -> DataFrame:
    """One row a second: the send queue's ``size`` and the age of its head in milliseconds."""
    return lines.where(wanted()).select(
        *PLACE,
        F.regexp_extract("text", r"Queue Size: (\d+)", 1).try_cast("long").alias("size"),
        F.regexp_extract("text", r"SlowTimeMills: (\d+)", 1).try_cast("long").alias("head_age_ms"),
    )
