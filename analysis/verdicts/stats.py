"""Estimates with 95 % intervals that count what is independent, and nothing else.

Values that share a unit (the queues of one owner, the rejections of one stall) are one draw together, and units share
their deployment. So the bootstrap draws deployments with replacement and then, within each drawn one, units with
replacement. Exact intervals are taken where they exist: Clopper and Pearson's for a share, Garwood's for a rate when
every count is zero (a bootstrap of zeros would claim certainty).

The weighted form used here draws, for each resample, how often every unit occurs: ``c`` draws of a deployment with
``u`` units are one multinomial draw of ``c * u`` over its units, which is the same distribution as drawing one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.verdicts.events import clopper_pearson

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RESAMPLES = 2000
CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2
_CELLS_MAX = 8_000_000
"""Resamples are worked through in slices of at most this many weights, 64 MB."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Values with their units: ``unit[i]`` is the unit of value i, ``block[u]`` the deployment of unit u.

    A censored value means "at least this". ``x`` is the abscissa of each value, for a slope.
    """

    values: Floats
    censored: npt.NDArray[np.bool_]
    unit: Ints
    block: Ints
    x: Floats | None = None

    @property
    def units(self) -> int:
        """How many draws there are."""
        return int(self.block.size)

    @property
    def size(self) -> int:
        """How many values there are."""
        return int(self.values.size)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A point and its 95 % interval: an infinite end is open, None is undefined. ``units`` is what is independent."""

    estimate: float | None
    low: float | None
    high: float | None
    units: int


@dataclass(frozen=True, kw_only=True)
class Quantiles:
    """Order statistics of the values themselves; a censored value counts as what it is at least."""

    p50: float
    p90: float
    p99: float
    min: float
    max: float


def sample_of(
    values: Sequence[float],
    *,
    units: Sequence[str],
    blocks: Sequence[str],
    censored: Sequence[bool] | None = None,
    x: Sequence[float] | None = None,
) -> Sample:
    """A sample from parallel sequences. A unit belongs to the deployment that its first value names."""
    unit_names = list(dict.fromkeys(zip(blocks, units, strict=True)))
    unit_codes = {name: code for code, name in enumerate(unit_names)}
    block_codes = {name: code for code, name in enumerate(dict.fromkeys(block for block, _ in unit_names))}
    return Sample(
        values=np.asarray(values, dtype=np.float64),
        censored=np.zeros(len(values), dtype=bool) if censored is None else np.asarray(censored, dtype=bool),
        unit=np.asarray([unit_codes[block, unit] for block, unit in zip(blocks, units, strict=True)], dtype=np.int64),
        block=np.asarray([block_codes[block] for block, _ in unit_names], dtype=np.int64),
        x=None if x is None else np.asarray(x, dtype=np.float64),
    )


def quantiles(sample: Sample) -> Quantiles:
    """Nearest-rank percentiles; the sample must not be empty."""
    order = np.argsort(np.where(sample.censored, np.inf, sample.values), kind="stable")
    ordered = sample.values[order]

    def rank(share: float) -> float:
        return float(ordered[max(0, int(np.ceil(share * ordered.size)) - 1)])

    return Quantiles(
        p50=_middle(ordered),
        p90=rank(0.90),
        p99=rank(0.99),
        min=float(sample.values.min()),
        max=float(sample.values.max()),
    )


def _middle(ordered: Floats) -> float:
    return float((ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2)


# --- the statistics ---------------------------------------------------------------------------------------------------


def median(sample: Sample, *, seed: int) -> Estimate:
    """The median. It is defined while fewer than half of the values are censored, else only bounded from below."""
    if sample.size == 0:
        return _undefined(sample)
    hidden = np.where(sample.censored, np.inf, sample.values)
    point = _middle(np.sort(hidden))
    resampled = _resampled_medians(hidden, sample, seed)
    low, high = _percentile_interval(resampled)
    if not np.isfinite(point):
        at_least = _middle(np.sort(sample.values))
        low = float(sample.values[sample.censored].min()) if not np.isfinite(low) else low
        return Estimate(estimate=at_least, low=min(low, at_least), high=float("inf"), units=sample.units)
    return Estimate(estimate=point, low=low, high=high, units=sample.units)


def _resampled_medians(values: Floats, sample: Sample, seed: int) -> Floats:
    # Equal values share a column, which keeps counts (mostly zeros) and capped times small.
    distinct, column = np.unique(values, return_inverse=True)
    incidence = np.zeros((sample.units, distinct.size))
    np.add.at(incidence, (sample.unit, column), 1.0)
    medians = np.empty(RESAMPLES)
    step = max(1, _CELLS_MAX // max(1, distinct.size))
    weights = _unit_weights(sample, seed)
    for start in range(0, RESAMPLES, step):
        counts = weights[start : start + step] @ incidence
        reached = np.cumsum(counts, axis=1)
        total = reached[:, -1:]
        lower = (reached <= (total - 1) // 2).sum(axis=1)
        upper = (reached <= total // 2).sum(axis=1)
        medians[start : start + step] = _halfway(distinct[lower], distinct[upper])
    return medians


def _halfway(low: Floats, high: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(low == high, low, (low + high) / 2))


def mean(sample: Sample, *, seed: int) -> Estimate:
    """The mean. All zero: Garwood's upper limit over as many counts as there are units. Censored: open above."""
    if sample.size == 0:
        return _undefined(sample)
    if not sample.values.any() and not sample.censored.any():
        return Estimate(estimate=0.0, low=0.0, high=garwood(0)[1] / sample.units, units=sample.units)
    point = float(sample.values.mean())
    low, high = _percentile_interval(_resampled_means(sample, seed))
    return Estimate(estimate=point, low=low, high=float("inf") if sample.censored.any() else high, units=sample.units)


def garwood(total: float) -> tuple[float, float]:
    """The exact interval of a Poisson distribution's mean of which ``total`` was counted."""
    low = float(special.gammaincinv(total, _TAIL)) if total > 0 else 0.0
    return low, float(special.gammaincinv(total + 1, 1 - _TAIL))


def _resampled_means(sample: Sample, seed: int) -> Floats:
    weights = _unit_weights(sample, seed)
    sums = np.bincount(sample.unit, weights=sample.values, minlength=sample.units)
    counts = np.bincount(sample.unit, minlength=sample.units)
    return np.asarray((weights @ sums) / (weights @ counts))


def share(sample: Sample, *, within: tuple[float | None, float | None]) -> Estimate:
    """The share of units all of whose values lie in the closed range ``within``, with Clopper and Pearson's interval.

    A censored value that may or may not lie within widens the interval to both answers; the point takes it as outside.
    """
    if sample.size == 0:
        return _undefined(sample)
    low = -np.inf if within[0] is None else within[0]
    high = np.inf if within[1] is None else within[1]
    surely = np.where(
        sample.censored, (sample.values >= low) & (high == np.inf), (sample.values >= low) & (sample.values <= high)
    )
    maybe = np.where(sample.censored, sample.values <= high, surely)
    sure_units = _units_all(sample, surely)
    maybe_units = _units_all(sample, maybe)
    return Estimate(
        estimate=sure_units / sample.units,
        low=clopper_pearson(sure_units, sample.units)[0],
        high=clopper_pearson(maybe_units, sample.units)[1],
        units=sample.units,
    )


def _units_all(sample: Sample, holds: npt.NDArray[np.bool_]) -> int:
    failures = np.bincount(sample.unit, weights=~holds, minlength=sample.units)
    return int((failures == 0).sum())


def ratio_of_means(sample: Sample, against: Sample, *, seed: int) -> Estimate:
    """Mean over mean, both resampled. Zero above: Garwood's limit over the lower end below. ``units``: the fewer."""
    units = min(sample.units, against.units)
    if sample.size == 0 or against.size == 0:
        return Estimate(estimate=None, low=None, high=None, units=units)
    below = float(against.values.mean())
    if below == 0:
        return Estimate(estimate=None, low=None, high=None, units=units)
    point = float(sample.values.mean()) / below
    resampled_below = _resampled_means(against, seed + 1)
    if not sample.values.any():
        lowest = _percentile_interval(resampled_below)[0]
        limit = garwood(0)[1] / sample.units
        return Estimate(estimate=0.0, low=0.0, high=limit / lowest if lowest > 0 else float("inf"), units=units)
    with np.errstate(divide="ignore"):
        resampled = _resampled_means(sample, seed) / resampled_below
    low, high = _percentile_interval(resampled[~np.isnan(resampled)])
    return Estimate(estimate=point, low=low, high=high, units=units)


def slope(sample: Sample, *, seed: int) -> Estimate:
    """Least squares of the values on ``x``; undefined when x does not vary."""
    if sample.x is None or sample.size < 2 or np.ptp(sample.x) == 0:
        return _undefined(sample)
    # Sums about the middle keep the differences of large sums exact enough.
    x = sample.x - sample.x.mean()
    y = sample.values - sample.values.mean()
    columns = (np.ones_like(x), x, y, x * x, x * y)
    sums = np.stack([np.bincount(sample.unit, weights=column, minlength=sample.units) for column in columns])
    point = _slope_of(sums.sum(axis=1, keepdims=True))[0]
    resampled = _slope_of(sums @ _unit_weights(sample, seed).T)
    low, high = _percentile_interval(resampled[np.isfinite(resampled)])
    return Estimate(estimate=float(point), low=low, high=high, units=sample.units)


def _slope_of(sums: Floats) -> Floats:
    count, x, y, xx, xy = sums
    spread = xx - x * x / count
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(spread > 1e-9 * np.abs(xx), (xy - x * y / count) / spread, np.nan))


# --- the bootstrap ----------------------------------------------------------------------------------------------------


def _unit_weights(sample: Sample, seed: int) -> Floats:
    """How often each unit occurs in each resample: shape (RESAMPLES, units)."""
    random = np.random.default_rng(seed)
    blocks = int(sample.block.max()) + 1
    drawn = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=RESAMPLES)
    weights = np.zeros((RESAMPLES, sample.units))
    for block in range(blocks):
        members = np.flatnonzero(sample.block == block)
        equal = np.full(members.size, 1 / members.size)
        weights[:, members] = random.multinomial(drawn[:, block] * members.size, equal)
    return weights


def _percentile_interval(resampled: Floats) -> tuple[float, float]:
    """The central 95 %; the ends are values that occurred, so that infinite ones stay infinite."""
    ordered = np.sort(resampled)
    if ordered.size == 0:
        return float("nan"), float("nan")
    last = ordered.size - 1
    return float(ordered[int(np.floor(_TAIL * last))]), float(ordered[int(np.ceil((1 - _TAIL) * last))])


def _undefined(sample: Sample) -> Estimate:
    return Estimate(estimate=None, low=None, high=None, units=sample.units)
