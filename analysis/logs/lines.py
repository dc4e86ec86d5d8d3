"""Log files as lines with their numbers, the time of each in UTC, and how many of them have no known layout.

Spark splits large files and does not number lines. Its row ids grow along each piece of a file, so a line's number is
its id less the first id of its piece, plus the lines of the pieces before. That takes two passes over the text, which
reads at hundreds of megabytes a second; the first pass counts at the same time.

A line is known when it begins with a time (RocketMQ, any of its layouts) or with a bracket (the JVM's unified log), or
when it goes on from such a line: an exception and its frames.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructType

from analysis.evidence.tables import LOG_FILES, frame_of, table
from analysis.hadoop import location
from analysis.logs.files import LogFile
from harness.bounded import lines_of, opened
from harness.model.log_events import WORDINGS, Logged

SAMPLES_MAX = 3
"""Lines of unknown layout that are shown of each file."""

LINES = StructType(
    [
        *LOG_FILES.fields,
        *table(line=LongType(), text=StringType(), wall_us=LongType(), resolution_us=LongType()).fields,
    ]
)

_PIECES = table(path=StringType(), block=LongType(), first_id=LongType(), lines_before=LongType())

PLACE = ("deployment", "node", "file", "line", "wall_us")
"""Where and when a line of a node was written."""


def contains_any(*words: str) -> Column:
    """Whether a line has one of the wordings."""
    return functools.reduce(operator.or_, (F.col("text").contains(word) for word in words))


def says(*events: Logged) -> Column:
    """Whether a line has the words that a release has for one of these events."""
    return contains_any(*(one.words for one in WORDINGS if one.event in events))


def said(name: str, *events: Logged) -> Column:
    """The field of that name of a line with such words; null for a line that has none."""
    of_each = [
        F.when(F.col("text").contains(one.words), F.regexp_extract("text", *_group(one.fields, name)))
        for one in WORDINGS
        if one.event in events and f"(?P<{name}>" in one.fields
    ]
    return F.nullif(F.coalesce(*of_each), F.lit(""))


def _group(pattern: str, name: str) -> tuple[str, int]:
    """A pattern with names for its groups as Java reads it, without them, and which of them has that name."""
    return re.sub(r"\(\?P<\w+>", "(", pattern), re.compile(pattern).groupindex[name]


def address() -> Column:
    """The first address, such as 127.0.0.1:10911, that a line names; empty without one."""
    return part(r"(\d+\.\d+\.\d+\.\d+:\d+)")


def part(pattern: str) -> Column:
    """The group of a pattern in a line; empty for a line that does not have it."""
    return F.regexp_extract("text", pattern, 1)


def number(pattern: str, kind: str = "long") -> Column:
    """The group of a pattern as a number; null for a line that does not have it."""
    return part(pattern).try_cast(kind)


@dataclass(frozen=True, kw_only=True)
class FileCount:
    """How many lines a file has, and how many of them have no known layout, with a few of those."""

    file: str
    lines: int
    unmatched: int
    sample: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Lines:
    """``kept`` has the lines that the parsers asked for (columns ``LINES``); ``counts`` covers every line."""

    kept: DataFrame
    counts: tuple[FileCount, ...]


def read_lines(spark: SparkSession, files: Sequence[LogFile], wanted: Column) -> Lines:
    """Read the files; keep the lines where ``wanted``, of the columns of ``LOG_FILES`` and ``text``, is true."""
    raw = spark.read.text([location(item.path) for item in files]).select(
        F.col("value").alias("text"),
        F.col("_metadata.file_path").alias("path"),
        F.col("_metadata.file_block_start").alias("block"),
        F.monotonically_increasing_id().alias("id"),
    )
    pieces = _pieces(raw)
    kept = (
        _described(spark, raw, files, pieces)
        .where(wanted)
        .select(
            *LOG_FILES.names,
            "line",
            "text",
            _wall_us().alias("wall_us"),
            F.when(_has_millis(), F.lit(1_000)).otherwise(F.lit(1_000_000)).cast("long").alias("resolution_us"),
        )
    )
    return Lines(kept=kept, counts=_counts(files, pieces))


@dataclass(frozen=True, kw_only=True)
class _Piece:
    path: str
    block: int
    first_id: int
    lines: int
    unmatched: int
    first_unmatched: int | None
    last_unmatched: int | None


def _pieces(raw: DataFrame) -> list[_Piece]:
    odd = ~_known_layout()
    rows = (
        raw.groupBy("path", "block")
        .agg(
            F.min("id").alias("first_id"),
            F.count("*").alias("lines"),
            F.count_if(odd).alias("unmatched"),
            F.min(F.when(odd, F.col("id"))).alias("first_unmatched"),
            F.max(F.when(odd, F.col("id"))).alias("last_unmatched"),
        )
        .collect()
    )
    found = [_Piece(**row.asDict()) for row in rows]
    return sorted(found, key=lambda piece: (piece.path, piece.block))


def _described(spark: SparkSession, raw: DataFrame, files: Sequence[LogFile], pieces: Sequence[_Piece]) -> DataFrame:
    before: dict[str, int] = defaultdict(int)
    numbered: list[dict[str, object]] = []
    for piece in pieces:
        numbered.append({**vars(piece), "lines_before": before[piece.path]})
        before[piece.path] += piece.lines
    places = frame_of(spark, numbered, _PIECES)
    described = frame_of(spark, [vars(item) for item in files], LOG_FILES)
    # Of all files, exactly one has a path that ends in this file's place in the run.
    place = F.regexp_extract("path", "/((?:deployments|trials)/[^/]+/(?:nodes|clients)/.*)$", 1)
    joined = places.withColumn("file", place).join(described, "file")
    return raw.join(F.broadcast(joined), ["path", "block"]).withColumn(
        "line", F.col("id") - F.col("first_id") + F.col("lines_before") + 1
    )


def _counts(files: Sequence[LogFile], pieces: Sequence[_Piece]) -> tuple[FileCount, ...]:
    by_path: dict[str, list[_Piece]] = defaultdict(list)
    for piece in pieces:
        by_path[piece.path].append(piece)
    paths = ((item, next((path for path in by_path if path.endswith("/" + item.file)), None)) for item in files)
    return tuple(_count(item, by_path[path]) for item, path in paths if path is not None)


def _count(item: LogFile, pieces: Sequence[_Piece]) -> FileCount:
    lines, odd = 0, set()
    for piece in pieces:
        ids = (piece.first_unmatched, piece.last_unmatched)
        odd |= {found - piece.first_id + lines + 1 for found in ids if found is not None}
        lines += piece.lines
    return FileCount(
        file=item.file,
        lines=lines,
        unmatched=sum(piece.unmatched for piece in pieces),
        sample=tuple(_line_of(item.path, at) for at in sorted(odd)[:SAMPLES_MAX]),
    )


def _line_of(path: Path, at: int) -> str:
    if path.suffix == ".gz":
        return f"(line {at})"
    with opened(path) as file:
        line = next(itertools.islice(lines_of(file), at - 1, None), b"")
    return line.decode("utf-8", "replace").rstrip("\n")[:300]


# --- layouts ----------------------------------------------------------------------------------------------------------


def _known_layout() -> Column:
    text = F.col("text")
    time = (F.substring(text, 5, 1) == "-") & (F.substring(text, 8, 1) == "-") & (F.substring(text, 14, 1) == ":")
    starts = ("[", "\t", " ", "Caused by:", "java.", "org.apache.rocketmq.", "io.netty.")
    return functools.reduce(operator.or_, (text.startswith(start) for start in starts), time | (text == ""))


def _has_millis() -> Column:
    return F.substring("text", 20, 1).isin(",", ".") & F.substring("text", 21, 3).rlike("^[0-9]{3}$")


def _wall_us() -> Column:
    """Microseconds since 1970 of a line's own time, from the zone that its log is written in; null without a time.

    A layout without milliseconds gives the start of its second.
    """
    local = F.try_to_timestamp(F.substring("text", 1, 19), F.lit("yyyy-MM-dd HH:mm:ss"))
    millis = F.when(_has_millis(), F.substring("text", 21, 3).cast("long")).otherwise(F.lit(0))
    return F.unix_micros(F.to_utc_timestamp(local, F.col("zone"))) + millis * 1_000
