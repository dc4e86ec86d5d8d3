"""All logs of a run: one pass over the text, which keeps the lines that a parser asks for.

A parser is a module of this package that has ``wanted()``, the lines that it asks for, and a function that makes a table
of what is kept. Where a release may have changed its words it also has ``unknown()``: lines that it asks for and does not
understand.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import operator
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis import logs
from analysis.evidence.records import ANALYSIS_FOLDER, keep
from analysis.evidence.tables import frame_of
from analysis.logs.files import LogFile, log_files
from analysis.logs.lines import LINES, SAMPLES_MAX, FileCount, read_lines
from harness.rundir.reading import RunDirectory


@dataclass(frozen=True, kw_only=True)
class Logs:
    """``files`` lists all logs, ``counts`` how many of their lines no parser knew; ``kept`` is what parsers asked for.

    ``kept`` has the columns ``lines.LINES``; a parser's function makes its table of it, as in ``lock.parse(logs.kept)``.
    """

    files: tuple[LogFile, ...]
    counts: tuple[FileCount, ...]
    kept: DataFrame


def parsers() -> tuple[ModuleType, ...]:
    """The modules of this package that ask for lines, by name."""
    names = sorted(f"{logs.__name__}.{found.name}" for found in pkgutil.iter_modules(logs.__path__))
    modules = (importlib.import_module(name) for name in names)
    return tuple(module for module in modules if hasattr(module, "wanted"))


def load_logs(spark: SparkSession, run: RunDirectory) -> Logs:
    """Read all logs; the lines that a parser asked for are kept in ``RUN/analysis/log_lines.parquet``, where there are logs."""
    files = log_files(run)
    if not files:
        return Logs(files=(), counts=(), kept=frame_of(spark, [], LINES))
    found = parsers()
    lines = read_lines(spark, files, _any_of(parser.wanted() for parser in found))
    kept = keep(spark, lines.kept, run.path / ANALYSIS_FOLDER / "log_lines.parquet")
    unknown = _any_of(parser.unknown() for parser in found if hasattr(parser, "unknown"))
    return Logs(files=tuple(files), counts=_with_unknown_wordings(lines.counts, kept.where(unknown)), kept=kept)


def _any_of(conditions: Iterable[Column]) -> Column:
    return functools.reduce(operator.or_, conditions, F.lit(False))


def _with_unknown_wordings(counts: Sequence[FileCount], unknown: DataFrame) -> tuple[FileCount, ...]:
    """A line in a wording of no known release is unmatched as well: a new release may have changed it."""
    rows = (
        unknown.groupBy("file")
        .agg(F.count("*").alias("lines"), F.slice(F.collect_list("text"), 1, SAMPLES_MAX).alias("sample"))
        .collect()
    )
    found = {row["file"]: row for row in rows}
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
