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

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis import logs
from analysis.evidence.records import ANALYSIS_FOLDER, keep
from analysis.evidence.tables import frame_of
from analysis.logs import lock
from analysis.logs.files import LogFile, log_files
from analysis.logs.lines import LINES, SAMPLES_MAX, FileCount, read_lines
from analysis.logs.spans import with_spans
from harness.rundir.reading import RunDirectory


@dataclass(frozen=True, kw_only=True)
class Logs:
    """``files`` lists all logs, ``counts`` how many of their lines no parser knew; ``kept`` is what parsers asked for.

    ``kept`` has the columns ``lines.LINES``; a parser's function makes its table of it, as in ``lock.parse(logs.kept)``.
    ``lock_files`` are those files that have lines of the lock manager.
    """

    files: tuple[LogFile, ...]
    counts: tuple[FileCount, ...]
    kept: DataFrame
    lock_files: frozenset[str] = frozenset()


def parsers() -> tuple[ModuleType, ...]:
    """The modules of this package that ask for lines, by name."""
    names = sorted(f"{logs.__name__}.{found.name}" for found in pkgutil.iter_modules(logs.__path__))
    modules = (importlib.import_module(name) for name in names)
    return tuple(module for module in modules if hasattr(module, "wanted"))


def load_logs(spark: SparkSession, run: RunDirectory) -> Logs:
    """Read all logs; the lines that a parser asked for are kept in ``RUN/analysis/log_lines.parquet``, where there are logs."""
    files = with_spans(log_files(run))
    filled = [file for file in files if not file.is_empty]
    if not filled:
        return Logs(files=files, counts=(), kept=frame_of(spark, [], LINES))
    found = parsers()
    lines = read_lines(spark, filled, _any_of(parser.wanted() for parser in found))
    kept = keep(spark, lines.kept, run.path / ANALYSIS_FOLDER / "log_lines.parquet")
    unknown = _any_of(parser.unknown() for parser in found if hasattr(parser, "unknown"))
    by_file = _by_file(kept, unknown)
    return Logs(
        files=files,
        counts=_with_unknown_wordings(lines.counts, [row for row in by_file if row["lines"]]),
        kept=kept,
        lock_files=frozenset(row["file"] for row in by_file if row["has_locks"]),
    )


def _any_of(conditions: Iterable[Column]) -> Column:
    return functools.reduce(operator.or_, conditions, F.lit(False))


def _by_file(kept: DataFrame, unknown: Column) -> list[Row]:
    """Of each file that has any how many lines are in an unknown wording, with a few, and whether any is the lock manager's."""
    has_locks = lock.wanted() & ~lock.unknown()
    return (
        kept.where(unknown | has_locks)
        .groupBy("file")
        .agg(
            F.count_if(unknown).alias("lines"),
            F.slice(F.collect_list(F.when(unknown, F.col("text"))), 1, SAMPLES_MAX).alias("sample"),
            F.bool_or(has_locks).alias("has_locks"),
        )
        .collect()
    )


def _with_unknown_wordings(counts: Sequence[FileCount], unknown: Sequence[Row]) -> tuple[FileCount, ...]:
    """A line in a wording of no known release is unmatched as well: a new release may have changed it."""
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
