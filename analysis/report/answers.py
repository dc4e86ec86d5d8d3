"""What the page says first of each incident: a sentence, one table of medians, what was a surprise, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.report.document import ReportData
from analysis.verdicts.numbers import parameter, quantity
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import in_order, is_mismatch, left_open
from harness.language import joined, phrase
from harness.model.cells import ParameterValue
from harness.model.findings import Finding
from harness.model.scenario import Shown
from harness.model.verdicts import VerdictKind

SURPRISES_MAX = 3
ROWS_MAX = 8

Values = Mapping[tuple[str, str, ParameterValue], "Median"]
"""By release, arm and the value of the parameter that makes the columns, which is empty where releases make them."""


@dataclass(frozen=True, kw_only=True)
class Median:
    """Of a measure in a cell, over so many deployments."""

    value: float
    unit: str
    deployments: int


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """A row of an answer's table: its label, and of each column what was seen here and what is recorded, either of them empty."""

    label: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ClaimOnReleases:
    """What a claim has come to, on the releases on which it is so; ``known_by`` says how a short run stands to the record."""

    claim: str
    status: str
    says: str
    releases: tuple[str, ...]
    known_by: str


@dataclass(frozen=True, kw_only=True)
class IncidentAnswer:
    """What happens (``says`` and the table), what was a surprise, what does not hold, and what to do."""

    name: str
    says: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[AnswerRow, ...]
    recorded: str
    """How many deployments the recorded medians are of, in words; empty where there are none."""
    surprises: tuple[ClaimOnReleases, ...]
    refuted: tuple[ClaimOnReleases, ...]
    more_refuted: int
    advice: str
    commands: tuple[str, ...]
    arms: tuple[str, ...]
    """Those of the table, which the picture shows."""


def answers(data: ReportData, record: Sequence[Finding]) -> tuple[IncidentAnswer, ...]:
    """Of each incident of the run whose analysis handed on what to show, in the run's order; ``data`` has the page's verdicts."""
    return tuple(
        _answer(name, text.shown, data, record)
        for name in data.manifest.incidents
        if (text := data.incidents.get(name)) is not None and text.shown is not None
    )


def _answer(name: str, shown: Shown, data: ReportData, record: Sequence[Finding]) -> IncidentAnswer:
    text = data.incidents[name]
    findings = [one for one in in_order(data.findings) if one.incident == name]
    here = _seen(shown, findings)
    injections = {one.injection for one in findings}
    kept = _recorded(
        shown,
        (line for line in record if line.incident == name and not injections.isdisjoint({line.injection, ""})),
    )
    releases = sorted(data.manifest.releases, key=natural_key)
    columns, rows = _table(shown, here, kept, releases)
    deployments = [one.deployments for (release, _, _), one in kept.items() if release in releases and one.deployments]
    says = {claim: one.says for claim, one in data.claims.items()}
    surprises = _by_claim((one for one in findings if is_mismatch(one)), {})
    named = {one.claim for one in surprises}
    refuted = _by_claim(
        (one for one in findings if one.verdict is VerdictKind.REFUTED and one.claim not in named), says
    )
    return IncidentAnswer(
        name=name,
        says=shown.says or text.title or name,
        caption=shown.caption,
        columns=columns,
        rows=rows,
        recorded=_between(deployments),
        surprises=tuple(surprises[:SURPRISES_MAX]),
        refuted=tuple(refuted[:SURPRISES_MAX]),
        more_refuted=len(refuted[SURPRISES_MAX:]),
        advice=text.advice,
        arms=tuple(shown.rows.values()),
        commands=(f"mqlab explain {name}", f"mqlab reproduce {name}"),
    )


def _by_claim(findings: Iterable[Finding], says: Mapping[str, str]) -> list[ClaimOnReleases]:
    """One for each claim and status; without the claim's own words the finding's are told."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        found.setdefault((one.claim, one.status), []).append(one)
    return [
        ClaimOnReleases(
            claim=claim,
            status=status,
            says=says.get(claim, of[0].summary),
            releases=tuple(dict.fromkeys(one.release for one in of)),
            known_by=joined(
                "; ", dict.fromkeys(words for one in of for words in (one.reason, left_open(one)) if words)
            ),
        )
        for (claim, status), of in found.items()
    ]


def _seen(shown: Shown, findings: Iterable[Finding]) -> Values:
    found: dict[tuple[str, str, ParameterValue], Median] = {}
    for finding in findings:
        for one in finding.figures:
            if one.name == shown.measure and one.p50 is not None and _fits(shown, one.params):
                median = Median(value=one.p50, unit=one.unit, deployments=0)
                found[finding.release, one.arm, one.params.get(shown.across, "")] = median
    return found


def _recorded(shown: Shown, lines: Iterable[Finding]) -> Values:
    """Where several lines have a figure of a cell, that of the most deployments."""
    found: dict[tuple[str, str, ParameterValue], Median] = {}
    for line in lines:
        for one in line.figures:
            if one.name == shown.measure and one.p50 is not None and _fits(shown, one.params):
                median = Median(value=one.p50, unit=one.unit, deployments=one.deployments or 0)
                key = (line.release, one.arm, one.params.get(shown.across, ""))
                if key not in found or found[key].deployments < median.deployments:
                    found[key] = median
    return found


def _fits(shown: Shown, params: Mapping[str, ParameterValue]) -> bool:
    return all(params.get(name) == value for name, value in shown.where.items() if name != shown.across)


def _table(
    shown: Shown, here: Values, kept: Values, releases: Sequence[str]
) -> tuple[tuple[str, ...], tuple[AnswerRow, ...]]:
    """Columns are the values of ``across``, with a row for each release and label; without it they are the releases."""
    arms = [(label, arm) for label, arm in shown.rows.items() if any(key[1] == arm for key in (*here, *kept))]
    if not shown.across:
        rows = [
            AnswerRow(label=label, cells=_cells([(of, arm, "") for of in releases], here, kept)) for label, arm in arms
        ]
        return tuple(releases), _told(rows)
    values = sorted({key[2] for key in here if key[2] != ""}, key=str if not here else _number)
    rows = [
        AnswerRow(
            label=phrase("{release}, {label}", release=release, label=phrase(label)) if len(arms) > 1 else release,
            cells=_cells([(release, arm, value) for value in values], here, kept),
        )
        for label, arm in arms
        for release in releases
    ]
    return tuple(parameter(shown.across, value).removeprefix("stall ") for value in values), _told(rows)


def _number(value: ParameterValue) -> tuple[float, str]:
    return (float(value), "") if isinstance(value, int | float) else (0.0, str(value))


def _told(rows: Iterable[AnswerRow]) -> tuple[AnswerRow, ...]:
    return tuple(row for row in rows if any(seen or recorded for seen, recorded in row.cells))[:ROWS_MAX]


def _cells(keys: Iterable[tuple[str, str, ParameterValue]], here: Values, kept: Values) -> tuple[tuple[str, str], ...]:
    return tuple((_text(here.get(key)), _text(kept.get(key))) for key in keys)


def _text(median: Median | None) -> str:
    return quantity(median.value, median.unit, short=True) if median else ""


def _between(counts: Sequence[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return str(low) if low == high else phrase("{low} to {high}", low=low, high=high)
