"""A stall of more than a second by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import append_lock_over_1s
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(append_lock_over_1s.SCENARIO)
STALLS, FEW = [[None] * 8] + [[None] * 7] * 4, [[None]] * 2
"""36 stalls in five deployments, and two in two."""


def _all(value: float, tries: list[list[None]] = STALLS) -> list[list[float]]:
    return [[value] * len(each) for each in tries]


def _but_one(value: float, other: float, tries: list[list[None]] = STALLS) -> list[list[float]]:
    first, *more = _all(value, tries)
    return [[other, *first[1:]], *more]


def _refused(keyword: str, arm: str, stall_ms: int, rate_hz: int = 500) -> str:
    return f"rejected_count {arm} keyword={keyword} stall_ms={stall_ms} rate_hz={rate_hz}"


QUEUE, POOL = "incident-small-queue", "incident-small-pool"
REJECTED, CLEANED = _refused("REJECTREQUEST", "incident", 1200), _refused("PCBUSY_CLEAN_QUEUE", "incident", 1200)
IN_STORE, NO_PLACE = _refused("PC_SYNCHRONIZED", "incident", 1200), _refused("OVERLOAD", "incident", 1200)
WAITED = _refused("TIMEOUT_CLEAN_QUEUE", "incident-younger-lock", 450)
YOUNG_700 = _refused("REJECTREQUEST", "incident-younger-lock", 700)
FIRST, FIRST_REJECTED = (
    f"first_rejected_after_ms incident keyword={keyword} stall_ms=1200 rate_hz=500"
    for keyword in ("first-four", "REJECTREQUEST")
)
OVERFLOW, IN_THREADS = _refused("OVERLOAD", QUEUE, 150), _refused("PC_SYNCHRONIZED", "incident-busy-threads", 1500, 50)
FOUR_QUEUE, FOUR_POOL = _refused("first-four", QUEUE, 150), _refused("first-four", POOL, 0)
REJECTED_QUEUE, REJECTED_POOL = _refused("REJECTREQUEST", QUEUE, 150), _refused("REJECTREQUEST", POOL, 0)
LONGER_LIMIT = _refused("REJECTREQUEST", "better-longer-busy-timeout", 1200)
CALM = _refused("any", "baseline", 0)
OTHERS, ENDS = (
    f"{measure} incident moment=after stall_ms=1200 rate_hz=500"
    for measure in ("other_reject_conditions", "busy_ends_ms")
)
LOST, REFUSED = (
    f"{measure} incident stall_ms=1200 rate_hz=500" for measure in ("lost_count", "refused_for_good_count")
)
YET_STORED = "refused_stored_count incident stall_ms=1200 rate_hz=500"
ABSENT, ABSENT_CALM = (
    f"unanswered_absent_count {arm} stall_ms=0 rate_hz=500"
    for arm in ("incident-small-pool-one-way", "baseline-one-way")
)
CODE = "refusal_code incident keyword=REJECTREQUEST stall_ms=1200 rate_hz=500"

AS_THE_CODE_SAYS: History = {
    **dict.fromkeys((REJECTED, CLEANED), _all(100)),
    **dict.fromkeys((IN_STORE, NO_PLACE, LOST, YET_STORED), _all(0)),
    **dict.fromkeys((FIRST, FIRST_REJECTED), _all(1003)),
    WAITED: _all(122, FEW),
    YOUNG_700: _all(0, FEW),
    **dict.fromkeys((OVERFLOW, FOUR_QUEUE), _all(25, FEW)),
    **dict.fromkeys((FOUR_POOL, REJECTED_POOL), _all(200, FEW)),
    REJECTED_QUEUE: _all(0, FEW),
    IN_THREADS: _all(13, FEW),
    LONGER_LIMIT: _all(0, FEW),
    CALM: [[0]] * 5,
    ABSENT: [[450]] * 5,
    ABSENT_CALM: [[0]] * 5,
    OTHERS: _all(0),
    ENDS: _all(10_000_000),
    REFUSED: _all(600),
    CODE: _all(2),
}  # fmt: skip

ALWAYS_FOUR: History = dict.fromkeys((IN_STORE, NO_PLACE), _all(20))

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("BUSY-01", "before queueing"): ({}, {REJECTED: _all(0)}),
    ("BUSY-01", "for the page cache"): ({}, {CLEANED: _all(0)}),
    ("BUSY-01", "for waiting"): ({}, {WAITED: _all(0, FEW)}),
    ("BUSY-01", "full queue"): ({}, {OVERFLOW: _all(0, FEW)}),
    ("BUSY-01", "in the store"): ({}, {IN_THREADS: _all(0, FEW)}),
    ("BUSY-01", "without a fault"): ({}, {CALM: [[0]] * 4 + [[30]]}),
    ("BUSY-02", "before a second"): ({}, {FIRST: _but_one(1003, 450)}),
    ("BUSY-02", "queue of 50"): ({FOUR_QUEUE: [[0] * 8] * 5}, {}),
    ("BUSY-02", "pool of two"): ({FOUR_POOL: [[0] * 8] * 5}, {}),
    ("BUSY-02", "REJECTREQUEST"): ({}, {REJECTED: [[0] * 15] * 5}),
    ("BUSY-02", "PCBUSY_CLEAN_QUEUE"): ({}, {CLEANED: [[0] * 15] * 5}),
    ("BUSY-02", "PC_SYNCHRONIZED"): (ALWAYS_FOUR, {IN_STORE: [[0] * 15] * 5}),
    ("BUSY-02", "OVERLOAD"): (ALWAYS_FOUR, {NO_PLACE: [[0] * 15] * 5}),
    ("BUSY-13", "page cache busy"): ({}, {REJECTED: _all(0)}),
    ("BUSY-13", "pool short"): ({}, {REJECTED_POOL: _all(0, FEW)}),
    ("BUSY-13", "lock younger"): ({}, {FIRST_REJECTED: _but_one(1003, 450)}),
    ("BUSY-13", "stall shorter"): ({}, {YOUNG_700: _all(100, FEW)}),
    ("BUSY-13", "queue full"): ({}, {REJECTED_QUEUE: _all(25, FEW)}),
    ("BUSY-13", "longer limit"): ({}, {LONGER_LIMIT: _all(100, FEW)}),
    ("BUSY-13", "others"): ({}, {OTHERS: _all(1)}),
    ("BUSY-16", "one-way"): ({}, {ABSENT: [[0] * 15] * 5}),
    ("BUSY-16", "code 2"): ({}, {CODE: _but_one(2, 0)}),
    ("BUSY-16", "stored"): ({}, {YET_STORED: _but_one(0, 3)}),
    ("BUSY-16", "acknowledged"): ({}, {LOST: _but_one(0, 40)}),
    ("BUSY-16", "rejected"): ({}, {REJECTED: _all(0)}),
    ("BUSY-16", "pool short"): ({}, {REJECTED_POOL: _all(0, FEW)}),
    ("BUSY-16", "never sent"): ({}, {REFUSED: _all(0)}),
    ("BUSY-21", "upper end"): ({}, {ENDS: _all(1_000_000)}),
}  # fmt: skip
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_CODE_SAYS, PARTS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    assert verdict(CLAIMS[claim], AS_THE_CODE_SAYS) == (CLAIMS[claim].expected["4.6.0"].verdict, "")


def test_a_release_that_asks_for_a_third_condition_refutes_that_there_are_two() -> None:
    assert verdict(CLAIMS["BUSY-13"], {**AS_THE_CODE_SAYS, OTHERS: _all(1)})[0] is REFUTED


def test_the_sentence_says_which_settings_bring_a_keyword_without_a_slow_append() -> None:
    sentence = said(CLAIMS["BUSY-02"], AS_THE_CODE_SAYS)
    assert "from a queue of 50 places in all 2 stalls" in sentence
    assert sentence.endswith("It holds in this scope: default settings.")


def test_a_one_way_send_that_no_store_has_is_loss_wherever_none_is_without_a_rejection() -> None:
    assert (
        verdict(CLAIMS["BUSY-16"], {**AS_THE_CODE_SAYS, ABSENT: [[0]] * 4 + [[3]], ABSENT_CALM: [[0] * 8] * 5})[0]
        is CONFIRMED
    )
    without = verdict(CLAIMS["BUSY-16"], {**AS_THE_CODE_SAYS, ABSENT_CALM: [[0]] * 4 + [[3]]})
    assert without == (UNDECIDED, Reason.CONTROL_FAILED)


def test_a_release_that_stores_what_it_rejects_refutes_that_its_senders_are_told_right() -> None:
    assert verdict(CLAIMS["BUSY-16"], {**AS_THE_CODE_SAYS, YET_STORED: _but_one(0, 3)})[0] is REFUTED


def test_nothing_lost_says_nothing_where_nothing_was_rejected() -> None:
    assert verdict(CLAIMS["BUSY-16"], {**AS_THE_CODE_SAYS, REJECTED: _all(0)}) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_constant_of_the_jar_is_told_itself() -> None:
    assert said(CLAIMS["BUSY-21"], AS_THE_CODE_SAYS).endswith("below an age of 10,000,000\N{NARROW NO-BREAK SPACE}ms.")
