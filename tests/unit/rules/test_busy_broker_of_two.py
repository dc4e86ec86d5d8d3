"""One of two masters stalls, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import busy_broker_of_two
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CONFIRMED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.UNDECIDED
CLAIMS = claims_of(busy_broker_of_two.SCENARIO)
ENOUGH = [[0] * 8] * 5
"""Of tries in which something is never to happen."""


def _of_sends(measure: str, keyword: str = "") -> str:
    return " ".join(filter(None, (measure, "incident", keyword and f"keyword={keyword}", "stall_ms=1200 rate_hz=200")))


def _of_total(measure: str, arm: str) -> str:
    return f"{measure} {arm}{' keyword=any' if measure == 'rejected_count' else ''} stall_ms=1200 rate_hz=400"


ELSEWHERE = _of_sends("retried_elsewhere_share", "first-four")
FAILED, REFUSED = _of_sends("failed_share"), _of_sends("refused_count", "first-four")
OK, SOON = _of_sends("refused_then_ok_share", "any"), _of_sends("refused_ok_soon_share", "any")
ONE, TWO, MOVED, WELL = (
    _of_total("rejected_count", arm)
    for arm in ("incident-one-master", "fix-two-masters", "fix-topic-moved", "baseline-other-master-stalls")
)
LOST_TWO, LOST_MOVED = (_of_total("lost_count", arm) for arm in ("fix-two-masters", "fix-topic-moved"))

NOT_REPEATED: History = {
    **dict.fromkeys((ELSEWHERE, OK, SOON), [[0]] * 7),
    FAILED: [[0.25]] * 7,
    REFUSED: [[42]] * 7,
    ONE: [[480]] * 7,
    **dict.fromkeys((TWO, MOVED), [[478]] * 7),
    **dict.fromkeys((LOST_TWO, LOST_MOVED), [[0]] * 7),
    WELL: [[0]] * 2,
}
"""A client of 4.x."""
REPEATED: History = {**NOT_REPEATED, **dict.fromkeys((ELSEWHERE, OK, SOON), [[1]] * 7), FAILED: [[0]] * 7}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("BUSY-03", "elsewhere"): (REPEATED, NOT_REPEATED),
    ("BUSY-03", "failed for good"): (REPEATED, NOT_REPEATED),
    ("BUSY-03", "refused"): ({}, {REFUSED: [[0] * 15] * 5}),
    ("BUSY-17", "succeeded"): (REPEATED, NOT_REPEATED),
    ("BUSY-17", "within 100 ms"): (REPEATED, {**REPEATED, SOON: [[0.1]] * 7}),
    ("BUSY-19", "two masters"): ({TWO: [[240]] * 7}, {}),
    ("BUSY-06", "two masters"): ({TWO: [[240]] * 7}, {}),
    ("BUSY-06", "moved"): ({MOVED: [[30]] * 7}, {}),
    ("BUSY-06", "absent of two"): ({LOST_TWO: ENOUGH}, {LOST_TWO: [[0]] * 6 + [[3]]}),
    ("BUSY-06", "absent of moved"): ({LOST_MOVED: ENOUGH}, {LOST_MOVED: [[0]] * 6 + [[3]]}),
    ("BUSY-06", "on a well one"): ({}, {WELL: [[0], [120]]}),
}
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, NOT_REPEATED, PARTS)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("release", "history"), [("4.6.0", NOT_REPEATED), ("4.9.7", NOT_REPEATED), ("5.3.3", REPEATED)]
)
def test_a_client_that_does_as_its_code_says_gives_what_is_expected(claim: str, release: str, history: History) -> None:
    assert verdict(CLAIMS[claim], history) == (CLAIMS[claim].expected[release].verdict, "")


def test_a_master_that_refuses_without_a_stall_says_nothing_of_the_advice() -> None:
    assert verdict(CLAIMS["BUSY-06"], {**NOT_REPEATED, WELL: [[0], [120]]}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_advice_that_leaves_fewer_refusals_and_loses_nothing_is_confirmed() -> None:
    helps: History = {**NOT_REPEATED, **dict.fromkeys((TWO, MOVED), [[240]] * 7), LOST_TWO: ENOUGH, LOST_MOVED: ENOUGH}
    assert verdict(CLAIMS["BUSY-06"], helps) == (CONFIRMED, "")


def test_the_sentence_says_that_each_master_stalled() -> None:
    sentence = said(CLAIMS["BUSY-19"], NOT_REPEATED)
    assert "two masters that stalled as the one did had 0.996 (in each of 7 pairs) times its refusals" in sentence
