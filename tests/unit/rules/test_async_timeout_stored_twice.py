"""Asynchronous sends to a broker that stands still, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.async_timeout_stored_twice import ALONE, DEAD, LONG, SCENARIO, STILL, WELL
from scenarios.releases import RELEASES
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CONFIRMED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (f"X-async-timeout-stored-twice-{number:02}" for number in range(1, 8))
TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}


def _is(measure: str, arm: str, value: float) -> History:
    retries = "none" if arm == ALONE else "two"
    where = f"send=normal-async retries={retries} avoidance=off topic=both"
    return {f"{measure} {arm} {where}": [[value]] * TRIALS[arm]}


def _arm(arm: str, *, failing: float = 0.0, copies: float = 0.0, stored: float = 0.0) -> History:
    return {
        **_is("failed_for_good_share", arm, failing), **_is("copies_count", arm, copies),
        **_is("failed_stored_count", arm, stored), **_is("aimed_count", arm, 20),
    }  # fmt: skip


OF_4_6_0: History = {
    **_arm(WELL), **_arm(STILL, copies=20), **_arm(DEAD, failing=0.5), **_arm(ALONE, failing=0.5, stored=20),
    **_arm(LONG), **_is("aimed_took_s", LONG, 15.8),
}  # fmt: skip
OF_4_9_7: History = {**OF_4_6_0, **_arm(STILL, failing=0.5, stored=20), **_arm(DEAD)}
"""And of 5.x: a try that was not answered is the last, and one without a connection is not."""
REFUSED_IN_PART = _arm(STILL, failing=0.5, stored=5)
"""When it goes on, a broker with much to do refuses what then waits for longer than 200 ms."""

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "twice"): ({}, _is("copies_count", STILL, 0)),
    (ONE, "to that broker"): ({}, _is("aimed_count", WELL, 0)),
    (ONE, "both well"): ({}, _is("copies_count", WELL, 20)),
    (TWO, "fail"): (OF_4_9_7, {}),
    (TWO, "stored"): (REFUSED_IN_PART, {}),
    (TWO, "both well"): ({}, _is("failed_for_good_share", WELL, 0.5)),
    (THREE, "fail"): ({}, _is("failed_for_good_share", DEAD, 0)),
    (THREE, "to that broker"): ({}, _is("aimed_count", WELL, 0)),
    (THREE, "both well"): ({}, _is("failed_for_good_share", WELL, 0.5)),
    (FOUR, "twice"): ({}, _is("copies_count", ALONE, 20)),
    (FOUR, "price"): ({}, _is("failed_for_good_share", ALONE, 0)),
    (FOUR, "to that broker"): ({}, _is("aimed_count", ALONE, 0)),
    (FIVE, "fail"): ({}, _is("failed_for_good_share", LONG, 0.5)),
    (FIVE, "twice"): ({}, _is("copies_count", LONG, 20)),
    (FIVE, "price"): ({}, _is("aimed_took_s", LONG, 4.5)),
    (SIX, "fail"): ({}, _is("failed_for_good_share", WELL, 0.5)),
    (SIX, "twice"): ({}, _is("copies_count", WELL, 20)),
    (SEVEN, "stored"): ({}, _is("failed_stored_count", ALONE, 0)),
    (SEVEN, "fail"): ({}, _is("failed_for_good_share", ALONE, 0)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_4_6_0, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4_6_0), ("4.9.7", OF_4_9_7), ("5.3.3", OF_4_9_7), ("5.5.0", OF_4_9_7)]
)
def test_a_client_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_retries_are_taken_away_on_every_release() -> None:
    assert all(SCENARIO.asks(CLAIMS[one], release) for one in (FOUR, SEVEN) for release in RELEASES)
    nobody_sent: History = {**OF_4_9_7, **_is("aimed_count", ALONE, 0)}
    assert verdict(CLAIMS[FOUR], nobody_sent) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_one_deployment_whose_stores_were_not_read_takes_four_more() -> None:
    """Its copies have no value, which is on neither side."""
    key = next(iter(_is("copies_count", STILL, 20)))
    for read, found in ((4, (UNDECIDED, Reason.CLOSE)), (8, (CONFIRMED, ""))):
        not_read: list[list[float | None]] = [[None]]
        history: History = {**OF_4_6_0, key: [*not_read, *[[20.0]] * read]}
        assert verdict(CLAIMS[ONE], history) == found


def test_sends_that_never_go_to_the_broker_at_fault_show_nothing() -> None:
    assert verdict(CLAIMS[ONE], {**OF_4_6_0, **_is("aimed_count", WELL, 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_failed_and_was_stored() -> None:
    assert said(CLAIMS[TWO], OF_4_9_7) == (
        "Asynchronous sends to a broker that stood still failed in 5 of 5 deployments, and what had failed was stored all the same "
        "in 5 of 5 deployments."
    )


def test_the_sentence_says_what_is_left_without_retries() -> None:
    assert said(CLAIMS[FOUR], OF_4_9_7) == (
        "Without retries the other broker had 0 (in each of 5 deployments) copies; sends to the broker that stood still failed in "
        "5 of 5 deployments."
    )
