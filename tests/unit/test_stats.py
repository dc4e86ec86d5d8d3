from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from analysis.verdicts import stats


def _one_each(values: list[float], *, deployments: int = 1, censored: list[bool] | None = None) -> stats.Sample:
    return stats.sample_of(
        values,
        units=[f"u{index}" for index in range(len(values))],
        blocks=[f"d{index % deployments}" for index in range(len(values))],
        censored=censored,
    )


def test_a_median_interval_holds_the_truth_about_95_times_of_100() -> None:
    random = np.random.default_rng(3)
    hits = 0
    for round_ in range(100):
        estimate = stats.median(_one_each(list(random.normal(50, 5, size=30))), seed=round_)
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= 50 <= estimate.high
    assert 86 <= hits <= 100


def test_values_of_one_unit_are_one_draw() -> None:
    alone = [10.0, 20, 30, 40, 50, 60]
    together = stats.sample_of(
        [value for value in alone for _ in range(50)],
        units=[f"u{index}" for index in range(6) for _ in range(50)],
        blocks=["d"] * 300,
    )
    single = stats.mean(_one_each(alone), seed=1)
    many = stats.mean(together, seed=1)
    assert many.units == 6
    assert many.low == pytest.approx(single.low)
    assert many.high == pytest.approx(single.high)


def test_deployments_that_differ_widen_the_interval() -> None:
    values = [1.0, 1.1, 0.9, 1.0, 9.0, 9.1, 8.9, 9.0]
    units = [f"u{index}" for index in range(8)]
    apart = stats.mean(stats.sample_of(values, units=units, blocks=["a"] * 4 + ["b"] * 4), seed=1)
    mixed = stats.mean(stats.sample_of(values, units=units, blocks=["a"] * 8), seed=1)
    assert apart.low is not None
    assert mixed.low is not None
    assert apart.low < 1.2 < mixed.low


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    sample = _one_each(list(np.random.default_rng(2).normal(50, 5, size=40)), deployments=2)
    assert stats.mean(sample, seed=7) == stats.mean(sample, seed=7)
    assert stats.mean(sample, seed=7) != stats.mean(sample, seed=8)


def test_a_mean_of_zeros_is_bounded_by_poisson_over_the_units() -> None:
    estimate = stats.mean(
        stats.sample_of([0.0] * 40, units=[f"u{index // 2}" for index in range(40)], blocks=["d"] * 40), seed=1
    )
    assert (estimate.estimate, estimate.low) == (0.0, 0.0)
    assert estimate.high == pytest.approx(3.6889 / 20, abs=1e-4)


def test_fewer_than_half_censored_leaves_the_median_defined() -> None:
    estimate = stats.median(_one_each([1.0, 2, 3, 4, 60], censored=[False] * 4 + [True]), seed=1)
    assert estimate.estimate == 3
    assert estimate.high is not None
    assert estimate.high == math.inf or estimate.high <= 4


def test_half_censored_gives_a_lower_bound_only() -> None:
    estimate = stats.median(_one_each([1.0, 60, 61, 62], censored=[False, True, True, True]), seed=1)
    assert estimate.high == math.inf
    assert estimate.low is not None
    assert estimate.low <= 60
    all_censored = stats.median(_one_each([60.0, 61, 62], censored=[True] * 3), seed=1)
    assert (all_censored.estimate, all_censored.low, all_censored.high) == (61, 60, math.inf)


def test_a_mean_with_a_censored_value_is_open_above() -> None:
    estimate = stats.mean(_one_each([1.0, 2, 60], censored=[False, False, True]), seed=1)
    assert estimate.high == math.inf
    assert estimate.low is not None
    assert math.isfinite(estimate.low)


def test_a_share_counts_a_unit_only_when_all_its_values_lie_within() -> None:
    sample = stats.sample_of([1.0, 1, 1, 9], units=["a", "a", "b", "b"], blocks=["d"] * 4)
    assert stats.share(sample, within=(0, 2)).estimate == 0.5
    assert stats.share(sample, within=(0, None)).estimate == 1.0


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    estimate = stats.share(_one_each([1.0] * 20), within=(1, 1))
    assert estimate.low == pytest.approx(0.025 ** (1 / 20))
    assert estimate.high == 1.0


def test_a_censored_value_that_may_lie_outside_is_not_counted_as_within() -> None:
    estimate = stats.share(_one_each([1.0, 1], censored=[False, True]), within=(0, 2))
    assert estimate.estimate == 0.5
    assert estimate.high == 1.0
    assert stats.share(_one_each([1.0, 1], censored=[False, True]), within=(0.5, None)).estimate == 1.0


def test_a_ratio_of_means_of_zero_over_something_is_bounded_and_over_zero_is_undefined() -> None:
    zeros = _one_each([0.0] * 10)
    fives = _one_each([4.0, 5, 6] * 4)
    over = stats.ratio_of_means(zeros, fives, seed=1)
    assert over.estimate == 0
    assert over.high is not None
    assert 0.3689 / 6 < over.high < 0.3689 / 4
    assert stats.ratio_of_means(fives, zeros, seed=1).estimate is None
    half = stats.ratio_of_means(fives, _one_each([9.0, 10, 11] * 4), seed=1)
    assert half.estimate == pytest.approx(0.5)
    assert half.low is not None
    assert half.high is not None
    assert 0.4 < half.low < 0.5 < half.high < 0.6


def test_a_slope_is_found_with_its_interval_and_undefined_where_x_does_not_vary() -> None:
    x = [100.0, 200, 300, 400] * 5
    y = [value * 0.5 + noise for value, noise in zip(x, np.random.default_rng(1).normal(0, 5, 20), strict=True)]
    units = [f"u{index}" for index in range(20)]
    estimate = stats.slope(stats.sample_of(y, units=units, blocks=["d"] * 20, x=x), seed=1)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0.45 < estimate.low < 0.5 < estimate.high < 0.55
    flat = stats.slope(stats.sample_of(y, units=units, blocks=["d"] * 20, x=[1.0] * 20), seed=1)
    assert flat.estimate is None


def test_an_empty_sample_is_undefined() -> None:
    empty = stats.sample_of([], units=[], blocks=[])
    for estimate in (stats.median(empty, seed=1), stats.mean(empty, seed=1), stats.share(empty, within=(0, 1))):
        assert (estimate.estimate, estimate.units) == (None, 0)


def test_quantiles_are_values_that_occurred() -> None:
    found = stats.quantiles(_one_each([float(value) for value in range(1, 101)]))
    assert (found.p50, found.p90, found.p99, found.min, found.max) == (50.5, 90, 99, 1, 100)


@pytest.mark.parametrize("total", [0, 1, 12.5, 400])
def test_the_interval_of_a_count_is_the_exact_one(total: float) -> None:
    low, high = stats.garwood(total)
    assert low == (pytest.approx(chi2.ppf(0.025, 2 * total) / 2) if total else 0.0)
    assert high == pytest.approx(chi2.ppf(0.975, 2 * total + 2) / 2)
