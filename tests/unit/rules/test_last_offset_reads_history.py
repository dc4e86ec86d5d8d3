"""A group that is to begin at the end, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.last_offset_reads_history import SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-last-offset-reads-history-{number:02}" for number in range(1, 5))
BASELINE, INCIDENT, COMMITTED, RATIO = (f"history_read_share {arm.name}" for arm in SCENARIO.arms)
LATER = {name: name.replace("history_", "later_") for name in (BASELINE, INCIDENT, COMMITTED, RATIO)}


def _all(value: float) -> list[list[float]]:
    return [[value]] * SCENARIO.budget.deployments


OF_4X: History = {
    BASELINE: _all(1), INCIDENT: _all(1), COMMITTED: _all(0), RATIO: _all(0), **dict.fromkeys(LATER.values(), _all(1)),
}  # fmt: skip
OF_5X: History = {**OF_4X, RATIO: _all(1)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "history"): ({}, {INCIDENT: _all(0)}),
    (ONE, "later"): ({}, {LATER[INCIDENT]: _all(0)}),
    (ONE, "it is there"): ({}, {BASELINE: _all(0)}),
    (TWO, "history"): ({}, {COMMITTED: _all(1)}),
    (TWO, "later"): ({}, {LATER[COMMITTED]: _all(0)}),
    (TWO, "without offsets"): ({}, {INCIDENT: _all(0)}),
    (THREE, "history"): ({}, {RATIO: _all(1)}),
    (THREE, "later"): ({}, {LATER[RATIO]: _all(0)}),
    (FOUR, "history"): ({}, {BASELINE: _all(0)}),
    (FOUR, "later"): ({}, {LATER[BASELINE]: _all(0)}),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_4X, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_4X), ("4.9.7", OF_4X), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_group_that_gets_nothing_at_all_does_not_begin_at_the_end() -> None:
    assert verdict(CLAIMS[TWO], {**OF_4X, LATER[COMMITTED]: _all(0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_was_read() -> None:
    assert said(CLAIMS[ONE], OF_4X) == (
        "A new group with CONSUME_FROM_LAST_OFFSET consumed the whole history in 5 of 5 deployments."
    )
