"""Cells in words for the figures, and numbers as a plot shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.report.document import ReportData
from analysis.verdicts.numbers import cell_label
from harness.model.cells import ParameterValue

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
Params = Mapping[str, ParameterValue]


def without_empty_stall(params: Params) -> Params:
    """A stall of 0 ms, as a baseline has it, is no stall."""
    return {name: value for name, value in params.items() if (name, value) != ("stall_ms", 0)}


@dataclass(frozen=True, kw_only=True)
class CellLabels:
    """Names cells by what tells them apart: a parameter that has one value in the whole incident is left out."""

    shared: Params

    @classmethod
    def of(cls, data: ReportData, incident: str) -> CellLabels:
        """Labels for the cells of one incident."""
        cells = [one.cell for one in data.trials if one.incident == incident]
        cells += [one.params for one in data.series if one.incident == incident]
        values: dict[str, set[ParameterValue]] = {}
        for cell in cells:
            for name, value in without_empty_stall(cell).items():
                values.setdefault(name, set()).add(value)
        # A stall is always named, even where there is one only: it tells a cell from the baseline, which has none.
        shared = {name: next(iter(seen)) for name, seen in values.items() if len(seen) == 1 and name != "stall_ms"}
        return cls(shared=shared)

    def label(self, params: Params) -> str:
        """The cell in words; empty when it has nothing of its own."""
        stalled = without_empty_stall(params)
        return cell_label({name: value for name, value in stalled.items() if self.shared.get(name) != value})

    def constants(self) -> str:
        """What all cells share, in words."""
        return cell_label(self.shared)


def plotted(value: float | None) -> float | int | None:
    """Five significant digits: what a plot can show."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() else rounded
