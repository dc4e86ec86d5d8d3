"""Transactions that a deleted topic brings back, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.delete_topic_rechecks_transactions import KEPT, OFTEN, SCENARIO, UNDECIDED
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNSURE = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE = (f"X-delete-topic-rechecks-transactions-{number:02}" for number in range(1, 6))


def _asked(arm: str, count: float, by: str = "after") -> History:
    return {f"asked_again_count {arm} by={by}": [[count]] * 2}


def _twice(arm: str, count: float) -> History:
    return {f"committed_twice_count {arm}": [[count]] * 2}


def _given_up(seconds: float) -> History:
    return {f"given_up_s {UNDECIDED}": [[seconds]] * 2}


LATER: History = {
    **_asked("baseline", 0), **_twice("baseline", 0), **_asked("incident", 0, "before"), **_asked("incident", 0),
    **_twice("incident", 0),
}  # fmt: skip
OF_460: History = {
    **LATER, **_asked("incident", 430), **_twice("incident", 215), **_asked(OFTEN, 6), **_given_up(21.4), **_asked(KEPT, 0),
    **_twice(KEPT, 0),
}  # fmt: skip

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "asked"): ({}, _asked("incident", 0)),
    (ONE, "before it"): ({}, _asked("incident", 40, "before")),
    (ONE, "without it"): ({}, _asked("baseline", 40)),
    (TWO, "twice"): ({}, _twice("incident", 0)),
    (TWO, "without it"): ({}, _twice("baseline", 20)),
    (THREE, "asked"): ({}, _asked(OFTEN, 32)),
    (THREE, "price"): ({}, _given_up(906)),
    (THREE, "by default"): ({}, _asked("incident", 0)),
    (FOUR, "asked"): ({}, _asked(KEPT, 32)),
    (FOUR, "twice"): ({}, _twice(KEPT, 16)),
    (FOUR, "by default"): ({}, _asked("incident", 0)),
    (FIVE, "asked"): ({}, _asked("baseline", 40)),
    (FIVE, "twice"): ({}, _twice("baseline", 20)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_460, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_460), ("4.9.7", LATER), ("5.3.3", LATER), ("5.5.0", LATER)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    asked = [claim for claim in CLAIMS.values() if release in claim.expected]
    assert len(asked) == (5 if release == "4.6.0" else 3)
    for claim in asked:
        assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_cure_shows_nothing_where_nothing_is_asked_anyway() -> None:
    for claim in (THREE, FOUR):
        assert verdict(CLAIMS[claim], {**OF_460, **_asked("incident", 0)}) == (UNSURE, Reason.CONTROL_FAILED)


def test_the_sentence_says_in_how_many_deployments() -> None:
    assert said(CLAIMS[ONE], OF_460) == (
        "After an unused topic was deleted, the broker asked about ended transactions in 2 of 2 deployments."
    )
