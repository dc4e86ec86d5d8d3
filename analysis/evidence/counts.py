"""What histories come to by trial: how many records, until when was sent, and how their clocks stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import HISTORY_TABLE, Records
from analysis.evidence.row_groups import row_groups
from analysis.evidence.tables import DAMAGED
from analysis.hadoop import is_elsewhere
from harness.rundir.reading import RunDirectory

_COUNTED = ("send", "consume", DAMAGED)
_ANCHOR = ("trial", "file", "mono_ns", "wall_us")
_TOLD = (("started_ns", "max"), ("intended_ns", "min"), ("intended_ns", "max"))
"""Columns of whose values the least or the greatest is told."""

Count = Mapping[str, Any]
"""Of some records: their ``type``, their ``trial``, how many ``rows`` they are, and ``started_ns_max`` and so on, where told."""

Anchor = tuple[str, str, int | None, int | None]
"""Trial, file, monotonic nanoseconds, wall microseconds; a line may lack one of these."""


@dataclass(kw_only=True)
class HistoryCounts:
    """Of one trial. ``anchors`` are the stamps of both clocks, by file: monotonic nanoseconds, wall microseconds."""

    sends: int = 0
    consumptions: int = 0
    damaged_lines: int = 0
    sent_to_ns: int | None = None
    """When the last of the sends began."""
    due_from_ns: int | None = None
    due_to_ns: int | None = None
    """When the first and the last of them were due."""
    anchors: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))


def history_counts(records: Records, run: RunDirectory) -> defaultdict[str, HistoryCounts]:
    """By trial. Of tables on this machine their own statistics tell it, without a look at the rows."""
    folder = run.path / HISTORY_TABLE
    if is_elsewhere(folder):
        counts: Iterable[Count] = _by_rows(records)
        rows = records.whole.where(F.col("type") == "anchor").select(*_ANCHOR).collect()
        anchors: Iterable[Anchor] = [(row[0], row[1], row[2], row[3]) for row in rows]
    else:
        counts = (count for kind in _COUNTED for count in _by_statistics(kind, folder / f"type={kind}"))
        anchors = _anchors(folder / "type=anchor")
    return _folded(counts, anchors)


def _folded(counts: Iterable[Count], anchors: Iterable[Anchor]) -> defaultdict[str, HistoryCounts]:
    found: defaultdict[str, HistoryCounts] = defaultdict(HistoryCounts)
    for count in counts:
        one = found[count["trial"]]
        if count["type"] == "send":
            one.sends += count["rows"]
            one.sent_to_ns = _of(max, one.sent_to_ns, count.get("started_ns_max"))
            one.due_from_ns = _of(min, one.due_from_ns, count.get("intended_ns_min"))
            one.due_to_ns = _of(max, one.due_to_ns, count.get("intended_ns_max"))
        elif count["type"] == "consume":
            one.consumptions += count["rows"]
        elif count["type"] == DAMAGED:
            one.damaged_lines += count["rows"]
    for trial, file, mono_ns, wall_us in anchors:
        if mono_ns is not None and wall_us is not None:
            found[trial].anchors[file].append((mono_ns, wall_us))
    return found


def _of(chosen: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    return chosen(one, other) if one is not None and other is not None else one if other is None else other


def _by_rows(records: Records) -> list[Count]:
    told = [getattr(F, which)(name).alias(f"{name}_{which}") for name, which in _TOLD]
    counted = records.whole.groupBy("type", "trial").agg(F.count("*").alias("rows"), *told)
    return [row.asDict() for row in counted.collect()]


def _by_statistics(kind: str, folder: Path) -> Iterator[Count]:
    """A count for each group of rows whose least and greatest trial are one; others are looked at."""
    for group in row_groups(folder):
        of_kind = [one for one in _TOLD if one[0] in group.names]
        names = ("trial", *dict.fromkeys(name for name, _ in of_kind))
        statistics = {name: told for name in names if (told := group.statistics(name)) is not None}
        if len(statistics) == len(names) and statistics["trial"].min == statistics["trial"].max:
            told = {f"{name}_{which}": getattr(statistics[name], which) for name, which in of_kind}
            yield {"type": kind, "trial": statistics["trial"].max, "rows": group.rows, **told}
        else:
            counted = group.columns(*names).group_by("trial").aggregate([([], "count_all"), *of_kind])
            yield from ({"type": kind, "rows": row["count_all"], **row} for row in counted.to_pylist())


def _anchors(folder: Path) -> Iterator[Anchor]:
    for group in row_groups(folder):
        columns = group.columns(*_ANCHOR).to_pydict()
        yield from zip(*(columns[name] for name in _ANCHOR), strict=True)
