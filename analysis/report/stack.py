"""What a delay is made of: one stacked bar an arm and release, from parts that were each measured by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from analysis.report.cells import CellLabels, Json
from analysis.report.document import Distribution, ReportData
from analysis.verdicts.numbers import MISSING, cell_key, quantity
from analysis.verdicts.order import arm_key, arm_role, natural_key

MEASURE = "handover_part_s"
PARTS: dict[str, str] = {
    "lock": "the lock that was left lives on",
    "asking": "until the successor asks again",
    "request": "its lock request",
    "marking": "until the client marks the queue as locked",
    "pull": "until it pulls",
    "delivery": "until the first message is consumed",
}
"""Parts in the order of time, as ``analysis/checkers/locks/parts.py`` names them, and in words."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The mean of each part in one arm, cell and release; None where it was not measured."""

    release: str
    arm: str
    cell: str
    means_s: tuple[float | None, ...]
    values: int

    @property
    def label(self) -> str:
        """``4.6.0 · incident``."""
        return " · ".join(filter(None, (self.release, self.arm, self.cell)))

    def texts(self) -> tuple[str, ...]:
        """Each part's mean with its unit, and their sum."""
        total = sum(mean or 0.0 for mean in self.means_s)
        return (*(MISSING if mean is None else quantity(mean, "s") for mean in self.means_s), quantity(total, "s"))


@dataclass(frozen=True, kw_only=True)
class Stack:
    """The bars of an incident."""

    bars: tuple[Bar, ...]

    @property
    def words(self) -> Sequence[str]:
        """The parts in words, in their order."""
        return tuple(PARTS.values())

    def json(self) -> Json:
        """What ``plots.js`` draws."""
        return {
            "kind": "stack",
            "parts": list(PARTS.values()),
            "bars": [
                {
                    "label": bar.label,
                    "role": str(arm_role(bar.arm) or ""),
                    "means": [None if mean is None else round(mean, 4) for mean in bar.means_s],
                }
                for bar in self.bars
            ],
        }


def stack(data: ReportData, incident: str, labels: CellLabels) -> Stack | None:
    """The stacked bars of one incident, or None when no part was measured in it."""
    found: dict[tuple[object, ...], dict[str, Distribution]] = {}
    for one in data.distributions:
        part = str(one.params.get("part", ""))
        if one.incident == incident and one.measure == MEASURE and part in PARTS and one.values:
            cell = {name: value for name, value in one.params.items() if name != "part"}
            key = (natural_key(one.release), arm_key(one.arm), cell_key(cell))
            found.setdefault(key, {})[part] = one
    bars = [_bar(parts, labels) for _, parts in sorted(found.items(), key=lambda item: item[0])]
    return Stack(bars=tuple(bars)) if bars else None


def _bar(parts: dict[str, Distribution], labels: CellLabels) -> Bar:
    any_part = next(iter(parts.values()))
    return Bar(
        release=any_part.release,
        arm=any_part.arm,
        cell=labels.label({name: value for name, value in any_part.params.items() if name != "part"}),
        means_s=tuple(fmean(parts[name].values) if name in parts else None for name in PARTS),
        values=max(len(one.values) for one in parts.values()),
    )
