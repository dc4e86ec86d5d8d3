"""The JVM's unified log: how long a process stood still, for collections and for safepoints.

Layouts of HotSpot 11 to 25 with ``-Xlog:gc*,safepoint``: "[...] GC(3) Pause Young (Normal) ... 24M->5M(256M) 3.214ms"
and 'Safepoint "G1CollectForAllocation", ... Total: 3301234 ns' (17 and later) or "Total time for which application
threads were stopped: 0.0031 seconds" (11).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.tables import SAFEPOINT

GC = "gc"


def wanted() -> Column:
    """Pauses and stops; not the phases of a collection."""
    text = F.col("text")
    pause = text.contains("Pause ") & text.rlike(r" \d+\.\d+ms$")
    stop = text.contains('Safepoint "') | text.contains("application threads were stopped")
    return (F.col("kind") == "gc") & (pause | stop)


def parse(lines: DataFrame) -> DataFrame:
    """One row a stop: ``what`` (gc or safepoint), ``stopped_ms``, and the process's own time of it.

    ``wall_us`` is null where the log has no wall time among its decorations; ``uptime_s`` is the process's age.
    """
    text = F.col("text")
    wall = F.regexp_extract(text, r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}[+-]\d{4})", 1)
    is_gc = text.contains("Pause ") & text.rlike(r" \d+\.\d+ms$")
    stopped_ms = F.coalesce(
        F.regexp_extract(text, r" (\d+\.\d+)ms$", 1).try_cast("double"),
        F.regexp_extract(text, r"Total: +(\d+) ns", 1).try_cast("double") / 1e6,
        F.regexp_extract(text, r"were stopped: (\d+\.\d+) seconds", 1).try_cast("double") * 1e3,
    )
    return lines.where(wanted()).select(
        "deployment",
        "trial",
        "node",
        "file",
        "line",
        F.when(is_gc, F.lit(GC)).otherwise(F.lit(SAFEPOINT)).alias("what"),
        stopped_ms.alias("stopped_ms"),
        F.unix_micros(
            F.try_to_timestamp(F.replace(wall, F.lit(","), F.lit(".")), F.lit("yyyy-MM-dd'T'HH:mm:ss.SSSZ"))
        ).alias("wall_us"),
        F.regexp_extract(text, r"\[(\d+\.\d+)s\]", 1).try_cast("double").alias("uptime_s"),
    )
