"""What a run that is too short for verdicts says all the same: whether what it saw agrees with the record."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.verdicts.claims import without_lack
from analysis.verdicts.evidence import unit_of
from analysis.verdicts.numbers import quantity
from analysis.verdicts.order import natural_key
from analysis.verdicts.support import had_trials
from harness.model.cells import cell_of
from harness.model.findings import Figure, Finding, PartResult
from harness.model.rules import BY_SIDES, Kind, Role
from harness.model.verdicts import Reason, VerdictKind

TOLERANCE = 0.05
"""Beyond the record's own range by so much of its median a figure still agrees: another machine is a little faster or slower."""

UNLIKELY = 0.05

TOLD_MAX = 3
"""So many findings that differ are named in one line; the report has all."""


class Standing(StrEnum):
    """How a claim of the run stands to the record of its release, backend and injection."""

    AGREES = "as recorded"
    UNSEEN = "not looked at in a quick run"
    """A part that decides the recorded verdict was not measured, whatever else was."""
    TOO_FEW = "too few to see it"
    """What the record saw now and then was not seen, which is likely in so few tries."""
    DIFFERS = "differs from the record"
    NOT_COMPARABLE = "not comparable with the record"


NOT_TRIED = "not tried in this run"

MEANINGS: dict[str, str] = {
    Standing.AGREES: "Every part that decides the recorded verdict was measured, and is as recorded. So few deployments give no "
    "verdict of their own.",
    Standing.UNSEEN: "A part that decides the recorded verdict was not measured, as a quick run leaves arms out; a full run looks.",
    Standing.TOO_FEW: "The record saw it now and then, and this run never, which is likely in so few tries; a full run settles it.",
    Standing.DIFFERS: "At least one figure is not as recorded; the claim's sentence has both.",
    Standing.NOT_COMPARABLE: "There is no figure to compare, in this run or in the record; the claim's sentence says why.",
    NOT_TRIED: "No trial of this run counts for the claim: a quick run leaves arms out.",
}


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """``words`` have both figures where they differ, the parts that were not looked at, or why nothing could be compared."""

    claim: str
    release: str
    injection: str
    standing: Standing
    words: str


def agreements(findings: Sequence[Finding], record: Sequence[Finding]) -> list[Agreement]:
    """One for each finding, in the order of the claims."""
    found = [_agreement(one, _line_of(one, record)) for one in findings]
    return sorted(found, key=lambda one: (natural_key(one.claim), natural_key(one.release), one.injection))


def _line_of(finding: Finding, record: Sequence[Finding]) -> Finding | None:
    """Of the same injection, or of the one recorded list of injections that this run made a part of: arms may be left out."""
    of_claim = [
        line
        for line in record
        if (line.claim, line.release, line.backend) == (finding.claim, finding.release, finding.backend)
    ]
    exact = [line for line in of_claim if line.injection == finding.injection]
    made = set(finding.injection.split(", ")) - {"none"}
    wider = [line for line in of_claim if made <= set(line.injection.split(", "))]
    return next(iter(exact), wider[0] if len(wider) == 1 else None)


def tried(findings: Sequence[Finding]) -> list[Finding]:
    """Those that this run had trials of, although noise may have spoiled them: a short run leaves out arms, and so whole claims."""
    return [one for one in findings if _was_tried(one)]


def _was_tried(finding: Finding) -> bool:
    """Whether there were trials, also such as failed or were spoiled."""
    return bool(finding.trials) or finding.reason != Reason.NOT_EXERCISED or had_trials(finding.notes)


def left_out(findings: Sequence[Finding]) -> list[str]:
    """One line that names the others, if there are any."""
    names = sorted({one.claim for one in findings} - {one.claim for one in tried(findings)}, key=natural_key)
    return [f"Not tried, since a quick run leaves their arms out: {', '.join(names)}."] if names else []


def beside_record(findings: Sequence[Finding], record: Sequence[Finding]) -> list[Finding]:
    """The findings as a short run shows them: how each stands to the record, in place of what it lacks for a verdict.

    Those of an incident that is not recorded, such as a user's own, keep their reasons where they were tried.
    """
    recorded = {line.incident for line in record}
    return [_beside(one, record) if one.incident in recorded or not _was_tried(one) else one for one in findings]


def with_recorded_verdicts(findings: Sequence[Finding], record: Sequence[Finding]) -> list[Finding]:
    """Those that ``beside_record`` gave, with the record's verdict where this run's own is none and does not differ from it."""
    return [
        dataclasses.replace(one, verdict=line.verdict)
        if one.verdict is VerdictKind.UNDECIDED and one.reason != Standing.DIFFERS and (line := _line_of(one, record))
        else one
        for one in findings
    ]


def _beside(finding: Finding, record: Sequence[Finding]) -> Finding:
    standing, said = NOT_TRIED, MEANINGS[NOT_TRIED]
    if _was_tried(finding):
        found = _agreement(finding, _line_of(finding, record))
        standing, said = str(found.standing), without_lack(finding.summary)
        said += f" {standing.capitalize()}: {found.words}." if found.words else ""
    parts = tuple(
        dataclasses.replace(part, reason="") if part.reason == Reason.NOT_EXERCISED else part for part in finding.parts
    )
    return dataclasses.replace(finding, reason=standing, summary=said, parts=parts)


def lines(found: Sequence[Agreement]) -> list[str]:
    """How many are as recorded, how many were not looked at or tried too seldom, and each that differs, with its figures."""
    told = [f"{one.claim} {one.release}: {one.words}" for one in found if one.standing is Standing.DIFFERS]
    count = {kind: sum(one.standing is kind for one in found) for kind in Standing}
    others = (Standing.UNSEEN, Standing.TOO_FEW)
    return [
        f"As recorded: {count[Standing.AGREES]} of {len(found)} findings; "
        + "".join(f"{kind}: {count[kind]}; " for kind in others if count[kind])
        + f"differ: {count[Standing.DIFFERS]}; not comparable: {count[Standing.NOT_COMPARABLE]}.",
        *told,
    ]


def first_words(what: str, release: str, found: Sequence[Agreement]) -> str:
    """One line on the findings of one incident on one release."""
    compared = [one for one in found if one.standing in (Standing.AGREES, Standing.DIFFERS)]
    differ = [f"{one.claim} ({one.words})" for one in compared if one.standing is Standing.DIFFERS]
    if not compared:
        return f"nothing of {what} on {release} can be compared with the record"
    if not differ:
        share = (
            f"all {len(found)} findings" if len(compared) == len(found) else f"{len(compared)} of {len(found)} findings"
        )
        return f"{what} on {release} is as recorded in {share}"
    named = [*differ[:TOLD_MAX], *(["..."] if len(differ) > TOLD_MAX else [])]
    return f"{what} on {release} differs from the record in {len(differ)} of {len(found)} findings: {'; '.join(named)}"


def _agreement(finding: Finding, line: Finding | None) -> Agreement:
    def said(standing: Standing, words: str) -> Agreement:
        return Agreement(
            claim=finding.claim, release=finding.release, injection=finding.injection, standing=standing, words=words
        )

    if line is None:
        return said(Standing.NOT_COMPARABLE, "nothing is recorded of it")
    if not finding.trials:
        return said(Standing.NOT_COMPARABLE, f"no trial of it counts ({finding.reason})")
    if finding.reason == Reason.CHECKER_FAILED:
        return said(Standing.NOT_COMPARABLE, "a checker of it failed")
    by_part = list(_parts(finding, line))
    compared = by_part or list(_figures(finding, line))
    if not compared:
        return said(Standing.NOT_COMPARABLE, "the record has no figure of the cells that were tried")
    if differing := [one.words for one in compared if one.standing is Standing.DIFFERS]:
        return said(Standing.DIFFERS, "; ".join(differing))
    if unseen := _unseen(finding, line, {one.name for one in by_part}):
        return said(Standing.UNSEEN, ", ".join(unseen))
    if rare := [one.words for one in compared if one.standing is Standing.TOO_FEW]:
        return said(Standing.TOO_FEW, "; ".join(rare))
    return said(Standing.AGREES, "")


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """A part or a figure beside the record's."""

    name: str
    standing: Standing
    words: str


def _unseen(finding: Finding, line: Finding, compared: Collection[str]) -> list[str]:
    """The parts that decide the recorded verdict and were not measured here.

    Every part of a claim decides that it is confirmed, one that is refuted that it is not; a control decides nothing. Of a rule
    that was another one, what is measured of the claim at all says whether it was looked at.
    """
    if not compared:
        names = [part.name for part in finding.parts if part.role != Role.CONTROL]
        measured = any(part.estimate is not None for part in finding.parts if part.role != Role.CONTROL)
        return [] if measured else names
    deciding = [part for part in line.parts if part.role != Role.CONTROL and part.estimate is not None]
    if line.verdict is VerdictKind.CONFIRMED:
        return [part.name for part in deciding if part.name not in compared]
    refuted = [part for part in deciding if part.verdict is VerdictKind.REFUTED] or deciding
    return [] if any(part.name in compared for part in refuted) else [part.name for part in refuted]


# --- part by part, where the record was judged by the same rule -----------------------------------------------------------


def _parts(finding: Finding, line: Finding) -> Iterator[_Compared]:
    if not line.rule_hash or line.rule_hash != finding.rule_hash:
        return
    recorded = {part.name: part for part in line.parts}
    for part in finding.parts:
        known = recorded.get(part.name)
        if part.estimate is None or known is None or known.estimate is None:
            continue
        by_sides = Standing.AGREES if _same_side(part, known) else Standing.DIFFERS
        yield _Compared(
            name=part.name,
            standing=by_sides if part.kind in BY_SIDES else _as_often(part, known),
            words=f"{part.name}: {part.words}, recorded {quantity(known.estimate, known.unit)}",
        )


def _same_side(part: PartResult, known: PartResult) -> bool:
    if part.estimate is None or known.estimate is None or part.bound is None:
        return False
    here, there = part.estimate - part.bound, known.estimate - part.bound
    return here * there > 0 or min(known.values, default=here) <= part.estimate <= max(known.values, default=here)


def _as_often(part: PartResult, known: PartResult) -> Standing:
    """Seen in both or in neither; what the record saw now and then may well not be seen in a few tries."""
    if part.kind in (Kind.FACT, Kind.JAR):
        return Standing.AGREES if part.estimate == known.estimate else Standing.DIFFERS
    if bool(part.events) == bool(known.events):
        return Standing.AGREES
    is_likely = not part.events and (1 - (known.estimate or 0.0)) ** (part.tries or 0) >= UNLIKELY
    return Standing.TOO_FEW if is_likely else Standing.DIFFERS


# --- figure by figure, where only figures were recorded -------------------------------------------------------------------


def _figures(finding: Finding, line: Finding) -> Iterator[_Compared]:
    recorded = {(one.name, one.arm, cell_of(one.params)): one for one in line.figures}
    for measure in finding.figures:
        known = recorded.get((measure.name, measure.arm, cell_of(measure.params)))
        if known is None or measure.p50 is None or known.p50 is None or known.min is None or known.max is None:
            continue
        standing = Standing.AGREES if _within(measure.p50, known) else Standing.DIFFERS
        yield _Compared(name=measure.name, standing=standing, words=_both(measure, known))


def _within(value: float, known: Figure) -> bool:
    wider = TOLERANCE * abs(known.p50 or 0.0)
    return (known.min or 0.0) - wider <= value <= (known.max or 0.0) + wider


def _both(measure: Figure, known: Figure) -> str:
    unit = unit_of(measure.name)
    here, there = quantity(measure.p50, unit), quantity(known.p50, unit)
    return f"{measure.name} of {measure.arm}: {here}, recorded {there} ({quantity(known.min, unit)} to {quantity(known.max, unit)})"
