"""Offsets beyond the end of a queue, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.offset_past_the_end import FEW_SENT, MANY_SENT, SCENARIO, SYNC, TAIL
from scenarios.releases import RELEASES
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE = (f"X-offset-past-the-end-{number:02}" for number in range(1, 6))
TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}
AGAIN, SKIPPED, LOST = "consumed_again_share", "skipped_after_share", "past_end_count"


def _is(measure: str, arm: str, value: float) -> History:
    """A deployment for each trial, as the arm has them."""
    return {f"{measure} {arm}": [[value]] * TRIALS[arm]}


OF_460: History = {
    **_is(AGAIN, "baseline", 0), **_is(SKIPPED, "baseline", 0), **_is(LOST, "incident", TAIL), **_is(AGAIN, "incident", 0.83),
    **_is(LOST, FEW_SENT, TAIL), **_is(SKIPPED, FEW_SENT, 0), **_is(LOST, MANY_SENT, TAIL), **_is(SKIPPED, MANY_SENT, 0.5),
    **_is(LOST, SYNC, 0), **_is(SKIPPED, SYNC, 0), **_is(AGAIN, SYNC, 0),
}  # fmt: skip
NEWER: History = {**OF_460, **_is(AGAIN, "incident", 0), **_is(SKIPPED, FEW_SENT, 1)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "again"): (OF_460, NEWER),
    (ONE, "lost"): (NEWER, _is(LOST, "incident", 0)),
    (ONE, "without a power loss"): (NEWER, _is(AGAIN, "baseline", 0.83)),
    (TWO, "skipped"): (NEWER, OF_460),
    (TWO, "lost"): (NEWER, _is(LOST, FEW_SENT, 1)),
    (TWO, "without a power loss"): (NEWER, _is(SKIPPED, "baseline", 1)),
    (THREE, "skipped"): (NEWER, _is(SKIPPED, MANY_SENT, 0)),
    (THREE, "lost"): (NEWER, _is(LOST, MANY_SENT, 0)),
    (FOUR, "lost"): (NEWER, _is(LOST, SYNC, TAIL)),
    (FOUR, "skipped"): (NEWER, _is(SKIPPED, SYNC, 1)),
    (FOUR, "again"): (NEWER, _is(AGAIN, SYNC, 0.83)),
    (FOUR, "by default"): (NEWER, _is(LOST, FEW_SENT, 0)),
    (FIVE, "skipped"): (NEWER, _is(SKIPPED, "baseline", 0.5)),
    (FIVE, "again"): (NEWER, _is(AGAIN, "baseline", 0.83)),
}
"""By part the histories that confirm it and refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, NEWER, PARTS)


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str) -> None:
    history = OF_460 if release == "4.6.0" else NEWER
    for claim in CLAIMS.values():
        assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_power_loss_that_took_nothing_shows_nothing() -> None:
    assert verdict(CLAIMS[ONE], {**NEWER, **_is(LOST, "incident", 0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_came_again() -> None:
    assert said(CLAIMS[ONE], OF_460) == (
        "After a power loss the group was given everything in the queue again in 3 of 3 deployments."
    )
