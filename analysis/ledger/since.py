"""Since which release a verdict is what it is: what bisections have measured at both sides of each boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.ledger.lines import read_values
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding
from harness.model.rules import Kind, Role
from harness.model.verdicts import VerdictKind

SINCE = "since.jsonl"
CHANCE_MAX = 0.05
BOTH = "both"
RECORDED = "recorded"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What is known of a claim on a release; ``by`` is ``recorded``, or the run's folder.

    ``counts`` are of a claim that events alone decide: by part how many were seen, of how many tries.
    """

    release: str
    verdict: VerdictKind
    says: str
    by: str
    counts: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """Two neighbours with unlike verdicts, and what differs between them of the code that the claim cites."""

    before: str
    after: str
    differs: tuple[str, ...] = ()
    chance: float | None = None
    """How likely two releases of one rate differ by as much as these counts do; none where no count decides."""

    @property
    def may_be_chance(self) -> bool:
        """Whether it is no boundary by its counts: one release may have had bad luck, or the other good luck."""
        return self.chance is not None and self.chance > CHANCE_MAX


@dataclass(frozen=True, kw_only=True)
class Bisected:
    """What came of a bisection: the releases that were measured, oldest first, and each boundary.

    ``moves`` says whose release moves, ``both``, ``client`` or ``broker``, and ``held`` is the other one's; ``not_measured`` are
    releases between two of the same cited code and verdict, and ``left_out`` those that cannot be run, by their reasons.
    """

    claim: str
    moves: str
    releases: tuple[Measured, ...]
    boundaries: tuple[Boundary, ...]
    not_measured: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    rule_hash: str = ""
    """Of the claim's rule, by which the verdicts were made."""
    held: str = ""

    def between(self, edge: Boundary) -> tuple[str, ...]:
        """The releases at a boundary that could not be run: one of them may have made the change."""
        low, high = natural_key(edge.before), natural_key(edge.after)
        names = (release for release, _ in self.left_out)
        return tuple(sorted((one for one in names if low < natural_key(one) < high), key=natural_key))


def counts_of(finding: Finding) -> tuple[tuple[str, int, int], ...]:
    """What ``Measured.counts`` are: empty where anything but events has a part in the verdict."""
    deciding = [part for part in finding.parts if part.role == Role.CLAIM]
    if any(part.kind not in (Kind.UNIVERSAL, Kind.EXISTENCE) for part in deciding):
        return ()
    return tuple((part.name, part.events or 0, part.tries) for part in deciding if part.tries)


def chance_of(before: Measured, after: Measured) -> float | None:
    """The smallest p of Fisher's exact test, of two sides, over the parts that both counted, times their number."""
    there = {name: (seen, tries) for name, seen, tries in before.counts}
    # It takes a second to import, and is none of the packages that answers need.
    from scipy.stats import fisher_exact

    found = []
    for name, seen, tries in after.counts:
        if name in there:
            before_seen, before_tries = there[name]
            table = [[before_seen, before_tries - before_seen], [seen, tries - seen]]
            found.append(float(fisher_exact(table).pvalue))
    return min(1.0, min(found) * len(found)) if found else None


def load_since(path: Path) -> tuple[Bisected, ...]:
    """Those of a file, none where there is none. Raises LedgerError."""
    return tuple(read_values(path, Bisected)) if path.exists() else ()


def since(found: Sequence[Bisected], claim: str, before: str, after: str) -> str:
    """With which release a claim's verdict changed between two others; empty where none was measured, or more than one did."""
    low, high = natural_key(before), natural_key(after)
    inside = {
        as_told(one, boundary)
        for one in found
        if (one.claim, one.moves) == (claim, BOTH)
        for boundary in one.boundaries
        if low <= natural_key(boundary.before) and natural_key(boundary.after) <= high and not boundary.may_be_chance
    }
    return inside.pop() if len(inside) == 1 else ""


def as_told(found: Bisected, edge: Boundary) -> str:
    """The release behind a boundary, with those that may have made the change as well."""
    between = found.between(edge)
    return f"{edge.after}, or {' or '.join(between)}, which cannot be run" if between else edge.after
