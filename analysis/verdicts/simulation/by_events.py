"""Coverage, false verdicts and power of what is decided by events, also where the tries of a deployment fail together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analysis.verdicts import events

ROUNDS = 2000

Counts = npt.NDArray[np.int64]


def counts(seed: int, rate: float, deployments: int, tries: int, together: float, rounds: int = ROUNDS) -> Counts:
    """Events of each deployment, shape (rounds, deployments); ``together`` is the correlation of a deployment's tries."""
    random = np.random.default_rng(seed)
    shape = (rounds, deployments)
    if together >= 1:
        return np.asarray(tries * (random.random(shape) < rate), dtype=np.int64)
    if together > 0:
        weight = (1 - together) / together
        return np.asarray(
            random.binomial(tries, random.beta(rate * weight, (1 - rate) * weight, shape)), dtype=np.int64
        )
    return np.asarray(random.binomial(tries, rate, shape), dtype=np.int64)


def coverage(found: Counts, tries: int, rate: float) -> tuple[float, float]:
    """How often the plain interval, and the one that allows for clusters, hold the rate."""
    plain = clustered = 0
    for row in found:
        low, high = events.clopper_pearson(int(row.sum()), tries * len(row))
        plain += low <= rate <= high
        low, high = events.rate_interval([(int(seen), tries) for seen in row])
        clustered += low <= rate <= high
    return plain / len(found), clustered / len(found)


def refuted(found: Counts) -> float:
    """How often a "never" meets its counterexample; otherwise it is confirmed where the tries suffice."""
    return float(np.mean(found.sum(axis=1) > 0))


def fact_passes(seed: int, rate: float, deployments: int) -> float:
    """How often what is so in that share of deployments is so in all of them."""
    drawn = np.random.default_rng(seed).random((ROUNDS * 5, deployments))
    return float(np.mean((drawn < rate).all(axis=1)))
