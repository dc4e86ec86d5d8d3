"""A delivery that fails once, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.delayed_message_fails_once import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (f"X-delayed-message-fails-once-{number:02}" for number in range(1, 8))
TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}
ERROR, RESTART, AFTER_DROP = "incident-error", "fix-restart", "fix-restart-after-exception"


def _all(arm: str, value: float) -> list[list[float]]:
    """A deployment for each trial, as the arm has them."""
    return [[value]] * TRIALS[arm]


def _missing(arm: str, level: int, by: str = "hold") -> str:
    return f"undelivered_share {arm} level={level} by={by}"


def _levels(arm: str, share: float, levels: tuple[int, ...] = (1, 2, 3), by: str = "hold") -> History:
    return {_missing(arm, level, by): _all(arm, share) for level in levels}


def _count(measure: str, arm: str, value: float) -> History:
    return {f"{measure} {arm}": _all(arm, value)}


OF_460: History = {
    **_levels("baseline", 0), **_count("dropped_count", "baseline", 0), **_count("delivered_again_count", "baseline", 0),
    **_levels("incident", 0), **_count("dropped_count", "incident", 1),
    **_levels(ERROR, 1), **_levels(ERROR, 0, (0,)),
    **_levels(RESTART, 1), **_levels(RESTART, 0, by="end"), **_count("dropped_count", RESTART, 0),
    **_count("delivered_again_count", RESTART, 40), **_count("unaccepted_in_cure_count", RESTART, 30),
    **_count("dropped_count", AFTER_DROP, 1), **_count("unaccepted_in_cure_count", AFTER_DROP, 30),
}  # fmt: skip
OF_497: History = {
    **OF_460, **_count("dropped_count", "incident", 0), **_levels(ERROR, 0, (1, 3)), **_levels(RESTART, 0, (1, 3)),
    **_count("delivered_again_count", RESTART, 0),
}  # fmt: skip
OF_5X: History = {**OF_460, **_levels(ERROR, 0)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "dropped"): ({}, _count("dropped_count", "incident", 0)),
    (ONE, "no other"): ({}, _count("dropped_count", "incident", 2)),
    (ONE, "levels go on"): ({}, _levels("incident", 1)),
    (ONE, "without a failure"): ({}, _count("dropped_count", "baseline", 1)),
    (TWO, "its level"): ({}, _levels(ERROR, 0, (2,))),
    (TWO, "no delay"): ({}, _levels(ERROR, 1, (0,))),
    (TWO, "without a failure"): ({}, _levels("baseline", 1)),
    (THREE, "other levels"): ({}, _levels(ERROR, 0, (1, 3))),
    (THREE, "no delay"): ({}, _levels(ERROR, 1, (0,))),
    (FOUR, "delivered"): ({}, _levels(RESTART, 1, by="end")),
    (FOUR, "nothing dropped"): ({}, _count("dropped_count", RESTART, 1)),
    (FOUR, "price"): ({}, _count("unaccepted_in_cure_count", RESTART, 0)),
    (FOUR, "it had stopped"): ({}, _levels(RESTART, 0, (2,))),
    (FIVE, "again"): (_count("delivered_again_count", RESTART, 0), {}),
    (FIVE, "without a failure"): ({}, _count("delivered_again_count", "baseline", 3)),
    (SIX, "back"): (_count("dropped_count", AFTER_DROP, 0), {}),
    (SIX, "restarted"): ({}, _count("unaccepted_in_cure_count", AFTER_DROP, 0)),
    (SIX, "without a restart"): ({}, _count("dropped_count", "incident", 0)),
    (SEVEN, "missing"): ({}, _levels("baseline", 1)),
    (SEVEN, "dropped"): ({}, _count("dropped_count", "baseline", 1)),
    (SEVEN, "twice"): ({}, _count("delivered_again_count", "baseline", 1)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_460, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_460), ("4.9.7", OF_497), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_only_where_an_error_stops_a_level_there_is_something_to_restart() -> None:
    asked = {
        release: [one.id for one in CLAIMS.values() if SCENARIO.asks(one, release)] for release in ("4.9.7", "5.3.3")
    }
    assert asked == {"4.9.7": [ONE, TWO, THREE, FOUR, FIVE, SEVEN], "5.3.3": [ONE, TWO, THREE, SIX, SEVEN]}


def test_a_message_that_no_release_lost_cannot_be_brought_back() -> None:
    assert not SCENARIO.asks(CLAIMS[SIX], "4.9.7")
    kept: History = {**OF_460, **_count("dropped_count", "incident", 0), **_count("dropped_count", AFTER_DROP, 0)}
    assert verdict(CLAIMS[SIX], kept) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_a_restart_of_levels_that_had_not_stopped_shows_nothing() -> None:
    history: History = {**OF_460, **_levels(RESTART, 0, (2,))}
    assert verdict(CLAIMS[FOUR], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_was_lost() -> None:
    assert said(CLAIMS[ONE], OF_5X) == (
        "One delivery threw an exception, and the message was lost in 5 of 5 deployments."
    )
