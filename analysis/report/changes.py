"""What changes for an operator from one release to another: verdicts that differ, and figures that moved.

Made from a ledger alone. A figure has moved when the 95 % intervals of its two medians do not overlap and the medians are
more than a tenth apart; whatever is undecided or missing on one side is listed, so that silence never means "the same".
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.ledger.ledger import Ledger, LedgerFinding, LedgerMeasure
from analysis.verdicts.numbers import cell_label, estimate, number
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.model.cells import ParameterValue
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


_Way = tuple[str, str, str]
"""Claim, backend and way of injection."""

_Figure = tuple[str, str, str]
"""Measure, arm and cell."""


def changes(ledger: Ledger, before: str, after: str) -> Changes:
    """Compare two releases of a ledger. Raises LedgerError for a release that it knows nothing of."""
    known = sorted({finding.release for finding in ledger.findings}, key=natural_key)
    for release in (before, after):
        if release not in known:
            raise LedgerError(
                f"the record has nothing of {release}", advice=f"It has {', '.join(known) or 'no findings at all'}."
            )
    old, new = _of_release(ledger, before), _of_release(ledger, after)
    both = sorted(old.keys() & new.keys(), key=lambda way: natural_key(" ".join(way)))
    undecided = [way for way in both if VerdictKind.UNDECIDED in (old[way].verdict, new[way].verdict)]
    decided = [way for way in both if way not in undecided]
    return Changes(
        before=before,
        after=after,
        compared=len(decided),
        verdicts=tuple(
            VerdictChange(
                claim=way[0],
                backend=way[1],
                injection=way[2],
                says=ledger.claims[way[0]].says if way[0] in ledger.claims else "",
                before=old[way].verdict,
                after=new[way].verdict,
                truth_before=old[way].summary,
                truth_after=new[way].summary,
            )
            for way in decided
            if old[way].verdict != new[way].verdict
        ),
        figures=tuple(_figures({way: old[way] for way in both}, {way: new[way] for way in both})),
        undecided=tuple(dict.fromkeys(way[0] for way in undecided)),
        missing=tuple(sorted({way[0] for way in old.keys() ^ new.keys()} - {way[0] for way in both}, key=natural_key)),
    )


def _of_release(ledger: Ledger, release: str) -> dict[_Way, LedgerFinding]:
    return {
        (finding.claim, finding.backend, finding.injection): finding
        for finding in ledger.findings
        if finding.release == release
    }


def _figures(old: Mapping[_Way, LedgerFinding], new: Mapping[_Way, LedgerFinding]) -> list[FigureChange]:
    """The largest change first; several claims may be judged by one figure, which is told once."""
    found: dict[_Figure, FigureChange] = {}
    for way, finding in old.items():
        after = {_key(measure): measure for measure in new[way].measures}
        for measure in finding.measures:
            key = _key(measure)
            if key not in after or not _has_moved(measure, after[key]):
                continue
            known = found.get(key)
            if known is not None:
                found[key] = dataclasses.replace(known, claims=tuple(dict.fromkeys([*known.claims, way[0]])))
                continue
            found[key] = FigureChange(
                measure=measure.name,
                arm=measure.arm,
                cell=key[2],
                before=_words(measure),
                after=_words(after[key]),
                factor=_factor(measure, after[key]),
                claims=(way[0],),
            )
    return sorted(found.values(), key=lambda one: -abs(math.log(one.factor)) if one.factor else -math.inf)


def _key(measure: LedgerMeasure) -> _Figure:
    params: Mapping[str, ParameterValue] = measure.params
    return (measure.name, measure.arm, cell_label(params))


def _words(measure: LedgerMeasure) -> str:
    return estimate(measure.p50, measure.low, measure.high, measure.unit)


def _has_moved(before: LedgerMeasure, after: LedgerMeasure) -> bool:
    ends = (before.p50, before.low, before.high, after.p50, after.low, after.high)
    if any(end is None for end in ends):
        return False
    old, old_low, old_high, new, new_low, new_high = (float(end) for end in ends if end is not None)
    apart = new_low > old_high or new_high < old_low
    return apart and abs(new - old) > MOVED_SHARE * max(abs(old), abs(new))


def _factor(before: LedgerMeasure, after: LedgerMeasure) -> float | None:
    if not before.p50 or not after.p50 or before.p50 * after.p50 < 0:
        return None
    return after.p50 / before.p50
