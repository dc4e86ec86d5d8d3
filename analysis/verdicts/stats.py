"""Order statistics of what was measured, and the exact interval of a count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """Order statistics of the values themselves; one that falls among censored values is infinite."""

    p50: float
    p90: float
    p99: float
    min: float
    max: float


def quantiles(values: Sequence[float], censored: Sequence[bool]) -> Quantiles:
    """Nearest-rank percentiles of at least one value. A censored value means "at least this"."""
    ordered = np.sort(np.where(censored, np.inf, np.asarray(values, dtype=np.float64)))

    def rank(share: float) -> float:
        return float(ordered[max(0, int(np.ceil(share * ordered.size)) - 1)])

    return Quantiles(p50=_middle(ordered), p90=rank(0.90), p99=rank(0.99), min=min(values), max=max(values))


def _middle(ordered: Floats) -> float:
    return float((ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2)


def garwood(total: float) -> tuple[float, float]:
    """The exact interval of a Poisson distribution's mean of which ``total`` was counted."""
    # What needs no run comes without SciPy.
    from scipy import special

    low = float(special.gammaincinv(total, _TAIL)) if total > 0 else 0.0
    return low, float(special.gammaincinv(total + 1, 1 - _TAIL))
