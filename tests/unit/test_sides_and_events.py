"""The numbers of the two ways to a verdict, each as the method's description has it."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from analysis.verdicts import events, sides
from harness.model.verdicts import Reason, VerdictKind

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    ("exceptions", "needed"), [(0, 5), (1, 9), (2, 13), (3, 17), (4, 21), (5, 25)], ids=lambda number: str(number)
)
def test_five_deployments_and_four_more_for_each_that_is_not_on_that_side(exceptions: int, needed: int) -> None:
    assert sides.deployments_needed(exceptions) == needed
    assert sides.decide(needed - exceptions, exceptions, 0) is CONFIRMED
    assert sides.decide(needed - exceptions, 0, exceptions) is CONFIRMED
    assert sides.decide(exceptions, needed - exceptions, 0) is REFUTED
    assert sides.decide(needed - exceptions - 1, exceptions, 0) is UNDECIDED


@pytest.mark.parametrize(("parts", "needed"), [(1, 5), (2, 7), (3, 7), (4, 8), (6, 8), (7, 9), (12, 9), (17, 10)])
def test_a_claim_of_several_parts_is_refuted_by_more_deployments(parts: int, needed: int) -> None:
    assert sides.deployments_needed(claim_parts=parts) == needed
    assert sides.decide(0, needed, 0, parts) is REFUTED
    assert sides.decide(0, needed - 1, 0, parts) is UNDECIDED
    assert sides.decide(5, 0, 0, parts) is CONFIRMED


def test_nothing_is_decided_when_more_than_a_quarter_lie_elsewhere() -> None:
    assert not any(
        sides.decide(count - elsewhere, elsewhere, 0) is CONFIRMED
        for count in range(1, 400)
        for elsewhere in range(count // 4 + 1, count + 1)
    )


@pytest.mark.parametrize(
    ("right", "wrong", "line", "reason"),
    [
        (4, 0, 0, Reason.TOO_FEW_DEPLOYMENTS),
        (0, 6, 0, Reason.TOO_FEW_DEPLOYMENTS),
        (4, 1, 0, Reason.CLOSE),
        (5, 0, 2, Reason.CLOSE),
        (7, 2, 0, Reason.DIFFERS),
    ],
)
def test_why_nothing_is_decided(right: int, wrong: int, line: int, reason: Reason) -> None:
    assert sides.why_undecided(right, wrong, line) is reason


@pytest.mark.parametrize(
    ("count", "rank", "coverage"),
    [(5, 1, 0.9375), (6, 1, 0.969), (8, 1, 0.992), (9, 2, 0.961), (12, 3, 0.961), (15, 4, 0.965), (17, 5, 0.951)],
)
def test_the_range_that_holds_the_typical_deployment(count: int, rank: int, coverage: float) -> None:
    found = sides.typical([float(value) for value in range(1, count + 1)])
    assert (found.low, found.high) == (rank, count + 1 - rank)
    assert found.coverage == pytest.approx(coverage, abs=5e-4)
    assert found.middle == (count + 1) / 2


def test_fewer_than_five_deployments_have_no_range() -> None:
    assert [round(sides.coverage_of_range(count), 3) for count in (2, 3, 4)] == [0.5, 0.75, 0.875]
    assert sides.typical([3.0, 1.0]) == sides.Typical(middle=2.0, low=None, high=None, coverage=None)


def test_values_without_an_end_have_a_median_without_one() -> None:
    assert sides.typical([1.0, float("inf"), float("inf")]).middle == float("inf")


@pytest.mark.parametrize(
    ("tries", "limit"),
    [(5, 0.52), (8, 0.37), (20, 0.17), (36, 0.097), (40, 0.088), (72, 0.050), (105, 0.035), (60, 0.060)],
)
def test_what_was_not_seen_may_still_happen_so_often(tries: int, limit: float) -> None:
    assert events.limit_of_none(tries) == pytest.approx(limit, abs=0.006 if limit > 0.1 else 0.0006)
    assert events.limit_of_none(tries) == pytest.approx(1 - 0.025 ** (1 / tries))


def test_nothing_is_known_without_a_try() -> None:
    assert events.limit_of_none(0) == 1.0


def test_as_many_tries_as_the_rules_ask_for() -> None:
    assert (events.tries_needed(0.10), events.tries_needed(0.05)) == (36, 72)


@pytest.mark.parametrize(("seen", "tries"), [(8, 42), (1, 40), (4, 60), (42, 42), (0, 9)])
def test_a_rate_has_the_exact_interval(seen: int, tries: int) -> None:
    exact = binomtest(seen, tries).proportion_ci(0.95)
    assert events.clopper_pearson(seen, tries) == pytest.approx((exact.low, exact.high))


def test_the_rates_that_the_record_names() -> None:
    assert events.clopper_pearson(8, 42) == pytest.approx((0.086, 0.341), abs=5e-4)
    assert events.clopper_pearson(1, 40) == pytest.approx((0.0006, 0.132), abs=5e-4)
    assert events.clopper_pearson(4, 60) == pytest.approx((0.018, 0.162), abs=5e-4)


@pytest.mark.parametrize(("seen", "tries", "needed"), [(1, 40, 119), (1, 15, 44), (3, 3, 1)])
def test_clean_tries_that_an_unverified_counterexample_asks_for(seen: int, tries: int, needed: int) -> None:
    assert events.clean_tries_needed(seen, tries) == needed


@pytest.mark.parametrize(("tries", "share"), [(29, 0.90), (59, 0.95), (299, 0.99), (105, 0.97)])
def test_the_largest_of_so_many_lies_above_that_share(tries: int, share: float) -> None:
    assert events.share_below_largest(tries) == pytest.approx(share, abs=0.003)


def test_deployments_that_differ_widen_the_interval_of_a_rate() -> None:
    apart = [(21, 21), (1, 21), (1, 21), (0, 21), (0, 21)]
    alike = [(5, 21), (5, 21), (4, 21), (5, 21), (4, 21)]
    assert events.rate_interval(alike) == pytest.approx(events.clopper_pearson(23, 105))
    low, high = events.rate_interval(apart)
    assert low < 0.02
    assert high > 0.7


def test_events_in_two_deployments_have_the_plain_interval() -> None:
    assert events.rate_interval([(3, 9), (3, 9), (0, 9)]) == events.clopper_pearson(6, 27)


def test_tries_that_agree_in_each_deployment_tell_as_much_as_deployments() -> None:
    """All of a deployment or none: five deployments, however many tries they have, give some three tries' worth."""
    few = events.effective_tries([(9, 9), (9, 9), (9, 9), (0, 9), (0, 9)])
    many = events.effective_tries([(90, 90), (90, 90), (90, 90), (0, 90), (0, 90)])
    assert few == pytest.approx(many, rel=0.1)
    assert few < 5
