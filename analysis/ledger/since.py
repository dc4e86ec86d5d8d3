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

    ``moves`` says whose release moves, ``both``, ``client`` or ``broker``; ``not_measured`` are releases between two of the same
    cited code and verdict, and ``left_out`` those that cannot be run, by their reasons.
    """

    claim: str
    moves: str
    releases: tuple[Measured, ...]
    boundaries: tuple[Boundary, ...]
    not_measured: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    rule_hash: str = ""
    """Of the claim's rule, by which the verdicts were made."""


def load_since(path: Path) -> tuple[Bisected, ...]:
    """Those of a file, none where there is none. Raises LedgerError."""
    return tuple(read_values(path, Bisected)) if path.exists() else ()


def since(found: Sequence[Bisected], claim: str, before: str, after: str) -> str:
    """The release that changed a claim's verdict between two others; empty where none was measured, or more than one did."""
    low, high = natural_key(before), natural_key(after)
    inside = {
        boundary.after
        for one in found
        if (one.claim, one.moves) == (claim, BOTH)
        for boundary in one.boundaries
        if low <= natural_key(boundary.before) and natural_key(boundary.after) <= high
    }
    return inside.pop() if len(inside) == 1 else ""
