"""The broker's queue ages, each second: "[WATERMARK] Send Queue Size: 3 SlowTimeMills: 41".

Written by org.apache.rocketmq.broker.BrokerController.printWaterMark of 4.x and 5.x.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE, contains_any, number

_SEND = "[WATERMARK] Send Queue Size: "
_IDLE = "[WATERMARK] Send Queue Size: 0 SlowTimeMills: 0"


def wanted() -> Column:
    """Seconds in which a send waited; nearly all lines of the file say that none did."""
    return (F.col("kind") == "watermark") & contains_any(_SEND) & ~contains_any(_IDLE)


def parse(lines: DataFrame) -> DataFrame:
    """One row a second: the send queue's ``size`` and the age of its head in milliseconds."""
    return lines.where(wanted()).select(
        *PLACE,
        number(r"Queue Size: (\d+)").alias("size"),
        number(r"SlowTimeMills: (\d+)").alias("head_age_ms"),
    )
