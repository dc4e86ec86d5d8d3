"""Since which release a verdict is what it is: what bisections have measured at both sides of each boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.ledger.lines import read_values
from analysis.verdicts.order import natural_key
from harness.model.verdicts import VerdictKind

SINCE = "since.jsonl"
BOTH = "both"
RECORDED = "recorded"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What is known of a claim on a release; ``by`` is ``recorded``, or the run's folder."""

    release: str
    verdict: VerdictKind
    says: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """Two neighbours with unlike verdicts, and what differs between them of the code that the claim cites."""

    before: str
    after: str
    differs: tuple[str, ...] = ()


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
        if low <= natural_key(boundary.before) and natural_key(boundary.after) <= high
    }
    return inside.pop() if len(inside) == 1 else ""


def as_told(found: Bisected, edge: Boundary) -> str:
    """The release behind a boundary, with those that may have made the change as well."""
    between = found.between(edge)
    return f"{edge.after}, or {' or '.join(between)}, which cannot be run" if between else edge.after
