"""Strips: every value of a measure by release and arm, and its quantiles as a table.

They become plain JSON in the page; ``templates/plots.js`` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.report.cells import CellLabels, Json, plotted
from analysis.report.document import Distribution, ReportData
from analysis.verdicts.numbers import MISSING, Quantiles, cell_key, cell_label, quantiles, quantity
from analysis.verdicts.order import arm_key, arm_role, natural_key
from harness.model.measures import measures_of
from harness.model.steps import READ

POINTS_MAX = 400
"""Points drawn in one row of a strip. More are not told apart on a screen and only make the page heavy."""

STRIP_FIRST = ("handover_s", "period_in_queue_ms", "append_in_lock_ms", "message_delay_max_s", "latency_max_ms")
"""Measures that a reader wants first; the others follow by name."""

YES_OR_NO = frozenset({"log_file_exists", "store_log_line", "foreign_lock_granted"})
"""Measures of 0 or 1. A distribution of them says less than the numbers beside their claim."""

ELSEWHERE = frozenset({"handover_part_s", *measures_of("send_kinds")})
"""Measures that have a figure of their own, ``stack.py``, or tables, ``send_matrix.py``."""


@dataclass(frozen=True, kw_only=True)
class StripRow:
    """All values of one cell in one release, with its quantiles."""

    release: str
    arm: str
    cell: str
    cell_order: tuple[tuple[object, ...], ...]
    unit: str
    values: tuple[float, ...]
    censored: tuple[bool, ...]
    summary: Quantiles

    def text(self, value: float | None) -> str:
        """A quantile in words; one that falls among the censored values is open."""
        if value is None:
            return "not reached" if self.summary.censored else MISSING
        return quantity(value, self.unit)


@dataclass(frozen=True, kw_only=True)
class Strip:
    """One measure, such as ``handover_s``, or one with a parameter beyond the cell's, such as a keyword."""

    measure: str
    variant: str
    rows: tuple[StripRow, ...]

    @property
    def label(self) -> str:
        """The measure's name, with what tells it from its other variants; a reading of the incident's own has its own name."""
        if self.measure == READ:
            return self.variant
        return f"{self.measure} ({self.variant})" if self.variant else self.measure


@dataclass(frozen=True, kw_only=True)
class Strips:
    """All distributions of an incident."""

    incident: str
    strips: tuple[Strip, ...]

    def json(self) -> Json:
        """What ``plots.js`` draws."""
        return {
            "kind": "strips",
            "strips": [
                {"label": strip.label, "unit": strip.rows[0].unit, "rows": [_strip_row(row) for row in strip.rows]}
                for strip in self.strips
            ],
        }


def strips(data: ReportData, incident: str, labels: CellLabels) -> Strips | None:
    """The distributions of one incident by measure, or None when the analysis kept none."""
    cell_names = _cell_names(data, incident)
    by_measure: dict[tuple[str, str], list[StripRow]] = {}
    for distribution in data.distributions:
        if (
            distribution.incident != incident
            or not distribution.values
            or distribution.measure in YES_OR_NO | ELSEWHERE
        ):
            continue
        variant = cell_label({k: v for k, v in distribution.params.items() if k not in cell_names})
        by_measure.setdefault((distribution.measure, variant), []).append(_row(distribution, cell_names, labels))
    if not by_measure:
        return None
    listed = [
        Strip(measure=measure, variant=variant, rows=tuple(sorted(rows, key=_row_key)))
        for (measure, variant), rows in by_measure.items()
    ]
    return Strips(incident=incident, strips=tuple(sorted(listed, key=_strip_key)))


def _cell_names(data: ReportData, incident: str) -> frozenset[str]:
    """Names of the parameters that make a cell; what a measure has beyond them (keyword, file) makes a variant."""
    trials = {name for trial in data.trials if trial.incident == incident for name in trial.cell}
    series = {name for one in data.series if one.incident == incident for name in one.params}
    return frozenset(trials | series) or frozenset({"stall_ms", "rate_hz"})


def _row(distribution: Distribution, cell_names: frozenset[str], labels: CellLabels) -> StripRow:
    flags = distribution.flags()
    cell = {k: v for k, v in distribution.params.items() if k in cell_names}
    return StripRow(
        release=distribution.release,
        arm=distribution.arm,
        cell=labels.label(cell),
        cell_order=cell_key(cell),
        unit=distribution.unit,
        values=distribution.values,
        censored=flags,
        summary=quantiles(distribution.values, flags),
    )


def _row_key(row: StripRow) -> tuple[object, ...]:
    return (row.cell_order, natural_key(row.release), arm_key(row.arm))


def _strip_key(strip: Strip) -> tuple[int, str, tuple[tuple[int, int, str], ...]]:
    first = STRIP_FIRST.index(strip.measure) if strip.measure in STRIP_FIRST else len(STRIP_FIRST)
    # Of a measure's variants the one with most values goes first: it is what happened.
    return (first, strip.measure, ((0, -sum(len(row.values) for row in strip.rows), ""), *natural_key(strip.variant)))


def _strip_row(row: StripRow) -> Json:
    points = sorted(zip(row.values, row.censored, strict=True))
    if len(points) > POINTS_MAX:
        step = (len(points) - 1) / (POINTS_MAX - 1)
        points = [points[round(index * step)] for index in range(POINTS_MAX)]
    return {
        "release": row.release,
        "arm": row.arm,
        "role": str(arm_role(row.arm) or ""),
        "cell": row.cell,
        "n": row.summary.n,
        "censored": row.summary.censored,
        "p25": plotted(row.summary.p25),
        "p50": plotted(row.summary.p50),
        "p75": plotted(row.summary.p75),
        "seen": [plotted(value) for value, flag in points if not flag],
        "atleast": [plotted(value) for value, flag in points if flag],
    }
