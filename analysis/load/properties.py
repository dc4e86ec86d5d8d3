"""Properties of a load, each of which holds, is violated, or could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

Holds = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Property:
    """One thing that a load can show. ``count`` is of violations; ``file`` and ``line`` say where the first one is."""

    name: str
    holds: Holds
    words: str
    count: int | None = None
    file: str = ""
    line: int = 0


def undecided(name: str, why: str) -> Property:
    """It could not be judged."""
    return Property(name=name, holds="undecided", words=why)


def none_of(name: str, row: Row, words: str) -> Property:
    """It holds when the row's ``count`` is zero; its ``file`` and ``line`` are a place where it does not."""
    return Property(
        name=name,
        holds="violated" if row["count"] else "holds",
        words=words,
        count=round(row["count"]),
        file=row["file"] or "",
        line=row["line"] or 0,
    )


def counted_rows(table: DataFrame) -> Row:
    """How many rows there are, and where the first of them stands."""
    first = (F.min_by("file", "n").alias("file"), F.min("n").alias("line"))
    return table.agg(F.count("*").alias("count"), *first).collect()[0]
