"""Verdicts, reasons and arms in words, the same in page, ledger, JUnit and terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from analysis.verdicts.order import natural_key
from harness.language import joined, phrase
from harness.model.findings import Finding
from harness.model.verdicts import HOLDS_IN_PART, REFUTED_IN_PART, Reason, VerdictKind

SYMBOLS = {
    VerdictKind.CONFIRMED: "\N{CHECK MARK}",
    VerdictKind.REFUTED: "\N{MULTIPLICATION X}",
    VerdictKind.UNDECIDED: "?",
}

STANDINGS: Mapping[str, str] = {
    VerdictKind.CONFIRMED: "holds",
    VerdictKind.REFUTED: "does not hold",
    VerdictKind.UNDECIDED: "is not settled",
    REFUTED_IN_PART: "does not hold where it is settled",
}
"""How a verdict is spoken of."""

NO_EXPECTATION = "no expectation"
"""Beside a verdict of a release for which the claim states none."""

VERDICT_MEANINGS = {
    VerdictKind.CONFIRMED: (
        "Every part of the claim's decision rule holds, in as many deployments or tries as its kind takes, in this release, "
        "on this machine and under these settings."
    ),
    VerdictKind.REFUTED: (
        "At least one part does not hold: by a verified counterexample, or in as many deployments as its kind takes. The bound "
        "and the reading were committed before the run; a different reading may come to a different verdict."
    ),
    VerdictKind.UNDECIDED: "The run cannot tell. This is never counted as a pass; the reason says what was missing.",
}

REASON_MEANINGS = {
    Reason.NOT_EXERCISED: "The fault did not take effect, or what the claim is about never happened in this run.",
    Reason.TOO_NOISY: "The machine was too uneven for the trials to count, even after repetition.",
    Reason.MISSING_EVIDENCE: "Valid trials, but no observation of what the rule measures.",
    Reason.CHECKER_FAILED: "The analysis itself failed on this measure: a defect of the lab, not of RocketMQ.",
    Reason.NOT_MEASURABLE: "The statement has no measurable consequence here.",
    Reason.TOO_FEW_DEPLOYMENTS: "Fewer clusters than a verdict takes; another run adds to them.",
    Reason.TOO_FEW_TRIES: "Fewer tries than it takes to call something that was not seen rare.",
    Reason.DIFFERS: "The deployments lie on both sides of the bound: there is no one answer.",
    Reason.CLOSE: "A verdict takes five deployments on one side of the bound, and four more for each that is not.",
    Reason.UNVERIFIED: "Something was seen that must not happen, by one record alone, and not often enough disproved.",
    Reason.UNPROVED: "It was seen, by one record alone; that something happens takes two that do not depend on each other.",
    Reason.CONTROL_FAILED: "What had to hold for the experiment to mean anything did not hold.",
    Reason.TOO_MANY_DISCARDED: "More than a fifth of an arm's trials do not count.",
    Reason.FRAGILE: "A trial that does not count would change the verdict.",
    Reason.DAMAGED: "A file that it rests on is missing, cut or changed: what it held may speak for or against the claim.",
    Reason.CODE_NOT_RUN: "An incident's file came with the run, and nobody answered for its code: `runs analyze` has --trust.",
}


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many findings came out which way. ``mismatches`` are decided ones that differ from their expectation.

    ``no_expectation`` are those, decided or not, that have none. ``in_part`` hold in some of their scopes alone, and
    ``refuted_in_part`` do not, while others are not settled; neither are any of the ``refuted``.
    """

    findings: int
    confirmed: int
    refuted: int
    in_part: int
    refuted_in_part: int
    undecided: int
    mismatches: int
    no_expectation: int


class Judged(Protocol):
    """A verdict with its expectation: a run's finding, or a line of the ledger."""

    @property
    def verdict(self) -> VerdictKind:
        """What was found."""
        ...

    @property
    def expected(self) -> VerdictKind | None:
        """None where nothing is expected."""
        ...


def spoken(status: str) -> str:
    """A finding's status as people read it: holds, holds in part, does not hold, not settled."""
    return STANDINGS.get(status, status).removeprefix("is ")


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return joined(" and ", filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def is_mismatch(finding: Judged) -> bool:
    """True when the verdict is decided and is not the one that the committed expectation names."""
    if finding.expected is None or finding.verdict is VerdictKind.UNDECIDED:
        return False
    return finding.verdict is not finding.expected


def expectation(finding: Judged) -> str:
    """The verdict that the release's code leads one to expect, or that none is stated."""
    return NO_EXPECTATION if finding.expected is None else str(finding.expected)


def unlike(finding: Judged) -> str:
    """``expected confirmed`` where the verdict differs from it, ``no expectation`` where there is none, else empty."""
    if finding.expected is None:
        return NO_EXPECTATION
    return f"expected {finding.expected}" if is_mismatch(finding) else ""


def verdict_words(finding: Finding) -> str:
    """``confirmed``, ``undecided (too noisy)``; ``refuted, expected confirmed`` where the two differ, and what is left open."""
    words = finding.status
    if finding.reason:
        words += f" ({finding.reason})"
    for beside in filter(None, (left_open(finding), unlike(finding))):
        words += f", {beside}"
    return words


def left_open(finding: Finding) -> str:
    """``not settled where synchronous (evidence damaged)`` of a claim that is refuted elsewhere; else empty."""
    return phrase("not settled where {scopes}", scopes=listed(finding.not_settled)) if finding.not_settled else ""


def tally(findings: Iterable[Finding]) -> Tally:
    """Count findings by verdict."""
    listed = list(findings)
    count = Counter(finding.status for finding in listed)
    return Tally(
        findings=len(listed),
        confirmed=count[VerdictKind.CONFIRMED],
        refuted=count[VerdictKind.REFUTED],
        in_part=count[HOLDS_IN_PART],
        refuted_in_part=count[REFUTED_IN_PART],
        undecided=count[VerdictKind.UNDECIDED],
        mismatches=sum(map(is_mismatch, listed)),
        no_expectation=sum(finding.expected is None for finding in listed),
    )


def tally_words(counted: Tally) -> str:
    """``12 findings: 9 confirmed, 2 refuted, 1 undecided; 1 differs from its expectation``."""
    if not counted.findings:
        return "no findings"
    noun = "finding" if counted.findings == 1 else "findings"
    in_part = f"{counted.in_part} {'holds' if counted.in_part == 1 else 'hold'} in part, " if counted.in_part else ""
    in_part += f"{counted.refuted_in_part} refuted in part, " if counted.refuted_in_part else ""
    words = (
        f"{counted.findings} {noun}: {counted.confirmed} confirmed, {in_part}{counted.refuted} refuted, "
        f"{counted.undecided} undecided"
    )
    if counted.mismatches:
        words += f"; {counted.mismatches} {'differs' if counted.mismatches == 1 else 'differ'} from the expectation"
    if counted.no_expectation:
        words += f"; {counted.no_expectation} with no expectation"
    return words


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """By incident, claim, release, backend and injection; numbers inside names count by their value."""
    return sorted(
        findings,
        key=lambda finding: (
            finding.incident,
            natural_key(finding.claim),
            natural_key(finding.release),
            finding.backend,
            finding.injection,
        ),
    )


def releases_of(findings: Sequence[Finding]) -> list[str]:
    """The releases that findings are about, oldest first."""
    return sorted({finding.release for finding in findings}, key=natural_key)
