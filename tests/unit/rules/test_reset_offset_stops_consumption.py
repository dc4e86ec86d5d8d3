"""Offsets that are reset, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.reset_offset_stops_consumption import AWAY, ORDERED, ORDERED_TOLD, SCENARIO, TOLD
from tests.lib.histories import History, claims_of, part, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE, SIX = (f"X-reset-offset-stops-consumption-{number:02}" for number in range(1, 7))


TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}


def _late(arm: str, seconds: float) -> History:
    return {f"delivery_late_s {arm} level=0": [[seconds]] * TRIALS[arm]}


def _twice(arm: str, count: float) -> History:
    return {f"duplicate_count {arm}": [[count]] * TRIALS[arm]}


def _set_back(arm: str, seconds: float) -> History:
    return {**_late(arm, seconds), **_twice(arm, 41)}


OF_4X: History = {
    **_late("baseline", 0.1), **_twice("baseline", 0), **_set_back("incident", 10.2), **_set_back(ORDERED, 10.4),
    **_set_back(AWAY, 1.8),
}  # fmt: skip
OF_533: History = {
    **_late("baseline", 0.1), **_twice("baseline", 0), **_set_back("incident", 0.3), **_set_back(ORDERED, 0.4),
    **_set_back(TOLD, 10.2), **_set_back(ORDERED_TOLD, 10.3),
}  # fmt: skip
OF_550: History = {**OF_533, **_set_back(ORDERED_TOLD, 0.5)}

PARTS: dict[tuple[str, str], tuple[History, History, History]] = {
    (ONE, "late"): (OF_4X, {}, _late("incident", 0.3)),
    (ONE, "set back"): (OF_4X, {}, _twice("incident", 0)),
    (ONE, "without a reset"): (OF_4X, {}, _late("baseline", 10)),
    (TWO, "late"): (OF_533, {}, _late(TOLD, 0.3)),
    (TWO, "set back"): (OF_533, {}, _twice(TOLD, 0)),
    (TWO, "by default"): (OF_533, {}, _late("incident", 10)),
    (THREE, "late"): (OF_4X, _late(ORDERED, 30), _late(ORDERED, 0.3)),
    (THREE, "set back"): (OF_4X, {}, _twice(ORDERED, 0)),
    (FOUR, "late"): (OF_550, {}, _late(ORDERED_TOLD, 10)),
    (FOUR, "set back"): (OF_550, {}, _twice(ORDERED_TOLD, 0)),
    (FOUR, "normal consumers wait"): (OF_550, {}, _late(TOLD, 0.3)),
    (FIVE, "late"): (OF_4X, {}, _late(AWAY, 10)),
    (FIVE, "set back"): (OF_4X, {}, _twice(AWAY, 0)),
    (FIVE, "while they consume"): (OF_4X, {}, _late("incident", 0.3)),
    (SIX, "late"): (OF_4X, {}, _late("baseline", 10)),
    (SIX, "twice"): (OF_4X, {}, _twice("baseline", 40)),
}
"""By part a history, and what is changed of it to confirm the part and to refute it."""


def test_no_part_is_left_out() -> None:
    assert set(PARTS) == {(claim.id, one.name) for claim in CLAIMS.values() for one in claim.parts}


@pytest.mark.parametrize(("claim", "name"), PARTS)
def test_a_part_is_confirmed_and_refuted(claim: str, name: str) -> None:
    history, *changes = PARTS[claim, name]
    found = [part(CLAIMS[claim], name, {**history, **change}).verdict for change in changes]
    assert found == [CONFIRMED, REFUTED]


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4X), ("4.9.7", OF_4X), ("5.3.3", OF_533), ("5.5.0", OF_550)]
)
def test_a_group_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_releases_are_asked_what_they_have() -> None:
    asked = {claim: [r for r in ("4.6.0", "5.5.0") if SCENARIO.asks(CLAIMS[claim], r)] for claim in CLAIMS}
    assert (asked[TWO], asked[FOUR], asked[FIVE]) == (["5.5.0"], ["5.5.0"], ["4.6.0"])


def test_a_reset_that_brought_nothing_again_shows_nothing() -> None:
    assert verdict(CLAIMS[ONE], {**OF_4X, **_twice("incident", 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_that_it_stopped() -> None:
    assert said(CLAIMS[ONE], OF_4X) == (
        "A group whose offsets were reset stood still for more than 5 s in 2 of 2 deployments."
    )
