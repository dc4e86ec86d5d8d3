"""Why the ledger has no line of a claim on a release: what the release lacks, or that it has nothing to cure.

Whatever has no such reason was not run. Nothing of this decides a verdict; it is made from the declared claims and the verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from harness.model.findings import Finding
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind

NOT_RUN = "not run"
NOT_APPLICABLE = "not applicable"

Reasons = Mapping[tuple[str, str], str]
"""By claim and release, of those alone that are not applicable."""

Verdicts = Mapping[tuple[str, str], Collection[VerdictKind]]
"""By claim and release, each injection's."""

PACKAGE = re.compile(r"\b(?:[a-z]\w*\.)+(?=[A-Z])")
"""What stands before a class's own name."""


def not_applicable(lines: Sequence[Finding], scenarios: Iterable[Scenario], releases: Sequence[str]) -> Reasons:
    """Each reason names a class: the one that lacks a setting, or where the code says that the failure is not there.

    A failure counts as absent where it was measured so and the code had led one to expect it. One that nobody measured, or that
    is undecided, may well be there, and its cure is one that was not run. An upgrade to the release that is there has no class.
    """
    every = list(scenarios)
    claims = {claim.id: claim for scenario in every for claim in scenario.claims}
    verdicts: dict[tuple[str, str], set[VerdictKind]] = {}
    for line in lines:
        if line.backend == "local":
            verdicts.setdefault((line.claim, line.release), set()).add(line.verdict)
    return {
        (claim.id, release): reason
        for scenario in every
        for claim in scenario.claims
        for release in releases
        if (claim.id, release) not in verdicts and (reason := _reason(scenario, claim, release, claims, verdicts))
    }


def _reason(scenario: Scenario, claim: Claim, release: str, claims: Mapping[str, Claim], verdicts: Verdicts) -> str:
    if scenario.asks(claim, release):
        return f"an upgrade from {release} to itself is a restart" if scenario.is_restart(claim, release) else ""
    return claim.lacks.get(release) or _nothing_to_cure(claims.get(claim.cure_of), release, verdicts)


def never_run(
    lines: Sequence[Finding], scenarios: Iterable[Scenario], releases: Sequence[str], backend: str = "local"
) -> Iterator[tuple[str, str, str]]:
    """Incident, claim and release of which the ledger has no line, though a run of the incident on the release would measure it."""
    there = {(line.claim, line.release) for line in lines if line.backend == backend}
    for scenario in scenarios:
        for claim in scenario.claims:
            for release in releases:
                asked = scenario.asks(claim, release) and not scenario.is_restart(claim, release)
                if asked and (claim.id, release) not in there:
                    yield scenario.name, claim.id, release


def absence(claim: str, release: str, reasons: Reasons) -> str:
    """What stands in the place of a verdict that is not there."""
    reason = reasons.get((claim, release))
    return f"{NOT_APPLICABLE} ({reason})" if reason else NOT_RUN


def _nothing_to_cure(failure: Claim | None, release: str, verdicts: Verdicts) -> str:
    if failure is None or verdicts.get((failure.id, release)) != {VerdictKind.REFUTED}:
        return ""
    expected = failure.expected.get(release)
    if expected is None or expected.verdict is not VerdictKind.REFUTED:
        return ""
    return f"nothing to cure, {failure.id} is refuted: {PACKAGE.sub('', expected.source)}"
