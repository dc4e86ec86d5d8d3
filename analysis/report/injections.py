"""Incidents whose faults were made by several injections: both are shown wherever a release is, and where they differ is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from analysis.report.document import Distribution, ReportData, Series
from analysis.verdicts.numbers import estimate
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding, PartResult

_OfRelease = TypeVar("_OfRelease", Finding, Series, Distribution)


def told_apart(findings: Iterable[Finding]) -> frozenset[str]:
    """The incidents of which a claim has findings of more than one injection in one release."""
    by_cell: dict[tuple[str, str, str, str], set[str]] = {}
    for finding in findings:
        cell = (finding.incident, finding.claim, finding.release, finding.backend)
        by_cell.setdefault(cell, set()).add(finding.injection)
    return frozenset(incident for (incident, *_), made in by_cell.items() if len(made) > 1)


def claim_name(finding: Finding, apart: frozenset[str]) -> str:
    """``BUSY-09``, or ``BUSY-09 (freeze)`` where its incident was made by several injections."""
    return f"{finding.claim} ({finding.injection})" if finding.incident in apart else finding.claim


def by_injection(data: ReportData) -> ReportData:
    """The data with the injection beside the release (``4.6.0 freeze``), for incidents that were made by several injections.

    So both become neighbours in every table and figure that has releases.
    """
    apart = told_apart(data.findings)

    def told(items: Iterable[_OfRelease]) -> tuple[_OfRelease, ...]:
        return tuple(
            dataclasses.replace(item, release=f"{item.release} {item.injection}") if item.incident in apart else item
            for item in items
        )

    trials = tuple(
        dataclasses.replace(one, release=f"{one.release} {one.chosen_injection}") if one.incident in apart else one
        for one in data.trials
    )
    return dataclasses.replace(
        data,
        findings=told(data.findings),
        trials=trials,
        series=told(data.series),
        distributions=told(data.distributions),
    )


def differences(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where the injections of one claim differ, a sentence each; one that says so where they agree; none of one only.

    They differ in a release when their verdicts do, or when a part's intervals have nothing in common.
    """
    by_release: dict[str, list[Finding]] = {}
    for finding in findings:
        by_release.setdefault(finding.release, []).append(finding)
    compared = {release: made for release, made in by_release.items() if len(made) > 1}
    if not compared:
        return ()
    told = [
        sentence
        for release in sorted(compared, key=natural_key)
        for sentence in (*_verdicts(release, compared[release]), *_parts(release, compared[release]))
    ]
    names = " and ".join(dict.fromkeys(finding.injection for made in compared.values() for finding in made))
    return tuple(told) or (f"{names} give the same verdicts, and no part's intervals lie apart.",)


def _verdicts(release: str, findings: Sequence[Finding]) -> list[str]:
    if len({finding.verdict for finding in findings}) == 1:
        return []
    said = [
        f"{finding.status}{f' ({finding.reason})' if finding.reason else ''} by {finding.injection}"
        for finding in findings
    ]
    return [f"On {release} the verdicts differ: {', '.join(said)}."]


def _parts(release: str, findings: Sequence[Finding]) -> list[str]:
    by_name: dict[str, dict[str, PartResult]] = {}
    for finding in findings:
        for part in finding.parts:
            by_name.setdefault(part.name, {})[finding.injection] = part
    return [_numbers(release, name, parts) for name, parts in by_name.items() if _lie_apart(list(parts.values()))]


def _numbers(release: str, name: str, parts: Mapping[str, PartResult]) -> str:
    said = [f"{estimate(part.estimate, part.low, part.high, part.unit)} by {name}" for name, part in parts.items()]
    return f"On {release} the numbers differ for {name}: {', '.join(said)}."


def _lie_apart(parts: Sequence[PartResult]) -> bool:
    spans = [(part.low, part.high) for part in parts if part.low is not None and part.high is not None]
    return len(spans) > 1 and max(low for low, _ in spans) > min(high for _, high in spans)
