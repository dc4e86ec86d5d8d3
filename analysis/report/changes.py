"""What changes for an operator from one release to another: verdicts that differ, and figures that moved.

Made from a ledger alone, and of figures only from what verdicts rest on. One by deployments has moved when all deployments of
one release, five at least, lie above all of the other's (by chance once in 126 times); one by tries when the 95 % intervals
of its two rates do not overlap. Either has to move by more than a tenth. Whatever is undecided or missing on one side is
listed, so that silence never means "the same".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.ledger.lines import in_order
from analysis.verdicts.numbers import number
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.language import phrase
from harness.model.findings import Finding, PartResult
from harness.model.verdicts import VerdictKind

MOVED_SHARE = 0.1
"""Figures that are closer than this are the same to an operator, however exactly they are known."""
DEPLOYMENTS_MIN = 5
_BY_DEPLOYMENTS, _BY_TRIES = ("Q", "S", "C"), ("U", "E")
"""Kinds of parts. A fact has no size, and of a law the distance from what it says is judged."""


@dataclass(frozen=True, kw_only=True)
class VerdictChange:
    """A claim that is decided on both releases, differently."""

    claim: str
    backend: str
    injection: str
    says: str
    before: VerdictKind
    after: VerdictKind
    truth_before: str
    truth_after: str


@dataclass(frozen=True, kw_only=True)
class FigureChange:
    """The number of one part of a claim. ``factor`` is after over before; None where that has no meaning."""

    claim: str
    part: str
    backend: str
    injection: str
    before: str
    after: str
    factor: float | None


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Everything between two releases. ``undecided`` and ``missing`` name claims that cannot be compared."""

    before: str
    after: str
    compared: int
    verdicts: tuple[VerdictChange, ...]
    figures: tuple[FigureChange, ...]
    undecided: tuple[str, ...]
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        """For people."""
        found: list[str] = [
            phrase(
                "from {before} to {after}: {count} claims are decided on both",
                before=self.before, after=self.after, count=self.compared,
            )
        ]  # fmt: skip
        found.append("" if self.verdicts else phrase("no verdict differs"))
        for one in self.verdicts:
            found += [
                phrase(
                    "{claim}: {before} -> {after} ({backend}, {injection})  {says}",
                    claim=one.claim, before=phrase(one.before), after=phrase(one.after), backend=one.backend,
                    injection=one.injection, says=phrase(one.says),
                ),
                phrase("    {release}: {words}", release=self.before, words=one.truth_before),
                phrase("    {release}: {words}", release=self.after, words=one.truth_after),
            ]  # fmt: skip
        found += ["", phrase("figures that moved:")]
        for figure in self.figures:
            factor = "" if figure.factor is None else f" (x {number(figure.factor)})"
            found += [
                f"  {figure.claim} {figure.part}{factor} ({figure.backend}, {figure.injection})",
                phrase("    {release}: {words}", release=self.before, words=figure.before),
                phrase("    {release}: {words}", release=self.after, words=figure.after),
            ]
        found += [] if self.figures else [phrase("  none")]
        if self.undecided:
            found.append(phrase("undecided on one of them: {claims}", claims=", ".join(self.undecided)))
        if self.missing:
            found.append(phrase("not measured on both: {claims}", claims=", ".join(self.missing)))
        return found


_Entry = tuple[str, str, str]
"""Claim, backend and injection."""


def changes(lines: Sequence[Finding], before: str, after: str) -> Changes:
    """Compare two releases by a ledger's lines. Raises LedgerError for a release that it knows nothing of."""
    known = sorted({line.release for line in lines}, key=natural_key)
    for release in (before, after):
        if release not in known:
            raise LedgerError(
                f"the record has nothing of {release}", advice=f"It has {', '.join(known) or 'no findings at all'}."
            )
    old, new = of_release(lines, before), of_release(lines, after)
    both = sorted(old.keys() & new.keys(), key=lambda entry: natural_key(" ".join(entry)))
    undecided = [entry for entry in both if VerdictKind.UNDECIDED in (old[entry].verdict, new[entry].verdict)]
    decided = [entry for entry in both if entry not in undecided]
    return Changes(
        before=before,
        after=after,
        compared=len(decided),
        verdicts=tuple(
            VerdictChange(
                claim=entry[0],
                backend=entry[1],
                injection=entry[2],
                says=old[entry].says,
                before=old[entry].verdict,
                after=new[entry].verdict,
                truth_before=old[entry].summary,
                truth_after=new[entry].summary,
            )
            for entry in decided
            if old[entry].verdict != new[entry].verdict
        ),
        figures=tuple(_figures({entry: old[entry] for entry in both}, {entry: new[entry] for entry in both})),
        undecided=tuple(dict.fromkeys(entry[0] for entry in undecided)),
        missing=tuple(
            sorted({entry[0] for entry in old.keys() ^ new.keys()} - {entry[0] for entry in both}, key=natural_key)
        ),
    )


def of_release(lines: Sequence[Finding], release: str) -> dict[_Entry, Finding]:
    """A release's lines by claim, backend and injections, which each line lists in the order of its own trials."""
    return {(line.claim, line.backend, in_order(line.injection)): line for line in lines if line.release == release}


def _figures(old: Mapping[_Entry, Finding], new: Mapping[_Entry, Finding]) -> list[FigureChange]:
    """The largest change first."""
    found = []
    for entry, finding in old.items():
        after = {part.name: part for part in new[entry].parts}
        for part in finding.parts:
            now = after.get(part.name)
            if now is not None and has_moved(part, now):
                found.append(
                    FigureChange(
                        claim=entry[0],
                        part=part.name,
                        backend=entry[1],
                        injection=entry[2],
                        before=part.words,
                        after=now.words,
                        factor=_factor(part, now),
                    )
                )
    return sorted(found, key=lambda one: -abs(math.log(one.factor)) if one.factor else -math.inf)


def has_moved(before: PartResult, after: PartResult) -> bool:
    """Whether the number of a part differs beyond what chance explains, and by more than a tenth."""
    if before.kind != after.kind or before.estimate is None or after.estimate is None:
        return False
    if abs(after.estimate - before.estimate) <= MOVED_SHARE * max(abs(before.estimate), abs(after.estimate)):
        return False
    if before.kind in _BY_DEPLOYMENTS:
        known = min(len(before.values), len(after.values)) >= DEPLOYMENTS_MIN
        return known and (min(after.values) > max(before.values) or max(after.values) < min(before.values))
    ends = (before.low, before.high, after.low, after.high)
    if before.kind not in _BY_TRIES or any(end is None for end in ends):
        return False
    old_low, old_high, new_low, new_high = (float(end) for end in ends if end is not None)
    return new_low > old_high or new_high < old_low


def _factor(before: PartResult, after: PartResult) -> float | None:
    if not before.estimate or not after.estimate or before.estimate * after.estimate < 0:
        return None
    return after.estimate / before.estimate
