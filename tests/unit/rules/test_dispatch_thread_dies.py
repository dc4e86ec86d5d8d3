"""A dispatch that fails once, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.dispatch_thread_dies import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE = (f"X-dispatch-thread-dies-{number:02}" for number in range(1, 6))
TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}
EXCEPTION, RESTART = "incident-exception", "fix-restart"


def _is(measure: str, arm: str, value: float, where: str = "") -> History:
    """A deployment for each trial, as the arm has them."""
    return {f"{measure} {arm} {where}".strip(): [[value]] * TRIALS[arm]}


def _missing(arm: str, share: float, by: str = "hold") -> History:
    return _is("undelivered_share", arm, share, f"level=0 by={by}")


def _unaccepted(arm: str, share: float) -> History:
    return _is("unaccepted_after_share", arm, share, "after=fault")


OF_4X: History = {
    **_missing("baseline", 0), **_unaccepted("baseline", 0), **_is("delivered_again_count", "baseline", 0),
    **_missing("incident", 1), **_unaccepted("incident", 0),
    **_missing(EXCEPTION, 0), **_is("dropped_count", EXCEPTION, 0), **_is("delivered_again_count", EXCEPTION, 0),
    **_missing(RESTART, 1), **_missing(RESTART, 0, "end"), **_is("delivered_again_count", RESTART, 0),
    **_is("unaccepted_in_cure_count", RESTART, 40),
}  # fmt: skip
OF_5X: History = {**OF_4X, **_missing("incident", 0)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "consumed"): ({}, _missing("incident", 0)),
    (ONE, "without a failure"): ({}, _missing("baseline", 1)),
    (TWO, "acknowledged"): ({}, _unaccepted("incident", 1)),
    (TWO, "without a failure"): ({}, _unaccepted("baseline", 1)),
    (THREE, "delivered"): ({}, _missing(RESTART, 1, "end")),
    (THREE, "twice"): ({}, _is("delivered_again_count", RESTART, 12)),
    (THREE, "price"): ({}, _is("unaccepted_in_cure_count", RESTART, 0)),
    (THREE, "it had stopped"): ({}, _missing(RESTART, 0)),
    (FOUR, "consumed"): ({}, _missing(EXCEPTION, 1)),
    (FOUR, "dropped"): ({}, _is("dropped_count", EXCEPTION, 1)),
    (FOUR, "twice"): ({}, _is("delivered_again_count", EXCEPTION, 1)),
    (FIVE, "consumed"): ({}, _missing("baseline", 1)),
    (FIVE, "acknowledged"): ({}, _unaccepted("baseline", 1)),
    (FIVE, "twice"): ({}, _is("delivered_again_count", "baseline", 1)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_4X, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4X), ("4.9.7", OF_4X), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_restart_of_a_broker_that_dispatched_shows_nothing() -> None:
    assert not SCENARIO.asks(CLAIMS[THREE], "5.3.3")
    assert verdict(CLAIMS[THREE], {**OF_4X, **_missing(RESTART, 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_was_not_consumed() -> None:
    assert said(CLAIMS[ONE], OF_4X) == (
        "One dispatch threw an error, and what was sent after it waited unconsumed in 5 of 5 deployments."
    )
