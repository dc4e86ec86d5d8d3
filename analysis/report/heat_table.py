"""Heat tables: refused sends by keyword and arm down, by stall across."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.report.cells import CellLabels
from analysis.report.document import ReportData
from analysis.verdicts.numbers import Quantiles, cell_key, number, quantiles
from analysis.verdicts.order import arm_key, natural_key
from harness.model.rocketmq import BUSY_KEYWORDS


@dataclass(frozen=True, kw_only=True)
class HeatCell:
    """Mean count of one keyword in one cell. ``heat`` is 0 to 1 of the table's largest, for the shade."""

    text: str
    detail: str
    heat: float


@dataclass(frozen=True, kw_only=True)
class HeatRow:
    """One arm; None where it has no such cell. ``without`` is what it gave without any stall."""

    arm: str
    cells: tuple[HeatCell | None, ...]
    without: HeatCell | None


@dataclass(frozen=True, kw_only=True)
class HeatGroup:
    """A keyword with its arms. It has no rows when it was counted and never came; ``trials`` says how often."""

    keyword: str
    trials: int
    rows: tuple[HeatRow, ...]


@dataclass(frozen=True, kw_only=True)
class HeatTable:
    """Rejected sends of one release: keywords and arms down, stalls across."""

    release: str
    columns: tuple[str, ...]
    groups: tuple[HeatGroup, ...]


Counts = dict[tuple[str, str, str, str], Quantiles]
"""By release, keyword, arm and cell in words; the cell is empty for an arm without a stall."""


def rejections(data: ReportData, incident: str, labels: CellLabels) -> tuple[HeatTable, ...]:
    """Rejected counts by release, keyword, arm and stall; empty when nothing was counted in this incident."""
    counts, columns = _rejected_counts(data, incident, labels)
    largest = max((summary.mean or 0.0 for summary in counts.values()), default=0.0)
    return tuple(
        HeatTable(
            release=release,
            columns=columns,
            groups=tuple(
                _heat_group(
                    keyword, {k[2:]: v for k, v in counts.items() if k[:2] == (release, keyword)}, columns, largest
                )
                for keyword in sorted({key[1] for key in counts if key[0] == release}, key=BUSY_KEYWORDS.index)
            ),
        )
        for release in sorted({key[0] for key in counts}, key=natural_key)
    )


def _rejected_counts(data: ReportData, incident: str, labels: CellLabels) -> tuple[Counts, tuple[str, ...]]:
    """The counts and the cells in their order. Sums over keywords are left out: they repeat what the rows say."""
    values: dict[tuple[str, str, str, str], list[float]] = {}
    cells: dict[str, tuple[tuple[object, ...], ...]] = {}
    for one in data.distributions:
        keyword = str(one.params.get("keyword", ""))
        if one.incident == incident and one.measure == "rejected_count" and keyword in BUSY_KEYWORDS:
            cell = {name: value for name, value in one.params.items() if name != "keyword"}
            label = labels.label(cell)
            values.setdefault((one.release, keyword, one.arm, label), []).extend(one.values)
            if label:
                cells[label] = cell_key(cell)
    counts = {key: quantiles(listed, [False] * len(listed)) for key, listed in values.items() if listed}
    return counts, tuple(sorted(cells, key=lambda label: cells[label]))


def _heat_group(
    keyword: str, counts: Mapping[tuple[str, str], Quantiles], columns: Sequence[str], largest: float
) -> HeatGroup:
    rows = tuple(
        HeatRow(
            arm=arm,
            cells=tuple(_heat(counts.get((arm, column)), largest) for column in columns),
            without=_heat(counts.get((arm, "")), largest),
        )
        for arm in sorted({arm for arm, _ in counts}, key=arm_key)
    )
    seen = any(summary.max for summary in counts.values())
    return HeatGroup(keyword=keyword, trials=sum(summary.n for summary in counts.values()), rows=rows if seen else ())


def _heat(summary: Quantiles | None, largest: float) -> HeatCell | None:
    if summary is None or summary.mean is None:
        return None
    spread = "" if summary.min == summary.max else f"{number(summary.min)} to {number(summary.max)} in "
    # The square root keeps a handful of rejections visible beside hundreds.
    share = math.sqrt(summary.mean / largest) if largest else 0.0
    return HeatCell(
        text=number(round(summary.mean, 1)),
        detail=f"{spread}{summary.n} {'trial' if summary.n == 1 else 'trials'}",
        heat=round(share, 3),
    )
