from __future__ import annotations

import itertools

import pytest

from harness.faults.broker_crash import evenly


@pytest.mark.parametrize("deaths", [3, 5, 8, 13])
def test_deaths_share_a_period_out_whatever_their_number(deaths: int) -> None:
    moments = sorted(evenly(number) for number in range(1, deaths + 1))
    assert moments[0] > 0.0
    assert moments[-1] < 1.0
    gaps = [later - earlier for earlier, later in itertools.pairwise([*moments, 1.0 + moments[0]])]
    assert max(gaps) < 2.0 / deaths
    assert min(gaps) > 0.5 / deaths
