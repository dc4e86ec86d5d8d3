"""Masters that acknowledge without their slaves, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.sync_master_acknowledges_alone import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CONFIRMED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE = (f"X-sync-master-acknowledges-alone-{number:02}" for number in range(1, 6))
COPIES, DEGRADES = "fix-two-copies", "better-degrades"


def _all(value: float, deployments: int = SCENARIO.budget.deployments) -> list[list[float]]:
    return [[value]] * deployments


def _unaccepted(arm: str) -> str:
    return f"unaccepted_after_share {arm} after=fault"


def _absent(arm: str) -> str:
    return f"lost_on_slave_count {arm}"


def _told(arm: str, status: str) -> str:
    return f"stored_unsure_count {arm} status={status}"


TIMEOUT, NONE = _told("incident", "FLUSH_SLAVE_TIMEOUT"), _told("incident", "SLAVE_NOT_AVAILABLE")
QUIET = {_told("baseline", status): _all(0) for status in ("FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")}

OF_4X: History = {
    _unaccepted("baseline"): _all(0), **QUIET, _unaccepted("incident"): _all(1), _absent("incident"): _all(0), TIMEOUT: _all(4),
    NONE: _all(100),
}  # fmt: skip
OF_5X: History = {
    _unaccepted("baseline"): _all(0), **QUIET, _unaccepted("incident"): _all(0), _absent("incident"): _all(480), TIMEOUT: _all(0),
    NONE: _all(0), _unaccepted(COPIES): _all(1), _absent(COPIES): _all(0), _unaccepted(DEGRADES): _all(0.6),
    _absent(DEGRADES): _all(200),
}  # fmt: skip

BY_ANY_OF_THREE = 7
"""Deployments that refute a claim of which three parts are decided by sides."""

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "accepted"): ({}, {_unaccepted("incident"): _all(1)}),
    (ONE, "absent"): ({}, {_absent("incident"): _all(0)}),
    (ONE, "with its slave"): ({}, {_unaccepted("baseline"): _all(1)}),
    (TWO, "timeout"): ({TIMEOUT: _all(4)}, {}),
    (TWO, "none"): ({NONE: _all(100)}, {}),
    (THREE, "absent"): ({}, {_absent(COPIES): _all(3)}),
    (THREE, "price"): ({}, {_unaccepted(COPIES): _all(0)}),
    (THREE, "accepted"): ({}, {_unaccepted("incident"): _all(1)}),
    (THREE, "absent by default"): ({}, {_absent("incident"): _all(0)}),
    (FOUR, "again"): ({}, {_unaccepted(DEGRADES): _all(1)}),
    (FOUR, "first"): ({}, {_unaccepted(DEGRADES): _all(0)}),
    (FOUR, "absent"): ({}, {_absent(DEGRADES): _all(0)}),
    (FIVE, "accepted"): ({}, {_unaccepted("baseline"): _all(0.2, BY_ANY_OF_THREE)}),
    (FIVE, "timeout"): ({}, {_told("baseline", "FLUSH_SLAVE_TIMEOUT"): _all(1, BY_ANY_OF_THREE)}),
    (FIVE, "none"): ({}, {_told("baseline", "SLAVE_NOT_AVAILABLE"): _all(1, BY_ANY_OF_THREE)}),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_5X, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4X), ("4.9.7", OF_4X), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_masters_that_do_as_their_code_says_give_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_cure_of_what_was_not_lost_shows_nothing() -> None:
    history: History = {**OF_5X, _absent("incident"): _all(0)}
    assert verdict(CLAIMS[THREE], history) == (UNDECIDED, Reason.CONTROL_FAILED)


@pytest.mark.parametrize(
    ("claim", "seen", "lost"), [(TWO, TIMEOUT, 0), (FIVE, _told("baseline", "SLAVE_NOT_AVAILABLE"), 80)]
)
def test_one_deployment_whose_slave_was_lost_from_sight_takes_four_more(claim: str, seen: str, lost: float) -> None:
    for deployments, found in ((5, (UNDECIDED, Reason.CLOSE)), (9, (CONFIRMED, ""))):
        usual = {name: [*by_deployment[:1]] * deployments for name, by_deployment in OF_4X.items()}
        assert verdict(CLAIMS[claim], {**usual, seen: [[lost], *usual[seen][1:]]}) == found


def test_the_sentence_says_what_the_slave_lacks() -> None:
    assert said(CLAIMS[THREE], OF_5X).startswith(
        "With inSyncReplicas=2 acknowledged messages were absent from the slave in none of 5 deployments;"
    )
