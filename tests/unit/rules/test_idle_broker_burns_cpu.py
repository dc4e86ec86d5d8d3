"""An idle broker that takes a core, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.idle_broker_burns_cpu import SCENARIO, TRANSACTIONS
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-idle-broker-burns-cpu-{number:02}" for number in range(1, 5))
RESTART, LATER = "fix-restart", "better-long-interval"


def _all(value: float) -> list[list[float]]:
    return [[value]] * SCENARIO.budget.deployments


def _busy(arm: str, when: str = "idle") -> str:
    return f"thread_busy_share {arm} when={when}"


ASKED, TWICE = f"asked_again_count {LATER} by=after", f"committed_twice_count {LATER}"
BY_DEFAULT = "asked_again_count incident by=after"

SPINS: History = {
    _busy("baseline"): _all(0.01), _busy("incident"): _all(0.99), _busy(RESTART): _all(0.98),
    _busy(RESTART, "restarted"): _all(0.02), _busy(LATER): _all(0.02),
    ASKED: _all(TRANSACTIONS), TWICE: _all(TRANSACTIONS / 2), BY_DEFAULT: _all(0),
}  # fmt: skip
WAITS: History = {**SPINS, _busy("incident"): _all(0.01)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "busy"): ({}, {_busy("incident"): _all(0.02)}),
    (ONE, "without transactions"): ({}, {_busy("baseline"): _all(0.97)}),
    (TWO, "restarted"): ({}, {_busy(RESTART, "restarted"): _all(0.97)}),
    (TWO, "before"): ({}, {_busy(RESTART): _all(0.02)}),
    (THREE, "busy"): ({}, {_busy(LATER): _all(0.97)}),
    (THREE, "asked"): ({}, {ASKED: _all(0)}),
    (THREE, "twice"): ({}, {TWICE: _all(0)}),
    (THREE, "by default"): ({}, {_busy("incident"): _all(0.02)}),
    (THREE, "none asked by default"): ({}, {BY_DEFAULT: _all(TRANSACTIONS)}),
    (FOUR, "busy"): ({}, {_busy("baseline"): _all(0.97)}),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, SPINS, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", WAITS), ("4.9.7", WAITS), ("5.3.3", WAITS), ("5.5.0", SPINS)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_restart_of_a_broker_that_waits_shows_nothing() -> None:
    assert [one.id for one in CLAIMS.values() if SCENARIO.asks(one, "5.3.3")] == [ONE, FOUR]
    history: History = {**SPINS, _busy(RESTART): _all(0.02)}
    assert verdict(CLAIMS[TWO], history) == (VerdictKind.UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_how_often_it_was_so() -> None:
    assert said(CLAIMS[ONE], SPINS) == (
        "After sixty transactions the busiest thread of the idle broker took a core in 3 of 3 deployments."
    )
