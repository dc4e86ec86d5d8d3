"""The JVM's unified log: how long a process stood still, for collections and for safepoints.

Layouts of HotSpot 11 to 25 with ``-Xlog:gc*,safepoint``: "[...] GC(3) Pause Young (Normal) ... 24M->5M(256M) 3.214ms"
and 'Safepoint "G1CollectForAllocation", ... Total: 3301234 ns' (17 and later) or "Total time for which application
threads were stopped: 0.0031 seconds" (11).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.tables import SAFEPOINT
from analysis.logs.lines import contains_any, number, part

GC = "gc"


def wanted() -> Column:
    """Pauses and stops; not the phases of a collection."""
    stop = contains_any('Safepoint "', "application threads were stopped")
    return (F.col("kind") == "gc") & (_is_pause() | stop)


def parse(lines: DataFrame) -> DataFrame:
    """One row a stop: ``what`` (gc or safepoint), ``stopped_ms``, and the process's own time of it.

    ``wall_us`` is null where the log has no wall time among its decorations; ``uptime_s`` is the process's age. ``since_us`` is
    when the log is whole from on, as of every file (``files.LogFile``).
    """
    wall = F.translate(part(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}[+-]\d{4})"), ",", ".")
    stopped_ms = F.coalesce(
        number(r" (\d+\.\d+)ms$", "double"),
        number(r"Total: +(\d+) ns", "double") / 1e6,
        number(r"were stopped: (\d+\.\d+) seconds", "double") * 1e3,
    )
    return lines.where(wanted()).select(
        *("deployment", "trial", "node", "file", "line", "since_us"),
        F.when(_is_pause(), GC).otherwise(SAFEPOINT).alias("what"),
        stopped_ms.alias("stopped_ms"),
        F.unix_micros(F.try_to_timestamp(wall, F.lit("yyyy-MM-dd'T'HH:mm:ss.SSSZ"))).alias("wall_us"),
        number(r"\[(\d+\.\d+)s\]", "double").alias("uptime_s"),
    )


def _is_pause() -> Column:
    return contains_any("Pause ") & F.col("text").rlike(r" \d+\.\d+ms$")
