"""A topic that is made anew, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.recreated_topic_keeps_offsets import FEWER, SCENARIO, ZERO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-recreated-topic-keeps-offsets-{number:02}" for number in range(1, 5))


def _read(arm: str, share: float) -> History:
    return {f"later_read_share {arm}": [[share]] * 2}


OF_497: History = {**_read("baseline", 1), **_read("incident", 0.5), **_read(FEWER, 0), **_read(ZERO, 1)}
OF_460: History = {**OF_497, **_read(FEWER, 1)}
OF_5X: History = {**_read("baseline", 1), **_read("incident", 1), **_read(FEWER, 1)}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (ONE, "skipped"): ({}, _read("incident", 1)),
    (ONE, "the topic stays"): ({}, _read("baseline", 0.5)),
    (TWO, "skipped"): ({}, _read(FEWER, 1)),
    (TWO, "the topic stays"): ({}, _read("baseline", 0.5)),
    (THREE, "read"): ({}, _read(ZERO, 0.5)),
    (THREE, "without it"): ({}, _read("incident", 1)),
    (FOUR, "read"): ({}, _read("baseline", 0.5)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, OF_497, PARTS)


@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", OF_460), ("4.9.7", OF_497), ("5.3.3", OF_5X), ("5.5.0", OF_5X)]
)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_cure_shows_nothing_where_nothing_is_skipped() -> None:
    assert not SCENARIO.asks(CLAIMS[THREE], "5.3.3")
    assert verdict(CLAIMS[THREE], {**OF_497, **_read("incident", 1)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_what_was_skipped() -> None:
    assert said(CLAIMS[ONE], OF_497) == (
        "Of a topic that was made anew, its old group skipped as many messages as it had once consumed in 2 of 2 deployments."
    )
