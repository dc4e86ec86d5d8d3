"""A claim, from its parts: a control that failed, a part that is refuted, a part that is undecided decide in turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from analysis.verdicts.kinds import judge_part
from analysis.verdicts.sentences import needs
from analysis.verdicts.tries import Tries
from harness.model.findings import PartResult
from harness.model.rules import Claim, Kind, Role
from harness.model.verdicts import Reason, VerdictKind

REFUTED, UNDECIDED, CONFIRMED = VerdictKind.REFUTED, VerdictKind.UNDECIDED, VerdictKind.CONFIRMED

_REASONS = (
    Reason.CHECKER_FAILED,
    Reason.NOT_MEASURABLE,
    Reason.CONTROL_FAILED,
    Reason.NOT_EXERCISED,
    Reason.TOO_NOISY,
    Reason.TOO_MANY_DISCARDED,
    Reason.FRAGILE,
    Reason.UNVERIFIED,
    Reason.DIFFERS,
    Reason.CLOSE,
    Reason.MISSING_EVIDENCE,
    Reason.TOO_FEW_TRIES,
    Reason.TOO_FEW_DEPLOYMENTS,
)
"""Worst first: of several reasons the one is named that more runs mend least."""


def judge(
    claim: Claim, rows: Sequence[Tries], failed: Collection[str] = ()
) -> tuple[tuple[PartResult, ...], VerdictKind, str, str, str]:
    """Parts, verdict, reason, the name of the part that decides, and the finding's sentence.

    ``rows`` are the tries of one release and injection in the order in which they were made, ``failed`` the measures whose
    checker failed.
    """
    parts = tuple(judge_part(part, rows, claim.parts_by_sides, failed) for part in claim.parts)
    verdict, reason, decisive = verdict_of(parts)
    return parts, verdict, reason, decisive, summary(claim, parts, verdict, reason, decisive)


def verdict_of(parts: Sequence[PartResult]) -> tuple[VerdictKind, str, str]:
    """Verdict, reason and the name of the part that decides.

    A control that fails makes the claim undecided, never refuted. A claim is refuted as worded when one of its scopes is.
    """
    failed = [part for part in parts if part.role == Role.CONTROL and part.verdict is REFUTED]
    if failed:
        return UNDECIDED, str(Reason.CONTROL_FAILED), failed[0].name
    refuted = [part for part in parts if part.verdict is REFUTED]
    if refuted:
        # An event refutes for good, however many deployments there are.
        return REFUTED, "", min(refuted, key=lambda part: part.kind != Kind.UNIVERSAL).name
    open_parts = [part for part in parts if part.verdict is UNDECIDED]
    if open_parts or not parts:
        worst = min(open_parts, key=lambda part: _badness(part.reason), default=None)
        return UNDECIDED, worst.reason if worst else str(Reason.NOT_MEASURABLE), worst.name if worst else ""
    return CONFIRMED, "", parts[0].name


def summary(claim: Claim, parts: Sequence[PartResult], verdict: VerdictKind, reason: str, decisive: str) -> str:
    """The finding's sentence: the claim's own with what its parts found, what is lacking, and where it holds."""
    by_name = {part.name: part for part in parts}
    said = re.sub(r"\{([^{}]+)\}", lambda match: _in_sentence(by_name[match[1]]), claim.summary)
    if verdict is UNDECIDED:
        lack = next((words for part in parts if part.name == decisive and (words := needs(part))), "")
        said = f"Undecided ({reason}{f': {lack}' if lack else ''}): {said}"
    if verdict is REFUTED:
        holds = [part.scope for part in parts if part.scope and part.verdict is CONFIRMED]
        told = by_name[decisive]
        if told.words not in said:
            said += f" Refuted by {told.name}{f' at {told.scope}' if told.scope else ''}: {told.words}."
        said += f" It holds at {', '.join(dict.fromkeys(holds))}." if holds else ""
    return said


def _in_sentence(part: PartResult) -> str:
    """In brackets where there is no figure: the sentence was written for one, and would not be read as meant."""
    return part.words if part.estimate is not None else f"[{part.words}]"


def without_lack(said: str) -> str:
    """The finding's sentence without why it is undecided."""
    return re.sub(r"^Undecided \([^)]*\): ", "", said)


def _badness(reason: str) -> int:
    return next((index for index, item in enumerate(_REASONS) if item == reason), len(_REASONS))
