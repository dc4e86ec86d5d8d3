"""Topics that stay hidden, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.name_server_restart_hides_topics import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE = (f"X-name-server-restart-hides-topics-{number:02}" for number in range(1, 6))
PERMISSION, RESTART, ANOTHER = CURES = ("fix-permission", "fix-restart", "fix-another-topic")


def _all(value: float) -> list[list[float]]:
    return [[value]] * SCENARIO.budget.deployments


def _listed(arm: str, topic: str, when: str) -> str:
    return f"topic_listed {arm} topic={topic} when={when}"


BEFORE, NEW = _listed("incident", "old", "before"), _listed("incident", "new", "held")
HELD, BASELINE = _listed("incident", "old", "held"), _listed("baseline", "old", "held")
FAIL = "unaccepted_after_share incident after=fault"
BACK = {arm: _listed(arm, "old", "cured") for arm in CURES}
HIDDEN = {arm: _listed(arm, "old", "held") for arm in CURES}
PRICE = {arm: f"unaccepted_in_cure_count {arm}" for arm in (PERMISSION, RESTART)}

OF_4X: History = {
    BEFORE: _all(1), NEW: _all(1), HELD: _all(0), BASELINE: _all(1), FAIL: _all(0),
    BACK[PERMISSION]: _all(1), BACK[RESTART]: _all(1), BACK[ANOTHER]: _all(0), **dict.fromkeys(HIDDEN.values(), _all(0)),
    PRICE[PERMISSION]: _all(0), PRICE[RESTART]: _all(45),
}  # fmt: skip
OF_5X: History = {**OF_4X, HELD: _all(1)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "hidden"): ({}, {HELD: _all(1)}),
    (ONE, "new"): ({}, {NEW: _all(0)}),
    (ONE, "before"): ({}, {BEFORE: _all(0)}),
    (ONE, "without a topic"): ({}, {BASELINE: _all(0)}),
    (TWO, "fail"): ({FAIL: _all(0.6)}, {}),
    (THREE, "permission"): ({}, {BACK[PERMISSION]: _all(0)}),
    (THREE, "restart"): ({}, {BACK[RESTART]: _all(0)}),
    (THREE, "price of a restart"): ({}, {PRICE[RESTART]: _all(0)}),
    (THREE, "price of the permission"): ({}, {PRICE[PERMISSION]: _all(3)}),
    (THREE, "hidden, then restarted"): ({}, {HIDDEN[RESTART]: _all(1)}),
    (THREE, "hidden, then written"): ({}, {HIDDEN[PERMISSION]: _all(1)}),
    (FOUR, "back"): ({BACK[ANOTHER]: _all(1)}, {}),
    (FOUR, "hidden"): ({}, {HIDDEN[ANOTHER]: _all(1)}),
    (FIVE, "listed"): ({}, {BASELINE: _all(0)}),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_4X, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4X), ("4.9.7", OF_4X), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_name_servers_that_do_as_their_code_says_give_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_cure_of_what_was_not_hidden_shows_nothing() -> None:
    history: History = {**OF_4X, HIDDEN[PERMISSION]: _all(1)}
    assert verdict(CLAIMS[THREE], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_came_back_by_what() -> None:
    sentence = (
        "With transactionCheckInterval=2000 the old topic was back after one more was made in none of 3 deployments."
    )
    assert said(CLAIMS[FOUR], OF_4X) == sentence
