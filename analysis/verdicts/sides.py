"""Verdicts by sides: on which side of the bound the number of each deployment lies (shares, quantities, comparisons, laws).

Wald's sequential test of "92 % of deployments lie on this side" against "at most half do". The odds reach 20 by luck with
at most 1 chance in 20, however often one looks (Ville's inequality), so that adding deployments and judging again is allowed.
No distribution is assumed and nothing is resampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.verdicts import Reason, VerdictKind

ON_THE_SIDE, NOT_ON_IT = 1.84, 0.16
"""What one deployment multiplies the odds by: 0.92 / 0.5 and 0.08 / 0.5."""

ODDS_NEEDED = 20.0


def odds(on_it: int, not_on_it: int) -> float:
    """For the side on which ``on_it`` deployments lie."""
    return float(ON_THE_SIDE**on_it * NOT_ON_IT**not_on_it)


def decide(right: int, wrong: int, line: int, claim_parts: int = 1) -> VerdictKind:
    """By how many deployments lie on the right side, on the wrong one, and too near the bound to tell.

    Any one of ``claim_parts`` refutes a claim, so that refuting asks for that many times the odds.
    """
    if odds(right, wrong + line) >= ODDS_NEEDED:
        return VerdictKind.CONFIRMED
    if odds(wrong, right + line) >= ODDS_NEEDED * claim_parts:
        return VerdictKind.REFUTED
    return VerdictKind.UNDECIDED


def why_undecided(right: int, wrong: int, line: int) -> Reason:
    """Too few deployments as long as none disagrees; with 9 and more, one would have been outvoted."""
    count = right + wrong + line
    if count < deployments_needed() or count in (right, wrong):
        return Reason.TOO_FEW_DEPLOYMENTS
    return Reason.DIFFERS if count >= deployments_needed(1) else Reason.CLOSE


def deployments_needed(exceptions: int = 0, claim_parts: int = 1) -> int:
    """How many deployments a verdict takes in all when ``exceptions`` of them are not on its side."""
    logs = math.log(ODDS_NEEDED * claim_parts) - exceptions * math.log(NOT_ON_IT)
    return exceptions + math.ceil(logs / math.log(ON_THE_SIDE))


@dataclass(frozen=True, kw_only=True)
class Typical:
    """The median of the deployments' values, and the range that holds the typical deployment with ``coverage``.

    Fewer than 5 deployments have no such range.
    """

    middle: float
    low: float | None
    high: float | None
    coverage: float | None


def typical(values: Sequence[float]) -> Typical:
    """Median and order statistics of at least one value; their coverage is exact whatever the distribution."""
    ordered = sorted(values)
    count = len(ordered)
    lower, upper = ordered[(count - 1) // 2], ordered[count // 2]
    middle = lower if lower == upper else (lower + upper) / 2
    if count < deployments_needed():
        return Typical(middle=middle, low=None, high=None, coverage=None)
    rank = rank_of_range(count)
    return Typical(middle=middle, low=ordered[rank - 1], high=ordered[-rank], coverage=coverage_of_range(count, rank))


def rank_of_range(count: int) -> int:
    """1: lowest to highest; 2: the second of both ends, and so on: as narrow as 95 % allow."""
    rank = 1
    while coverage_of_range(count, rank + 1) >= 0.95:
        rank += 1
    return rank


def coverage_of_range(count: int, rank: int = 1) -> float:
    """The chance that the typical deployment lies from the ``rank``-th lowest to the ``rank``-th highest of ``count``."""
    return float(1 - 2 * sum(math.comb(count, below) for below in range(rank)) / 2**count)
