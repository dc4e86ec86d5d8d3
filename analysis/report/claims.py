"""One claim over all releases, made ready for the page: verdicts, parts on a common axis, numbers, evidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from analysis.ledger.runs import CountedTrial
from analysis.report import injections
from analysis.report.document import ClaimText, ReportData
from analysis.verdicts.numbers import cell_key, cell_label, estimate, interval, is_share, number, quantity
from analysis.verdicts.order import arm_key
from analysis.verdicts.words import expectation, in_order, releases_of
from harness.model.findings import Figure, Finding, PartResult
from harness.model.rules import Kind

_Words = TypeVar("_Words")

ROWS_OPEN_MAX = 12
"""A table of numbers with more rows starts folded."""


@dataclass(frozen=True, kw_only=True)
class IntervalMark:
    """One release's interval on a part's axis; positions are per cent of its width.

    ``open_end`` when the upper end is unbounded, because values were censored.
    """

    release: str
    result: PartResult
    words: str
    left: float | None
    width: float | None
    point: float | None
    open_end: bool


@dataclass(frozen=True, kw_only=True)
class PartView:
    """A part of the decision rule and what each release gave, drawn as a forest plot."""

    name: str
    rule: str
    why: str
    marks: tuple[IntervalMark, ...]
    bound_at: float
    holds_right: bool
    axis_low: str
    axis_high: str
    log_scale: bool


@dataclass(frozen=True, kw_only=True)
class MeasureCell:
    """A distribution in one release: its median, interval and counts in words."""

    text: str
    within: str
    counts: str


@dataclass(frozen=True, kw_only=True)
class MeasureRow:
    """One measure of one cell over the releases; None where a release has no such value."""

    measure: str
    arm: str
    cell: str
    cells: tuple[MeasureCell | None, ...]


@dataclass(frozen=True, kw_only=True)
class ClaimView:
    """One claim over all releases of the run."""

    id: str
    text: ClaimText
    findings: tuple[Finding, ...]
    expected: Mapping[tuple[str, str], Sequence[str]]
    """The releases that share an expected verdict and its reason."""
    injections: tuple[str, ...]
    """Where the injections differ, in sentences; empty when there was one only."""
    notes: Mapping[str, Sequence[str]]
    """How far the findings carry, each note with the releases that it is about."""
    parts: tuple[PartView, ...]
    columns: tuple[str, ...]
    measures: tuple[MeasureRow, ...]
    measures_open: bool


def claim_views(data: ReportData, incident: str) -> tuple[ClaimView, ...]:
    """The claims of an incident in their order, the injections beside each other."""
    shown = injections.by_injection(data)
    by_claim = _by_claim(shown, incident)
    untold = _by_claim(data, incident)
    return tuple(
        _claim(shown, claim, found, injections.differences(untold[claim])) for claim, found in by_claim.items()
    )


def _by_claim(data: ReportData, incident: str) -> dict[str, list[Finding]]:
    by_claim: dict[str, list[Finding]] = {}
    for finding in in_order(data.findings):
        if finding.incident == incident:
            by_claim.setdefault(finding.claim, []).append(finding)
    return by_claim


def _claim(data: ReportData, claim: str, findings: Sequence[Finding], differences: tuple[str, ...]) -> ClaimView:
    absent = ClaimText(
        says="The run did not record what the article says.",
        reading="The run did not record the reading.",
        article="",
        incident=findings[0].incident,
    )
    text = data.claims.get(claim, absent)
    columns = releases_of(findings)
    measures = _measures(findings, columns)
    return ClaimView(
        id=claim,
        text=text,
        findings=tuple(findings),
        expected=_by_words(((expectation(one), one.expected_from_code), one.release) for one in findings),
        injections=differences,
        notes=_notes(data, findings),
        parts=tuple(
            _part(name, findings, text.why.get(name, ""))
            for name in dict.fromkeys(part.name for one in findings for part in one.parts if part.kind != Kind.THIS_RUN)
        ),
        columns=tuple(columns),
        measures=measures,
        measures_open=len(measures) <= ROWS_OPEN_MAX,
    )


def _notes(data: ReportData, findings: Sequence[Finding]) -> Mapping[str, list[str]]:
    """Validity notes and trials that did not count, each once with the releases that it is about."""
    told = []
    for finding in findings:
        trials = [t for t in data.trials if t.incident == finding.incident and t.release == finding.release]
        told += [(text, finding.release) for text in dict.fromkeys((*finding.notes, *not_counted(trials)))]
    return _by_words(told)


def _by_words(told: Iterable[tuple[_Words, str]]) -> dict[_Words, list[str]]:
    releases: dict[_Words, list[str]] = {}
    for words, release in told:
        releases.setdefault(words, []).append(release)
    return releases


def not_counted(trials: Sequence[CountedTrial]) -> tuple[str, ...]:
    """Why trials did not count, each reason once for an arm, with the number of its trials."""
    reasons = [(one.arm, "; ".join(one.exclusions)) for one in trials if not one.counts]
    return _by_arm(reasons, "did not count: ")


def notable(trials: Sequence[CountedTrial]) -> tuple[str, ...]:
    """What is notable of trials whether they count or not, told as why others do not count."""
    return _by_arm([(one.arm, "; ".join(one.notes)) for one in trials if one.notes], "")


def _by_arm(told: Sequence[tuple[str, str]], what: str) -> tuple[str, ...]:
    return tuple(
        f"{arm}: {count} {'trial' if count == 1 else 'trials'}{f' {what}' if what else ': '}{words}"
        for (arm, words), count in sorted(Counter(told).items(), key=lambda item: (arm_key(item[0][0]), item[0][1]))
    )


# --- parts ------------------------------------------------------------------------------------------------------------


def _part(name: str, findings: Sequence[Finding], why: str) -> PartView:
    results = [(f.release, part) for f in findings for part in f.parts if part.name == name]
    sample = results[0][1]
    bound = sample.bound or 0.0
    axis = _Axis.over(
        [value for _, part in results for value in (part.low, part.high, part.estimate, part.bound)],
        limit=1.0 if is_share(sample.unit) else math.inf,
    )
    relation = "at least" if sample.relation == ">=" else "at most"
    return PartView(
        name=name,
        rule=f"{relation} {quantity(bound, sample.unit)}",
        why=why,
        marks=tuple(_mark(release, part, axis) for release, part in results),
        bound_at=axis.at(bound),
        holds_right=sample.relation == ">=",
        axis_low=quantity(axis.low, sample.unit, short=True),
        axis_high=quantity(axis.high, sample.unit, short=True),
        log_scale=axis.log,
    )


def _mark(release: str, part: PartResult, axis: _Axis) -> IntervalMark:
    point = part.estimate if part.estimate is not None and math.isfinite(part.estimate) else None
    low = part.low if part.low is not None else point
    open_end = part.low is not None and (part.high is None or math.isinf(part.high))
    high = axis.high if open_end else part.high if part.high is not None else point
    left = axis.at(low) if low is not None else None
    width = axis.at(high) - left if left is not None and high is not None else None
    return IntervalMark(
        release=release,
        result=part,
        words=part.words or estimate(part.estimate, part.low, part.high, part.unit),
        left=left,
        width=width,
        point=None if point is None else axis.at(point),
        open_end=open_end,
    )


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """A common axis for all releases. Logarithmic where positive values span more than two powers of ten."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float | None], limit: float) -> _Axis:
        finite = [value for value in values if value is not None and math.isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=1.0)
        if low > 0 and high / low > 100:
            return cls(low=low / 1.5, high=high * 1.5, log=True)
        # Something that cannot be negative starts at zero, where a reader compares lengths.
        start = 0.0 if 0 <= low <= 0.6 * high else low - 0.15 * ((high - low) or abs(high) or 1.0)
        # A share ends at 1 unless it is one of those ratios that may exceed it.
        end = high + 0.12 * ((high - start) or 1.0)
        return cls(low=start, high=min(end, limit) if start < high <= limit else end, log=False)

    def at(self, value: float) -> float:
        """Position in per cent of the axis, kept within it."""
        if math.isinf(value):
            return 100.0 if value > 0 else 0.0
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _measures(findings: Sequence[Finding], columns: Sequence[str]) -> tuple[MeasureRow, ...]:
    rows: dict[tuple[str, str, str], dict[str, Figure]] = {}
    listed = [(finding.release, measure) for finding in findings for measure in finding.figures]
    for release, measure in sorted(
        listed, key=lambda item: (item[1].name, cell_key(item[1].params), arm_key(item[1].arm))
    ):
        rows.setdefault((measure.name, measure.arm, cell_label(measure.params)), {})[release] = measure
    return tuple(
        MeasureRow(
            measure=name,
            arm=arm,
            cell=cell,
            cells=tuple(_measure(by_release.get(release)) for release in columns),
        )
        for (name, arm, cell), by_release in rows.items()
    )


def _measure(measure: Figure | None) -> MeasureCell | None:
    if measure is None:
        return None
    counts = f"{number(measure.n or measure.tries)} values of {number(measure.tries)} tries"
    if measure.censored:
        counts += f", {number(measure.censored)} at least"
    elif measure.max is not None and (measure.n or 0) > 1:
        counts += f", max {quantity(measure.max, measure.unit)}"
    return MeasureCell(
        text=quantity(measure.p50, measure.unit),
        within=interval(measure.low, measure.high, measure.unit),
        counts=counts,
    )
