"""What a reader is to do with a run: the page's first sentences, each with the claims that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from analysis.ledger.agreement import NOT_TRIED, Agreement, Standing
from analysis.report.document import ReportData
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import is_mismatch
from harness.language import joined, phrase
from harness.model.findings import Finding
from harness.model.verdicts import Reason, VerdictKind


@dataclass(frozen=True, kw_only=True)
class Todo:
    """``says`` ends in the claims, if there are any; ``command`` is what to type, or empty."""

    says: str
    claims: tuple[str, ...] = ()
    command: str = ""


def was_tried(finding: Finding) -> bool:
    """False where a run has nothing that the claim could be judged by: mostly an arm that a short run leaves out."""
    if finding.reason == NOT_TRIED:
        return False
    return finding.verdict is not VerdictKind.UNDECIDED or finding.reason != Reason.NOT_EXERCISED


def todos(data: ReportData, compared: Sequence[Agreement] = ()) -> tuple[Todo, ...]:
    """The most urgent first. ``compared`` is how a short run stands to the record."""
    return (*_standing(compared), *_todos(data))


def _standing(compared: Sequence[Agreement]) -> Iterator[Todo]:
    differ = {one.claim for one in compared if one.standing is Standing.DIFFERS}
    agree = sum(one.standing is Standing.AGREES for one in compared)
    if differ:
        says = phrase("What this run saw is not what the record has, on this machine or with these settings:")
        yield Todo(says=says, claims=tuple(sorted(differ, key=natural_key)))
    elif agree:
        others = (
            phrase(", {count} {what}", count=count, what=words)
            for kind, words in (
                (Standing.UNSEEN, phrase("have a deciding part that a quick run skips")),
                (Standing.TOO_FEW, phrase(Standing.TOO_FEW)),
            )
            if (count := sum(one.standing is kind for one in compared))
        )
        yield Todo(
            says=phrase(
                "Nothing differs from the record: {count} of the {tried} findings that were tried are as recorded{others}.",
                count=agree,
                tried=len(compared),
                others=joined("", others),
            )
        )


def _todos(data: ReportData) -> Iterator[Todo]:
    if data.manifest.status != "complete":
        yield Todo(says=phrase("The run is not complete: go on with it."), command="mqlab verify --resume RUN_DIR")
    findings = data.findings
    if refuted := _claims(findings, lambda one: one.status == VerdictKind.REFUTED):
        yield Todo(says=phrase("Do not rest on what is refuted on your release:"), claims=refuted)
    if differing := tuple(sorted(differs_between_releases(findings), key=natural_key)):
        yield Todo(says=phrase("Before an upgrade, read what differs between releases:"), claims=differing)
    if unlike := _claims(findings, is_mismatch):
        says = phrase("What the release's code had led us to expect otherwise deserves a second look:")
        yield Todo(says=says, claims=unlike)
    undecided = _claims(findings, lambda one: one.verdict is VerdictKind.UNDECIDED and was_tried(one))
    if undecided and data.manifest.budget == "quick":
        yield Todo(
            says=phrase(
                "{count} claims were tried too seldom for a verdict, as in any quick run; a full run decides them.",
                count=len(undecided),
            ),
            command=f"mqlab verify {' '.join(data.manifest.incidents)}",
        )
    elif undecided:
        says = phrase("Undecided is not a pass; the reason says what would decide these:")
        yield Todo(says=says, claims=undecided)
    if not refuted and not undecided and findings:
        yield Todo(says=phrase("Nothing was refuted. Look below for how far each verdict carries."))


def differs_between_releases(findings: Sequence[Finding]) -> set[str]:
    """The claims that are confirmed on one release and refuted on another, by the same injection and backend."""
    verdicts: dict[tuple[str, str, str], set[VerdictKind]] = {}
    for one in findings:
        if one.verdict is not VerdictKind.UNDECIDED:
            verdicts.setdefault((one.claim, one.backend, one.injection), set()).add(one.verdict)
    return {claim for (claim, _, _), found in verdicts.items() if len(found) > 1}


def _claims(findings: Sequence[Finding], of: Callable[[Finding], bool]) -> tuple[str, ...]:
    return tuple(sorted({one.claim for one in findings if of(one)}, key=natural_key))
