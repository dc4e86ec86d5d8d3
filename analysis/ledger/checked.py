"""What came of a check of a release: each claim that is decided on the release beside it, the same, different, or neither yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.ledger.agreement import Standing, agreements
from analysis.verdicts.claims import without_lack
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind


class Outcome(StrEnum):
    """How a claim stands on the release that is checked."""

    DIFFERENT = "different"
    LOOKS_DIFFERENT = "looks different"
    SAME = "the same"
    """By a verdict of this run."""
    CHECKED = "the same in one cluster"
    """Every part that decides the verdict there was measured, and lies on the same side; no verdict of this run."""
    NOT_SETTLED = "not settled"
    NOT_RUN = "not run"


OPEN = (Outcome.LOOKS_DIFFERENT, Outcome.NOT_SETTLED)
_OF_STANDING = {Standing.AGREES: Outcome.CHECKED, Standing.DIFFERS: Outcome.LOOKS_DIFFERENT}


@dataclass(frozen=True, kw_only=True)
class CheckedClaim:
    """A claim beside what is recorded of it: ``there`` on the reference, ``here`` in this run, ``why`` where nothing is settled."""

    claim: str
    incident: str
    outcome: Outcome
    there: str
    here: str = ""
    why: str = ""
    says: str = ""


def checked(findings: Sequence[Finding], reference: Sequence[Finding]) -> list[CheckedClaim]:
    """Each decided line of the reference beside this run's finding, in the order of the claims.

    ``reference`` are lines of one release, one a claim; ``findings`` those of the release that is checked.
    """
    by_claim = {one.claim: one for one in findings}
    releases = {one.claim: one.release for one in findings}
    as_of_here = [
        dataclasses.replace(line, release=releases[line.claim]) for line in reference if line.claim in releases
    ]
    standings = {one.claim: one for one in agreements(findings, as_of_here)}
    rows = []
    for line in sorted(reference, key=lambda one: natural_key(one.claim)):
        row = CheckedClaim(
            claim=line.claim, incident=line.incident, outcome=Outcome.NOT_RUN, there=_told(line), says=line.says
        )
        finding = by_claim.get(line.claim)
        if finding is not None and finding.trials:
            outcome, why = _by_verdicts(finding, line), ""
            if outcome is None:
                standing = standings[line.claim]
                outcome = _OF_STANDING.get(standing.standing, Outcome.NOT_SETTLED)
                why = standing.words if outcome is not Outcome.CHECKED else ""
            row = dataclasses.replace(row, outcome=outcome, here=_told(finding), why=why)
        rows.append(row)
    return rows


def _by_verdicts(finding: Finding, line: Finding) -> Outcome | None:
    """By the verdicts of both; None where this run has none."""
    if finding.verdict is VerdictKind.UNDECIDED:
        return None
    return Outcome.SAME if finding.verdict is line.verdict else Outcome.DIFFERENT


def _told(finding: Finding) -> str:
    return f"{finding.status}: {without_lack(finding.summary)}"


def lines(rows: Sequence[CheckedClaim], *, release: str, reference: str, same_code: Mapping[str, bool]) -> list[str]:
    """The three lists: different, as there, not settled. ``same_code`` says of a claim whether what it cites is the same code."""
    of = {kind: [one for one in rows if one.outcome is kind] for kind in Outcome}
    not_run = of[Outcome.NOT_RUN]
    by_code = [one for one in not_run if same_code.get(one.claim)]
    left = [one for one in not_run if not same_code.get(one.claim)]
    told = [
        f"{len(rows)} claims are decided on {reference}. On {release}: different {len(of[Outcome.DIFFERENT])}, "
        f"looks different {len(of[Outcome.LOOKS_DIFFERENT])}, as on {reference} {len(of[Outcome.SAME])} by a verdict and "
        f"{len(of[Outcome.CHECKED])} by one cluster, not settled {len(of[Outcome.NOT_SETTLED])}, not run {len(not_run)} "
        f"({len(by_code)} of them of the same code)."
    ]
    for kind, heading in (
        (Outcome.DIFFERENT, f"DIFFERENT ON {release}"),
        (Outcome.LOOKS_DIFFERENT, "LOOKS DIFFERENT, NOT SETTLED"),
    ):
        told += [f"\n{heading}: {len(of[kind])}"] if of[kind] else [f"\n{heading}: none"]
        for one in of[kind]:
            told += [f"  {one.claim}  {one.says}", f"      {release}: {one.here}", f"      {reference}: {one.there}"]
    told += [f"\nAS ON {reference}", f"  by a verdict of this run: {_names(of[Outcome.SAME])}"]
    told += [f"  by one cluster of this run, which is no verdict: {_names(of[Outcome.CHECKED])}"]
    told += ["\nNOT SETTLED"]
    told += [f"  {one.claim}  {one.why or 'nothing of it was measured'}" for one in of[Outcome.NOT_SETTLED]]
    told += [f"  not run, other code: {_names(left)}"]
    told += [f"  not run, the same code, so that it is likely as on {reference}: {_names(by_code)}"]
    return told


def _names(rows: Sequence[CheckedClaim]) -> str:
    return ", ".join(one.claim for one in rows) or "none"
