"""Delayed messages that a restart delivers again, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.delayed_again_after_restart import KILLED, OFTEN, SCENARIO, UNDISTURBED
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-delayed-again-after-restart-{number:02}" for number in range(1, 5))
LEVELS = (1, 2, 3)


def _again(arm: str, share: float) -> History:
    return {f"delivered_again_share {arm}": [[share]] * 2}


def _missing(arm: str, share: float) -> History:
    return {f"undelivered_share {arm} level={level} by=end": [[share]] * 2 for level in LEVELS}


def _late(arm: str, seconds: float) -> History:
    return {f"delivery_late_s {arm} level={level}": [[seconds]] * 2 for level in LEVELS}


OF_460: History = {
    **_again("baseline", 0), **_late("baseline", 0.2), **_again("incident", 55), **_again(KILLED, 48), **_missing(KILLED, 0),
    **_again(OFTEN, 0.4), **_late(UNDISTURBED, 0.2),
}  # fmt: skip
LATER: History = {**OF_460, **_again("incident", 0)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "again"): ({}, _again("incident", 0)),
    (ONE, "without a restart"): ({}, _again("baseline", 1)),
    (TWO, "again"): ({}, _again(KILLED, 0)),
    (TWO, "all come"): ({}, _missing(KILLED, 1)),
    (TWO, "without a restart"): ({}, _again("baseline", 1)),
    (THREE, "again"): (_again(OFTEN, 0), _again(OFTEN, 1)),
    (THREE, "price"): ({}, _late(UNDISTURBED, 10)),
    (THREE, "by default"): ({}, _again(KILLED, 0)),
    (FOUR, "again"): ({}, _again("baseline", 1)),
    (FOUR, "late"): ({}, _late("baseline", 10)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_460, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_460), ("4.9.7", LATER), ("5.3.3", LATER), ("5.5.0", LATER)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_setting_shows_nothing_where_a_kill_brings_nothing_again_anyway() -> None:
    assert verdict(CLAIMS[THREE], {**OF_460, **_again(KILLED, 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_came_again() -> None:
    assert said(CLAIMS[ONE], OF_460) == (
        "What a broker had delivered in its last seconds came again after a stop and a start in 2 of 2 deployments."
    )
