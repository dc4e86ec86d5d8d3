from __future__ import annotations

import math

import pytest
from scipy.stats import chi2

from analysis.verdicts import stats


def test_quantiles_are_values_that_occurred() -> None:
    found = stats.quantiles([float(value) for value in range(1, 101)], [False] * 100)
    assert (found.p50, found.p90, found.p99, found.min, found.max) == (50.5, 90, 99, 1, 100)


def test_a_quantile_among_censored_values_is_known_from_below_only() -> None:
    found = stats.quantiles([1.0, 2.0, 3.0, 90.0], [False, False, False, True])
    assert (found.p50, found.p90, found.max) == (2.5, math.inf, 90)


@pytest.mark.parametrize("total", [0, 1, 12.5, 400])
def test_the_interval_of_a_count_is_the_exact_one(total: float) -> None:
    low, high = stats.garwood(total)
    assert low == (pytest.approx(chi2.ppf(0.025, 2 * total) / 2) if total else 0.0)
    assert high == pytest.approx(chi2.ppf(0.975, 2 * total + 2) / 2)
