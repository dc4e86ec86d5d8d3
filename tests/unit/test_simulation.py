"""The rules at the least numbers that they use err as rarely as they promise, for every kind."""

from __future__ import annotations

import pytest

from analysis.verdicts import events
from analysis.verdicts.simulation import by_events, by_sides, tables


def test_the_page_has_the_tables_that_the_rules_give() -> None:
    assert tables.PAGE.read_text().partition(tables.MARK)[2] == f"\n{tables.tables()}"


@pytest.mark.parametrize("between", [0.0, 1.0])
def test_five_deployments_err_in_fewer_than_one_of_twenty(between: float) -> None:
    found = by_sides.values(11, between, 5, 5, rounds=1000)
    assert by_sides.coverage(found) == pytest.approx(0.9375, abs=0.025)
    assert by_sides.confirmed(found, 0.0) < 0.05


def test_looking_again_does_not_make_errors_frequent() -> None:
    assert by_sides.ever_confirmed(by_sides.values(12, 0.0, 1, 60, rounds=1000), range(1, 61)) < 0.065


def test_five_pairs_that_share_a_drift_tell_a_ratio() -> None:
    assert by_sides.pairs_decide(13, 5, 0.75, 0.75, 0.3, 0.1) < 0.05
    assert by_sides.pairs_decide(13, 5, 0.6, 0.75, 0.3, 0.1) > 0.7


def test_what_happens_in_half_of_the_deployments_seldom_passes_for_a_fact() -> None:
    assert by_events.fact_passes(14, 0.5, 2) == pytest.approx(0.25, abs=0.02)


def test_36_tries_see_what_happens_in_a_tenth_of_them() -> None:
    tries = events.tries_needed(0.1)
    assert by_events.refuted(by_events.counts(15, 0.1, 4, tries // 4, 0.0)) > 0.95


def test_72_tries_seldom_miss_what_happens_in_a_twentieth_of_them() -> None:
    assert by_events.refuted(by_events.counts(16, 0.05, 6, 12, 0.0)) > 0.95
