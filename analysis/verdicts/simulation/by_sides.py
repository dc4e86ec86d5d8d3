"""Coverage, false verdicts and power of the side rule. Seeded, so that the same tables come out each time."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from analysis.verdicts import sides
from harness.model.verdicts import VerdictKind

ROUNDS = 4000

Floats = npt.NDArray[np.float64]


def values(seed: int, between: float, units: int, deployments: int, rounds: int = ROUNDS) -> Floats:
    """Medians of deployments around 0, shape (rounds, deployments). Within a deployment the standard deviation is 1."""
    random = np.random.default_rng(seed)
    shared = random.normal(0, between, (rounds, deployments, 1)) if between else 0.0
    return np.asarray(np.median(random.normal(0, 1, (rounds, deployments, units)) + shared, axis=2))


def coverage(found: Floats) -> float:
    """How often the range holds the typical deployment, which lies at 0."""
    rank = sides.rank_of_range(found.shape[1])
    ordered = np.sort(found, axis=1)
    return float(np.mean((ordered[:, rank - 1] <= 0) & (ordered[:, -rank] >= 0)))


def confirmed(found: Floats, bound: float) -> float:
    """How often all that is known says that the deployments lie below the bound."""
    right = np.sum(found <= bound, axis=1)
    return float(np.mean([_verdict(int(count), found.shape[1]) is VerdictKind.CONFIRMED for count in right]))


def ever_confirmed(found: Floats, looks: range) -> float:
    """How often the bound at 0 is called kept at one of several looks, each with the deployments so far."""
    below = np.cumsum(found <= 0, axis=1)
    hits = np.zeros(len(found), dtype=bool)
    for count in looks:
        hits |= np.array([_verdict(int(right), count) is VerdictKind.CONFIRMED for right in below[:, count - 1]])
    return float(hits.mean())


def topped_up(found: Floats, bound: float, sizes: tuple[int, ...]) -> tuple[float, float]:
    """Coverage and share decided when more deployments are made until the rule decides, at most the last of ``sizes``."""
    covered = decided = 0
    for row in found:
        for size in sizes:
            right = int(np.sum(row[:size] <= bound))
            if sides.decide(right, size - right, 0) is not VerdictKind.UNDECIDED or size == sizes[-1]:
                break
        decided += sides.decide(right, size - right, 0) is not VerdictKind.UNDECIDED
        typical = sides.typical(list(row[:size]))
        covered += typical.low is not None and typical.low <= 0 <= (typical.high or 0)
    return covered / len(found), decided / len(found)


def pairs_decide(seed: int, pairs: int, ratio: float, bound: float, drift: float, noise: float) -> float:
    """How often pairs that share a drift confirm that a ratio is below its bound."""
    random = np.random.default_rng(seed)
    own = np.exp(random.normal(0, noise, (2, ROUNDS, pairs)))
    shared = np.exp(random.normal(0, drift, (ROUNDS, pairs)))
    return confirmed(ratio * own[0] * shared / (own[1] * shared), bound)


@functools.cache
def _verdict(right: int, count: int) -> VerdictKind:
    return sides.decide(right, count - right, 0)
