"""What changes for an operator from one release to another: verdicts that differ, and figures that moved.

Made from a ledger alone. A figure has moved when the 95 % intervals of its two medians do not overlap and the medians are
more than a tenth apart; whatever is undecided or missing on one side is listed, so that silence never means "the same".
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.ledger.lines import Figure, LedgerLine
from analysis.verdicts.numbers import cell_label, estimate, number
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.model.verdicts import VerdictKind

MOVED_SHARE = 0.1
"""Medians that are closer than this are the same to an operator, however exactly they are known."""


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
    """A measure's median in one cell. ``factor`` is after over before; None where that has no meaning."""

    measure: str
    arm: str
    cell: str
    before: str
    after: str
    factor: float | None
    claims: tuple[str, ...]


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
        found = [f"from {self.before} to {self.after}: {self.compared} claims are decided on both"]
        found.append("" if self.verdicts else "no verdict differs")
        for one in self.verdicts:
            found += [
                f"{one.claim}: {one.before} -> {one.after} ({one.backend}, {one.injection})  {one.says}",
                f"    {self.before}: {one.truth_before}",
                f"    {self.after}: {one.truth_after}",
            ]
        found += ["", "figures that moved (medians with their 95 % intervals):"]
        for figure in self.figures:
            factor = "" if figure.factor is None else f"  x {number(figure.factor)}"
            cell = f", {figure.cell}" if figure.cell else ""
            found.append(
                f"  {figure.measure} ({figure.arm}{cell}): {figure.before} -> {figure.after}{factor}  "
                f"[{', '.join(figure.claims)}]"
            )
        found += [] if self.figures else ["  none"]
        if self.undecided:
            found.append(f"undecided on one of them: {', '.join(self.undecided)}")
        if self.missing:
            found.append(f"not measured on both: {', '.join(self.missing)}")
        return found


_Entry = tuple[str, str, str]
"""Claim, backend and injection."""

_Figure = tuple[str, str, str]
"""Measure, arm and cell."""


def changes(lines: Sequence[LedgerLine], before: str, after: str) -> Changes:
    """Compare two releases by a ledger's lines. Raises LedgerError for a release that it knows nothing of."""
    known = sorted({line.release for line in lines}, key=natural_key)
    for release in (before, after):
        if release not in known:
            raise LedgerError(
                f"the record has nothing of {release}", advice=f"It has {', '.join(known) or 'no findings at all'}."
            )
    old, new = _of_release(lines, before), _of_release(lines, after)
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


def _of_release(lines: Sequence[LedgerLine], release: str) -> dict[_Entry, LedgerLine]:
    return {(line.claim, line.backend, line.injection): line for line in lines if line.release == release}


def _figures(old: Mapping[_Entry, LedgerLine], new: Mapping[_Entry, LedgerLine]) -> list[FigureChange]:
    """The largest change first; several claims may be judged by one figure, which is told once."""
    found: dict[_Figure, FigureChange] = {}
    for entry, finding in old.items():
        after = {_key(measure): measure for measure in new[entry].figures}
        for measure in finding.figures:
            key = _key(measure)
            if key not in after or not _has_moved(measure, after[key]):
                continue
            change = found.get(key) or FigureChange(
                measure=measure.name,
                arm=measure.arm,
                cell=key[2],
                before=_words(measure),
                after=_words(after[key]),
                factor=_factor(measure, after[key]),
                claims=(),
            )
            found[key] = dataclasses.replace(change, claims=tuple(dict.fromkeys([*change.claims, entry[0]])))
    return sorted(found.values(), key=lambda one: -abs(math.log(one.factor)) if one.factor else -math.inf)


def _key(measure: Figure) -> _Figure:
    return (measure.name, measure.arm, cell_label(measure.params))


def _words(measure: Figure) -> str:
    return estimate(measure.p50, measure.low, measure.high, measure.unit)


def _has_moved(before: Figure, after: Figure) -> bool:
    ends = (before.p50, before.low, before.high, after.p50, after.low, after.high)
    if any(end is None for end in ends):
        return False
    old, old_low, old_high, new, new_low, new_high = (float(end) for end in ends if end is not None)
    apart = new_low > old_high or new_high < old_low
    return apart and abs(new - old) > MOVED_SHARE * max(abs(old), abs(new))


def _factor(before: Figure, after: Figure) -> float | None:
    if not before.p50 or not after.p50 or before.p50 * after.p50 < 0:
        return None
    return after.p50 / before.p50
