"""Verdicts by events: how often something happened in how many tries, and how often it may happen that was not seen.

All intervals are two-sided with 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2

CLUSTERS_MIN = 3
"""With events in fewer deployments nothing tells how much deployments differ."""


def clopper_pearson(events: float, tries: float) -> tuple[float, float]:
    """The exact interval of the chance of an event that ``tries`` showed ``events`` times (C. Clopper, E. Pearson, 1934)."""
    none = tries - events
    from scipy import special

    low = float(special.betaincinv(events, none + 1, _TAIL)) if events else 0.0
    return low, float(special.betaincinv(events + 1, none, 1 - _TAIL)) if none else 1.0


def limit_of_none(tries: int) -> float:
    """Below this lies the chance of an event that was not seen in ``tries``; 1 when there was no try."""
    return clopper_pearson(0, tries)[1] if tries else 1.0


def tries_needed(rate_max: float) -> int:
    """The least number of tries without an event that puts the limit at or below ``rate_max``."""
    return math.ceil(math.log(_TAIL) / math.log(1 - rate_max))


def clean_tries_needed(events: int, tries: int) -> int:
    """Further tries without an event that make one unlikely (5 %) that happens as often as ``events`` of ``tries``."""
    if events >= tries:
        return 1
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - events / tries))


def rate_interval(by_deployment: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Interval of a rate from (events, tries) of each deployment, for print only.

    With events in at least three deployments it allows for tries of one deployment that go wrong together (E. Korn,
    B. Graubard, 1998); otherwise it is Clopper and Pearson's.
    """
    events, tries = (sum(column) for column in zip(*by_deployment, strict=True))
    if sum(seen > 0 for seen, _ in by_deployment) < CLUSTERS_MIN:
        return clopper_pearson(events, tries)
    effective = effective_tries(by_deployment)
    return clopper_pearson(events / tries * effective, effective)


def effective_tries(by_deployment: Sequence[tuple[int, int]]) -> float:
    """As many independent tries as tell as much as these do, which may resemble each other inside a deployment."""
    deployments = len(by_deployment)
    events, tries = (sum(column) for column in zip(*by_deployment, strict=True))
    rate = events / tries
    spread = sum((seen - rate * count) ** 2 for seen, count in by_deployment)
    variance = deployments / (deployments - 1) * spread / tries**2
    if variance == 0:
        return float(tries)
    from scipy import special

    wider = float(special.stdtrit(tries - 1, 1 - _TAIL) / special.stdtrit(deployments - 1, 1 - _TAIL)) ** 2
    return float(min(tries, rate * (1 - rate) / variance * wider))


def share_below_largest(tries: int) -> float:
    """Of ``tries`` the largest lies above this share of all values with 95 %: a quantile beyond it is not printed."""
    return float((1 - CONFIDENCE) ** (1 / tries))
