"""A flag that stays, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.busy_flag_stuck import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE = (f"X-busy-flag-stuck-{number:02}" for number in range(1, 6))
TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}


def _refused(arm: str, after: str = "fault") -> str:
    return f"refused_after_share {arm} after={after}"


def _all(arm: str, value: float) -> list[list[float]]:
    """A deployment for each trial, as the arm has them."""
    return [[value]] * TRIALS[arm]


BASELINE, ENDS = _refused("baseline"), "busy_ends_ms incident moment=after"
INCIDENT, BUSY = _refused("incident"), _refused("incident-busy-broker")
CURES = ("fix-restart", "fix-raise-limit")
PRICE = {arm: f"unaccepted_in_cure_count {arm}" for arm in CURES}
CURED = {arm: _refused(arm, "cure") for arm in CURES}
LONG = _refused("better-long-limit")

STAYS: History = {
    BASELINE: _all("baseline", 0), INCIDENT: _all("incident", 1), ENDS: _all("incident", 10_000_000),
    BUSY: _all("incident-busy-broker", 0), LONG: _all("better-long-limit", 0),
    **{_refused(arm): _all(arm, 1) for arm in CURES},
    **{CURED[arm]: _all(arm, 0) for arm in CURES},
    PRICE["fix-restart"]: _all("fix-restart", 2), PRICE["fix-raise-limit"]: _all("fix-raise-limit", 0),
}  # fmt: skip
"""What a release does whose code leaves the flag behind."""
CLEARED: History = {**STAYS, INCIDENT: _all("incident", 0)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "refused"): ({}, {INCIDENT: _all("incident", 0)}),
    (ONE, "ends"): ({}, {ENDS: _all("incident", 60_000)}),
    (ONE, "without a fault"): ({}, {BASELINE: _all("baseline", 1)}),
    (TWO, "refused"): ({BUSY: _all("incident-busy-broker", 1)}, {}),
    (THREE, "restarted"): ({}, {CURED["fix-restart"]: _all("fix-restart", 1)}),
    (THREE, "raised"): ({}, {CURED["fix-raise-limit"]: _all("fix-raise-limit", 1)}),
    (THREE, "price of a restart"): ({}, {PRICE["fix-restart"]: _all("fix-restart", 0)}),
    (THREE, "price of raising"): ({}, {PRICE["fix-raise-limit"]: _all("fix-raise-limit", 1)}),
    (THREE, "stuck, then restarted"): ({}, {_refused("fix-restart"): _all("fix-restart", 0)}),
    (THREE, "stuck, then raised"): ({}, {_refused("fix-raise-limit"): _all("fix-raise-limit", 0)}),
    (FOUR, "refused"): ({}, {LONG: _all("better-long-limit", 1)}),
    (FOUR, "at the default"): ({}, {INCIDENT: _all("incident", 0)}),
    (FIVE, "refused"): ({}, {BASELINE: _all("baseline", 1)}),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, STAYS, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", STAYS), ("4.9.7", CLEARED), ("5.3.3", STAYS), ("5.5.0", CLEARED)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_there_is_nothing_to_cure_where_the_code_clears_the_flag() -> None:
    asked = {
        release: [one.id for one in CLAIMS.values() if SCENARIO.asks(one, release)] for release in ("4.9.7", "5.3.3")
    }
    assert asked == {"4.9.7": [ONE, TWO, FIVE], "5.3.3": [ONE, TWO, THREE, FOUR, FIVE]}


def test_a_cure_of_a_broker_that_was_not_stuck_shows_nothing() -> None:
    history: History = {**STAYS, _refused("fix-restart"): _all("fix-restart", 0)}
    assert verdict(CLAIMS[THREE], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_tells_what_a_restart_costs() -> None:
    assert said(CLAIMS[THREE], STAYS) == (
        "Sends were still refused after a restart in none of 3 deployments, and after the limit was raised and set back in none of "
        "3 deployments. Sends failed during the restart in 3 of 3 deployments, and while the limit was raised in none of 3 "
        "deployments."
    )
