"""What a run that is too short for verdicts says all the same: whether what it saw agrees with the record."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.ledger.lines import Figure, LedgerLine, LedgerPart
from analysis.verdicts.claims import without_lack
from analysis.verdicts.evidence import cell_of, unit_of
from analysis.verdicts.numbers import quantity
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding, MeasureSummary, PartResult
from harness.model.rules import BY_SIDES, Kind
from harness.model.verdicts import Reason

TOLERANCE = 0.05
"""Beyond the record's own range by so much of its median a figure still agrees: another machine is a little faster or slower."""

UNLIKELY = 0.05

TOLD_MAX = 3
"""So many findings that differ are named in one line; the report has all."""


class Standing(StrEnum):
    """How a claim of the run stands to the record of its release, backend and injection."""

    AGREES = "agrees with the record"
    DIFFERS = "differs from the record"
    NOT_COMPARABLE = "not comparable with the record"


NOT_TRIED = "not tried in this run"

MEANINGS: dict[str, str] = {
    Standing.AGREES: "What this run saw is what the record has. So few deployments give no verdict of their own.",
    Standing.DIFFERS: "At least one figure is not as recorded; the claim's sentence has both.",
    Standing.NOT_COMPARABLE: "There is no figure to compare, in this run or in the record; the claim's sentence says why.",
    NOT_TRIED: "No trial of this run counts for the claim: a quick run leaves arms out.",
}


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """``words`` have both figures where they differ, or why nothing could be compared."""

    claim: str
    release: str
    injection: str
    standing: Standing
    words: str


def agreements(findings: Sequence[Finding], record: Sequence[LedgerLine]) -> list[Agreement]:
    """One for each finding, in the order of the claims."""
    found = [_agreement(one, _line_of(one, record)) for one in findings]
    return sorted(found, key=lambda one: (natural_key(one.claim), natural_key(one.release), one.injection))


def _line_of(finding: Finding, record: Sequence[LedgerLine]) -> LedgerLine | None:
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
    return bool(finding.trials) or finding.reason != Reason.NOT_EXERCISED


def left_out(findings: Sequence[Finding]) -> list[str]:
    """One line that names the others, if there are any."""
    names = sorted({one.claim for one in findings} - {one.claim for one in tried(findings)}, key=natural_key)
    return [f"Not tried, since a quick run leaves their arms out: {', '.join(names)}."] if names else []


def beside_record(findings: Sequence[Finding], record: Sequence[LedgerLine]) -> list[Finding]:
    """The findings as a short run shows them: how each stands to the record, in place of what it lacks for a verdict.

    Those of an incident that is not recorded, such as a user's own, keep their reasons where they were tried.
    """
    recorded = {line.incident for line in record}
    return [_beside(one, record) if one.incident in recorded or not _was_tried(one) else one for one in findings]


def _beside(finding: Finding, record: Sequence[LedgerLine]) -> Finding:
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
    """How many agree, and each that does not, with its figures."""
    agree, differ, other = (sum(one.standing is kind for one in found) for kind in Standing)
    told = [f"{one.claim} {one.release}: {one.words}" for one in found if one.standing is Standing.DIFFERS]
    return [
        f"Agree with the record: {agree} of {len(found)} findings; differ: {differ}; not comparable: {other}.",
        *told,
    ]


def first_words(what: str, release: str, found: Sequence[Agreement]) -> str:
    """One line on the findings of one incident on one release."""
    compared = [one for one in found if one.standing is not Standing.NOT_COMPARABLE]
    differ = [f"{one.claim} ({one.words})" for one in compared if one.standing is Standing.DIFFERS]
    if not compared:
        return f"nothing of {what} on {release} can be compared with the record"
    if not differ:
        share = (
            f"all {len(found)} findings" if len(compared) == len(found) else f"{len(compared)} of {len(found)} findings"
        )
        return f"{what} on {release} agrees with the record in {share}"
    named = [*differ[:TOLD_MAX], *(["..."] if len(differ) > TOLD_MAX else [])]
    return f"{what} on {release} differs from the record in {len(differ)} of {len(found)} findings: {'; '.join(named)}"


def _agreement(finding: Finding, line: LedgerLine | None) -> Agreement:
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
    compared = list(_parts(finding, line)) or list(_figures(finding, line))
    if not compared:
        return said(Standing.NOT_COMPARABLE, "the record has no figure of the cells that were tried")
    differing = [words for agrees, words in compared if not agrees]
    return said(Standing.DIFFERS, "; ".join(differing)) if differing else said(Standing.AGREES, "")


# --- part by part, where the record was judged by the same rule -----------------------------------------------------------


def _parts(finding: Finding, line: LedgerLine) -> Iterator[tuple[bool, str]]:
    if not line.rule_hash or line.rule_hash != finding.rule_hash:
        return
    recorded = {part.name: part for part in line.parts}
    for part in finding.parts:
        known = recorded.get(part.name)
        if part.estimate is None or known is None or known.estimate is None:
            continue
        agrees = _same_side(part, known) if part.kind in BY_SIDES else _as_often(part, known)
        yield agrees, f"{part.name}: {part.words}, recorded {quantity(known.estimate, known.unit)}"


def _same_side(part: PartResult, known: LedgerPart) -> bool:
    if part.estimate is None or known.estimate is None:
        return False
    here, there = part.estimate - part.bound, known.estimate - part.bound
    return here * there > 0 or min(known.values, default=here) <= part.estimate <= max(known.values, default=here)


def _as_often(part: PartResult, known: LedgerPart) -> bool:
    """Seen in both or in neither; what the record saw now and then may well not be seen in a few tries."""
    if part.kind in (Kind.FACT, Kind.JAR):
        return part.estimate == known.estimate
    if bool(part.events) == bool(known.events):
        return True
    return not part.events and (1 - (known.estimate or 0.0)) ** part.tries >= UNLIKELY


# --- figure by figure, where only figures were recorded -------------------------------------------------------------------


def _figures(finding: Finding, line: LedgerLine) -> Iterator[tuple[bool, str]]:
    recorded = {(one.name, one.arm, cell_of(one.params)): one for one in line.figures}
    for measure in finding.measures:
        known = recorded.get((measure.name, measure.arm, cell_of(measure.params)))
        if known is None or measure.p50 is None or known.p50 is None or known.min is None or known.max is None:
            continue
        yield _within(measure.p50, known), _both(measure, known)


def _within(value: float, known: Figure) -> bool:
    wider = TOLERANCE * abs(known.p50 or 0.0)
    return (known.min or 0.0) - wider <= value <= (known.max or 0.0) + wider


def _both(measure: MeasureSummary, known: Figure) -> str:
    unit = unit_of(measure.name)
    here, there = quantity(measure.p50, unit), quantity(known.p50, unit)
    return f"{measure.name} of {measure.arm}: {here}, recorded {there} ({quantity(known.min, unit)} to {quantity(known.max, unit)})"
