"""Timelines: one representative trial of each arm side by side, and the same numbers as a table.

They become plain JSON in the page; ``templates/plots.js`` draws them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from analysis.report.cells import CellLabels, Json, Params, plotted, without_empty_stall
from analysis.report.document import LOAD, ReportData, Series
from analysis.verdicts.numbers import MISSING, cell_key, quantity
from analysis.verdicts.order import arm_key, arm_role, natural_key
from harness.model.scenario import ArmRole


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
        "faults": [list(window) for window in series.faults_s],
        "since": _since(series),
        "bin_ms": series.bin_ms,
        "t": [plotted(value) for value in series.t_s],
        "p50": [plotted(value) for value in series.delay_p50_ms],
        "max": [plotted(value) for value in series.delay_max_ms],
    }
    for name in ("sent", "ok", "failed", "consumed"):
        counts: Sequence[float | None] = getattr(series, name)
        # A line that is zero all the time is left out, but for failures: that there were none is worth seeing.
        if name == "failed" or any(counts):
            shown[name] = [None if count is None else plotted(count * per_s) for count in counts]
    return shown


def _since(series: Series) -> str:
    """What the time axis counts from: a load's start, and in an incident the fault, or when it would be where there is none."""
    if series.incident == LOAD:
        return "the start"
    return "the fault began" if series.fault_s is not None else "the moment of the other arms' fault"


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
        **{name: rate(getattr(series, name)) for name in ("sent", "ok", "failed", "consumed")},
        delay_p50=quantity(median(middles) if middles else None, "ms"),
        delay_max=quantity(max(worst) if worst else None, "ms"),
    )
