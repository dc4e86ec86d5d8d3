"""All logs of a run as tables: one pass over the text, then each parser over the lines that it asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import ANALYSIS_FOLDER, keep
from analysis.logs import broker, client, gc, lock, namesrv, registration, store, watermark
from analysis.logs.files import LogFile, log_files
from analysis.logs.lines import SAMPLES_MAX, FileCount, read_lines
from harness.rundir.reading import RunDirectory

_PARSERS = (lock, store, broker, namesrv, registration, client, gc, watermark)


@dataclass(frozen=True, kw_only=True)
class LogTables:
    """What the logs say. ``files`` lists all of them, ``counts`` how many of their lines no parser knew."""

    files: tuple[LogFile, ...]
    counts: tuple[FileCount, ...]
    lock_lines: DataFrame
    slow_appends: DataFrame
    registrations: DataFrame
    route_changes: DataFrame
    registrations_refused: DataFrame
    registration_lines: DataFrame
    waiting_consumers: DataFrame
    stops: DataFrame
    send_queue_ages: DataFrame


def load_logs(spark: SparkSession, run: RunDirectory) -> LogTables:
    """Read all logs; the lines that a parser asked for are kept in ``RUN/analysis/log_lines.parquet``."""
    files = log_files(run)
    wanted = F.lit(False)
    for parser in _PARSERS:
        wanted = wanted | parser.wanted()
    lines = read_lines(spark, files, wanted)
    kept = keep(spark, lines.kept, run.path / ANALYSIS_FOLDER / "log_lines.parquet")
    lock_lines = lock.parse(kept)
    return LogTables(
        files=tuple(files),
        counts=_with_unknown_wordings(lines.counts, lock_lines, kept),
        lock_lines=lock_lines,
        slow_appends=store.parse(kept),
        registrations=broker.parse(kept),
        route_changes=namesrv.parse(kept),
        registrations_refused=registration.refused(kept),
        registration_lines=registration.of_brokers(kept),
        waiting_consumers=client.parse(kept),
        stops=gc.parse(kept),
        send_queue_ages=watermark.parse(kept),
    )


def _with_unknown_wordings(
    counts: Sequence[FileCount], lock_lines: DataFrame, kept: DataFrame
) -> tuple[FileCount, ...]:
    """A lock line in a wording of no known release is unmatched as well: a new release may have changed it."""
    unknown = (
        lock_lines.where(F.col("happened").isNull())
        .select("file", "line")
        .join(kept, ["file", "line"])
        .groupBy("file")
        .agg(F.count("*").alias("lines"), F.slice(F.collect_list("text"), 1, SAMPLES_MAX).alias("sample"))
        .collect()
    )
    found = {row["file"]: row for row in unknown}
    return tuple(
        item
        if item.file not in found
        else dataclasses.replace(
            item,
            unmatched=item.unmatched + found[item.file]["lines"],
            sample=(*item.sample, *found[item.file]["sample"])[:SAMPLES_MAX],
        )
        for item in counts
    )
