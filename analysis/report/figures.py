"""What the plots draw, and the same numbers as tables for a reader without scripts.

A timeline shows one representative trial of each arm side by side, a strip every value of a measure by release and
arm. Both become plain JSON in the page; the drawing is ``templates/plots.js``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from analysis.verdicts.document import Distribution, ReportData, Series, TrialNote
from analysis.verdicts.numbers import MISSING, Quantiles, cell_key, cell_label, number, quantiles, quantity
from analysis.verdicts.order import arm_key, arm_role, natural_key
from harness.model.cells import ParameterValue
from harness.model.rocketmq import BUSY_KEYWORDS
from harness.model.scenario import ArmRole

POINTS_MAX = 400
"""Points drawn in one row of a strip. More are not told apart on a screen and only make the page heavy."""

STRIP_FIRST = ("handover_s", "period_in_queue_ms", "append_in_lock_ms", "message_delay_max_s", "latency_max_ms")
"""Measures that a reader wants first; the others follow by name."""

YES_OR_NO = frozenset({"log_file_exists", "store_log_line", "foreign_lock_granted"})
"""Measures of 0 or 1. A distribution of them says less than the numbers beside their claim."""

STACKED = frozenset({"handover_part_s"})
"""Measures that have a figure of their own, ``stack.py``."""

Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
Params = Mapping[str, ParameterValue]


# --- cells in words ---------------------------------------------------------------------------------------------------


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
        sources: Sequence[TrialNote | Series] = (*data.trials, *data.series)
        values: dict[str, set[ParameterValue]] = {}
        for source in sources:
            if source.incident == incident:
                for name, value in without_empty_stall(source.params).items():
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


# --- timelines --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PhaseRow:
    """Rates and delays of one arm before, during or after the fault, as text."""

    arm: str
    phase: str
    sent: str
    ok: str
    failed: str
    consumed: str
    delay_p50: str
    delay_max: str


@dataclass(frozen=True, kw_only=True)
class TimelineView:
    """What the selectors choose: a release and a cell, with the panels of all arms in their order."""

    release: str
    cell: str
    panels: tuple[int, ...]
    rows: tuple[PhaseRow, ...]


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """All timelines of an incident."""

    incident: str
    panels: tuple[Series, ...]
    views: tuple[TimelineView, ...]
    first: int
    """Index of the view that is shown first: of those with the most arms beside each other, the one that failed most."""

    def json(self) -> Json:
        """What ``plots.js`` draws."""
        return {
            "kind": "timeline",
            "first": self.first,
            "panels": [_panel(series) for series in self.panels],
            "views": [{"release": v.release, "cell": v.cell, "panels": list(v.panels)} for v in self.views],
        }


def timeline(data: ReportData, incident: str, labels: CellLabels) -> Timeline | None:
    """The timelines of one incident, or None when the analysis kept no series of it."""
    panels = sorted(
        (series for series in data.series if series.incident == incident and series.t_s),
        key=lambda s: (natural_key(s.release), arm_key(s.arm), cell_key(s.params)),
    )
    if not panels:
        return None
    views = []
    weights = []
    for release in sorted({series.release for series in panels}, key=natural_key):
        of_release = [index for index, series in enumerate(panels) if series.release == release]
        for cell in _cells([panels[index] for index in of_release]):
            chosen = tuple(_of_cell(panels, of_release, cell))
            rows = tuple(row for index in chosen for row in _phases(panels[index]))
            views.append(TimelineView(release=release, cell=labels.label(cell), panels=chosen, rows=rows))
            weights.append((len(chosen), sum(_failures(panels[index]) for index in chosen)))
    first = max(range(len(views)), key=lambda index: weights[index])
    return Timeline(incident=incident, panels=tuple(panels), views=tuple(views), first=first)


def _cells(panels: Sequence[Series]) -> list[Params]:
    """The cells that a reader can choose: the incident arm's, or all when there is none."""
    leading = [series for series in panels if arm_role(series.arm) is ArmRole.INCIDENT] or list(panels)
    return sorted({cell_key(series.params): series.params for series in leading}.values(), key=cell_key)


def _of_cell(panels: Sequence[Series], among: Iterable[int], cell: Params) -> Iterable[int]:
    """For each arm the panel that agrees with the cell in every parameter that both have, at most one an arm.

    A baseline has no stall to agree on; where none agrees its first panel stands, since it is there to compare with.
    """
    by_arm: dict[str, list[int]] = {}
    for index in among:
        by_arm.setdefault(panels[index].arm, []).append(index)
    for arm in sorted(by_arm, key=arm_key):
        agreeing = [i for i in by_arm[arm] if _agree(panels[i].params, cell)]
        if agreeing:
            yield max(agreeing, key=lambda i: len(set(panels[i].params) & set(cell)))
        elif arm_role(arm) is ArmRole.BASELINE:
            yield by_arm[arm][0]


def _agree(one: Params, other: Params) -> bool:
    left, right = without_empty_stall(one), without_empty_stall(other)
    return all(left[name] == right[name] for name in set(left) & set(right))


def _failures(series: Series) -> float:
    if arm_role(series.arm) is not ArmRole.INCIDENT:
        return 0.0
    return sum(value for value in series.failed if value)


def _panel(series: Series) -> Json:
    per_s = 1000.0 / series.bin_ms
    shown: dict[str, Json] = {
        "release": series.release,
        "arm": series.arm,
        "role": str(arm_role(series.arm) or ""),
        "trial": series.trial,
        "fault": list(series.fault_s) if series.fault_s is not None else None,
        "bin_ms": series.bin_ms,
        "t": [_short(value) for value in series.t_s],
        "p50": [_short(value) for value in series.delay_p50_ms],
        "max": [_short(value) for value in series.delay_max_ms],
    }
    for name in ("sent", "ok", "failed", "consumed"):
        counts: Sequence[float | None] = getattr(series, name)
        # A line that is zero all the time is left out, but for failures: that there were none is worth seeing.
        if name == "failed" or any(counts):
            shown[name] = [None if count is None else _short(count * per_s) for count in counts]
    return shown


def _phases(series: Series) -> list[PhaseRow]:
    width = series.bin_ms / 1000.0
    begin, end = series.fault_s if series.fault_s is not None else (None, None)
    bins = range(len(series.t_s))
    if begin is None:
        groups = {"whole trial": list(bins)}
    else:
        end = begin if end is None else end
        groups = {
            "before": [i for i in bins if series.t_s[i] + width <= begin],
            "fault": [i for i in bins if series.t_s[i] + width > begin and series.t_s[i] <= end],
            "after": [i for i in bins if series.t_s[i] > end],
        }
    return [_phase(series, phase, chosen, width) for phase, chosen in groups.items() if chosen]


def _phase(series: Series, phase: str, chosen: Sequence[int], width: float) -> PhaseRow:
    def rate(counts: Sequence[float | None]) -> str:
        known = [count for i in chosen if (count := counts[i]) is not None]
        return quantity(fmean(known) / width, "/s") if known else MISSING

    middles = [value for i in chosen if (value := series.delay_p50_ms[i]) is not None]
    worst = [value for i in chosen if (value := series.delay_max_ms[i]) is not None]
    return PhaseRow(
        arm=series.arm,
        phase=phase,
        sent=rate(series.sent),
        ok=rate(series.ok),
        failed=rate(series.failed),
        consumed=rate(series.consumed),
        delay_p50=quantity(median(middles) if middles else None, "ms"),
        delay_max=quantity(max(worst) if worst else None, "ms"),
    )


# --- strips: every value of a measure ---------------------------------------------------------------------------------


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
        """The measure's name, with what tells it from its other variants."""
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
        if distribution.incident != incident or not distribution.values or distribution.measure in YES_OR_NO | STACKED:
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
    trials = {name for trial in data.trials if trial.incident == incident for name in trial.params}
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
        "p25": _short(row.summary.p25),
        "p50": _short(row.summary.p50),
        "p75": _short(row.summary.p75),
        "seen": [_short(value) for value, flag in points if not flag],
        "atleast": [_short(value) for value, flag in points if flag],
    }


# --- rejections by stall and keyword ----------------------------------------------------------------------------------


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
                for keyword in sorted({key[1] for key in counts if key[0] == release}, key=_keyword_key)
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


def _keyword_key(keyword: str) -> int:
    return BUSY_KEYWORDS.index(keyword)


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


def _short(value: float | None) -> float | int | None:
    """Five significant digits: what a plot can show."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() else rounded
