"""A claim, from its parts: a control that failed, a part that is refuted, a part that is undecided decide in turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from analysis.verdicts.anew import sentence_anew
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.sentences import NOT_MEASURED, in_sentence, needs, refuting
from analysis.verdicts.tries import Tries
from harness.model.findings import Finding, PartResult
from harness.model.rules import BY_ITSELF, PLACEHOLDER, Claim, Kind, Part, Role
from harness.model.verdicts import Reason, VerdictKind, scopes_that_hold

REFUTED, UNDECIDED, CONFIRMED = VerdictKind.REFUTED, VerdictKind.UNDECIDED, VerdictKind.CONFIRMED

_REASONS = (
    Reason.CODE_NOT_RUN,
    Reason.DAMAGED,
    Reason.CHECKER_FAILED,
    Reason.NOT_MEASURABLE,
    Reason.CONTROL_FAILED,
    Reason.NOT_EXERCISED,
    Reason.TOO_NOISY,
    Reason.TOO_MANY_DISCARDED,
    Reason.FRAGILE,
    Reason.UNVERIFIED,
    Reason.UNPROVED,
    Reason.DIFFERS,
    Reason.CLOSE,
    Reason.MISSING_EVIDENCE,
    Reason.TOO_FEW_TRIES,
    Reason.TOO_FEW_DEPLOYMENTS,
)
"""Worst first: of several reasons the one is named that more runs mend least."""


def judge(
    claim: Claim,
    tries: Sequence[Tries] | Mapping[str, Sequence[Tries]],
    failed: Collection[str] = (),
    release: str = "",
) -> Finding:
    """What tries show of a claim, whether they are those of a run or all that is recorded.

    ``tries`` are those of one release and injection in the order in which they were made, by the part's hash where the parts do not
    all have the same ones; ``failed`` are the measures whose checker failed. Whoever asks knows the rest: where and how the tries
    were made, how far they carry, and the lines that show it.
    """

    def rows(part: Part) -> Sequence[Tries]:
        return tries[part.hash()] if isinstance(tries, Mapping) else tries

    parts = tuple(judge_part(part, rows(part), claim.parts_by_sides, failed) for part in claim.parts)
    beside = [judge_part(part, rows(part), failed=failed) for part in claim.beside]
    verdict, reason, decisive = verdict_of(parts)
    expected = claim.expected.get(release)
    return Finding(
        claim=claim.id,
        incident="",
        article=claim.article,
        says=claim.says,
        release=release,
        backend="",
        injection="",
        client="",
        verdict=verdict,
        reason=reason,
        summary=summary(claim, parts, verdict, reason, decisive, beside),
        expected=expected.verdict if expected else None,
        expected_from_code=f"{expected.because} ({expected.source})" if expected else "",
        rule_hash=claim.rule_hash(),
        parts=parts,
    )


def verdict_of(parts: Sequence[PartResult]) -> tuple[VerdictKind, str, str]:
    """Verdict, reason and the name of the part that decides.

    A control that fails, or that lost its evidence, makes the claim undecided, never refuted. A claim is refuted as worded when one
    of its scopes is.
    """
    lost = [part for part in parts if part.role == Role.CONTROL and part.reason == Reason.DAMAGED]
    if lost:
        return UNDECIDED, str(Reason.DAMAGED), lost[0].name
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


def summary(
    claim: Claim,
    parts: Sequence[PartResult],
    verdict: VerdictKind,
    reason: str,
    decisive: str,
    beside: Sequence[PartResult] = (),
) -> str:
    """The finding's sentence: the claim's own with what its parts found, what is lacking, and where it holds."""
    by_name = {part.name: part for part in (*parts, *beside)}
    if by_name and all(part.kind == Kind.THIS_RUN for part in by_name.values()):
        return "; ".join(part.words for part in parts)
    told = {name for _, name in PLACEHOLDER.findall(claim.summary)}
    said = PLACEHOLDER.sub(lambda match: _in_place(match, by_name[match[2]]), claim.summary)
    if told and all(by_name[name].words == NOT_MEASURED for name in told):
        said = "Nothing of it was measured."
    if verdict is UNDECIDED:
        lack = next((words for part in parts if part.name == decisive and (words := needs(part))), "")
        said = f"Undecided ({reason}{f': {lack}' if lack else ''}): {said}"
    if verdict is REFUTED:
        holds = scopes_that_hold(parts)
        if decisive not in told:
            said += f" What refutes it: {refuting(by_name[decisive])}."
        said += f" It holds in th{'ese scopes' if len(holds) > 1 else 'is scope'}: {'; '.join(holds)}." if holds else ""
    return said


def sentence_with(claim: Claim, name: str, parts: Mapping[str, PartResult]) -> str:
    """Of the claim's own sentences the one that tells of a part, with what was found; empty where none does so in words."""
    for sentence in re.split(r"(?<=\.) ", claim.summary):
        placeholders = PLACEHOLDER.findall(sentence)
        told = {found for _, found in placeholders}
        if name in told and told <= parts.keys() and (BY_ITSELF, name) not in placeholders:
            said = PLACEHOLDER.sub(lambda match: _in_place(match, parts[match[2]]), sentence)
            return sentence_anew(claim.summary, name, said, _in_places(claim, parts))
    return ""


def _in_places(claim: Claim, parts: Mapping[str, PartResult]) -> dict[str, str]:
    """What stands in the places of the claim's summary, as far as these parts say it."""
    places = PLACEHOLDER.findall(claim.summary)
    return {form + name: in_sentence(parts[name], form) for form, name in places if name in parts}


def _in_place(match: re.Match[str], part: PartResult) -> str:
    """What stands there, with a capital where a sentence begins."""
    words = in_sentence(part, match[1])
    begins = match.start() == 0 or match.string[: match.start()].endswith(". ")
    return words[0].upper() + words[1:] if begins else words


def without_lack(said: str) -> str:
    """The finding's sentence without why it is undecided."""
    return re.sub(r"^Undecided \([^)]*\): ", "", said)


def _badness(reason: str) -> int:
    return next((index for index, item in enumerate(_REASONS) if item == reason), len(_REASONS))
