"""Backlogs that a slave hands out, or does not, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.slave_serves_no_reads import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-slave-serves-no-reads-{number:02}" for number in range(1, 5))


def _all(value: float) -> list[list[float]]:
    return [[value]] * SCENARIO.budget.deployments


LIVE, DEFAULT, READS, ORDERED = (
    f"read_in_hold_share {arm}" for arm in ("baseline", "incident", "fix-slave-read", "incident-ordered")
)
KEPT, KEPT_ORDERED = "history_read_share incident", "history_read_share incident-ordered"
AS_EXPECTED: History = {
    LIVE: _all(1), DEFAULT: _all(0), READS: _all(1), ORDERED: _all(0), KEPT: _all(1), KEPT_ORDERED: _all(1),
}  # fmt: skip

PARTS: dict[tuple[str, str], History] = {
    (ONE, "read"): {DEFAULT: _all(1)},
    (ONE, "kept"): {KEPT: _all(0)},
    (ONE, "live master"): {LIVE: _all(0)},
    (TWO, "read"): {READS: _all(0)},
    (TWO, "by default"): {DEFAULT: _all(1)},
    (THREE, "read"): {ORDERED: _all(1)},
    (THREE, "kept"): {KEPT_ORDERED: _all(0)},
    (FOUR, "read"): {LIVE: _all(0.4)},
}
"""By part what is changed to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(
    CLAIMS, AS_EXPECTED, {key: ({}, change) for key, change in PARTS.items()}
)


@pytest.mark.parametrize("release", ["4.6.0", "4.9.7", "5.3.3", "5.5.0"])
def test_slaves_that_do_as_their_code_says_give_what_is_expected(release: str) -> None:
    history = {**AS_EXPECTED, DEFAULT: _all(float(release.startswith("4.")))}
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_backlog_that_was_lost_says_nothing_of_who_hands_it_out() -> None:
    assert verdict(CLAIMS[ONE], {**AS_EXPECTED, KEPT: _all(0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_was_consumed() -> None:
    assert said(CLAIMS[FOUR], AS_EXPECTED) == "With a live master all 200 messages were consumed in 3 of 3 deployments."
