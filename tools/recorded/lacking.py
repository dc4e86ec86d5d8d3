"""What an undecided line of the ledger lacks, by the numbers of its parts."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.verdicts.events import clean_tries_needed, tries_needed
from analysis.verdicts.sides import deployments_needed
from harness.model.findings import Finding, PartResult
from harness.model.rules import DEPLOYMENTS_MIN, Kind, Role
from harness.model.verdicts import Reason, VerdictKind

BY_EVENTS = {Kind.UNIVERSAL, Kind.EXISTENCE}
NO_RUN_TELLS = {
    Reason.DIFFERS: "deployments differ: a rule that measures how much, in place of one that takes all or none",
    Reason.CONTROL_FAILED: "a run in which what the experiment rests on holds",
    Reason.MISSING_EVIDENCE: "trials with something to measure it by: none that counts is recorded",
    Reason.NOT_EXERCISED: "trials in which it happens: none is recorded",
    Reason.DAMAGED: "the files that are damaged, as they were: no run tells what they held",
}


def lacking(line: Finding) -> Iterator[tuple[PartResult, str]]:
    """Each part that keeps the line undecided, and what would decide it. None where nothing was measured at all."""
    if not line.trials:
        return
    parts = sum(part.role == Role.CLAIM for part in line.parts)
    for part in line.parts:
        if part.verdict is VerdictKind.UNDECIDED:
            yield part, _lacks(part, parts)
        elif part.role == Role.CONTROL and part.verdict is VerdictKind.REFUTED:
            yield part, NO_RUN_TELLS[Reason.CONTROL_FAILED]


def _lacks(part: PartResult, claim_parts: int) -> str:
    """For one that is undecided."""
    reason, kind = Reason(part.reason), Kind(part.kind)
    tries, deployments = part.tries or 0, part.deployments or 0
    if kind in BY_EVENTS and reason is Reason.UNVERIFIED:
        return f"{_more(_clean_tries(part), 'try', 'tries')} without it, or one that a second record bears out"
    if kind in BY_EVENTS and reason is Reason.TOO_FEW_TRIES:
        needed = tries_needed(part.bound or 1.0) - tries
        return _more(needed, "try", "tries") if needed > 0 else "as many tries of its control"
    if reason is Reason.TOO_FEW_DEPLOYMENTS and kind in DEPLOYMENTS_MIN:
        return _more(DEPLOYMENTS_MIN[kind] - deployments, "deployment", "deployments")
    if reason in (Reason.TOO_FEW_DEPLOYMENTS, Reason.CLOSE) or (
        reason is Reason.DIFFERS and kind not in DEPLOYMENTS_MIN
    ):
        return f"{_more(_on_one_side(part, claim_parts), 'deployment', 'deployments')} on the side of most"
    return NO_RUN_TELLS.get(reason, f"trials that count: {reason}")


def _clean_tries(part: PartResult) -> int:
    tries, seen = part.tries or 0, part.events or 0
    return clean_tries_needed(seen, max(tries, tries_needed(part.bound or 1.0)))


def _on_one_side(part: PartResult, claim_parts: int) -> int:
    """Further deployments that decide it the sooner of the two ways."""
    right, wrong, count = part.right or 0, part.wrong or 0, part.deployments or 0
    confirms = deployments_needed(count - right)
    refutes = deployments_needed(count - wrong, claim_parts)
    return min(confirms, refutes) - count


def _more(count: int, one: str, many: str) -> str:
    """At least one: what is decided from what is recorded would have been."""
    return f"{max(count, 1)} more {one if count <= 1 else many}"
