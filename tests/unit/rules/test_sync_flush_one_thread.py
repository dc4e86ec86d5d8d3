"""SYNC_FLUSH and slow flushes, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.releases import RELEASES
from scenarios.sync_flush_one_thread import ASYNC, SCENARIO, THREADS
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CONFIRMED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-sync-flush-one-thread-{number:02}" for number in range(1, 5))
PER_FLUSH, ACCEPTED, REFUSED, WAITED = (
    "accepted_per_flush", "accepted_per_s", "refused_in_hold_share", "waited_flush_share",
)  # fmt: skip


def _is(measure: str, arm: str, value: float) -> History:
    return {f"{measure} {arm}": [[value]] * 5}


OF_460: History = {
    **_is(ACCEPTED, "baseline", 1198), **_is(ACCEPTED, "incident", 140),
    **_is(PER_FLUSH, "incident", 1.01), **_is(REFUSED, "incident", 0.5),
    **_is(ACCEPTED, ASYNC, 1190), **_is(REFUSED, ASYNC, 0), **_is(ACCEPTED, THREADS, 1100), **_is(REFUSED, THREADS, 0),
    **_is(WAITED, THREADS, 1),
}  # fmt: skip
NEWER: History = {**OF_460, **_is(PER_FLUSH, "incident", 6.5), **_is(REFUSED, "incident", 0)}

PARTS: dict[tuple[str, str], History] = {
    (ONE, "alone"): _is(PER_FLUSH, "incident", 6.5),
    (TWO, "refused"): _is(REFUSED, "incident", 0),
    (TWO, "ASYNC_FLUSH"): _is(REFUSED, ASYNC, 0.5),
    (THREE, "accepted"): _is(ACCEPTED, THREADS, 170),
    (THREE, "refused"): _is(REFUSED, THREADS, 0.5),
    (THREE, "price"): _is(WAITED, THREADS, 0.1),
    (THREE, "by default"): _is(PER_FLUSH, "incident", 6.5),
    (FOUR, "accepted"): _is(ACCEPTED, ASYNC, 170),
    (FOUR, "refused"): _is(REFUSED, ASYNC, 0.5),
    (FOUR, "without a fault"): _is(ACCEPTED, "baseline", 170),
}
"""By part what is changed of a broker of 4.6.0 to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(
    CLAIMS, OF_460, {key: ({}, change) for key, change in PARTS.items()}
)


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str) -> None:
    history = OF_460 if release == "4.6.0" else NEWER
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_more_threads_show_nothing_where_one_kept_nobody_waiting() -> None:
    assert not SCENARIO.asks(CLAIMS[THREE], "4.9.7")
    assert verdict(CLAIMS[THREE], NEWER) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_how_many_share_a_flush() -> None:
    assert said(CLAIMS[ONE], OF_460) == "With SYNC_FLUSH each flush took one message in 5 of 5 deployments."


def test_twice_as_much_is_more_however_far_from_all_that_is_sent() -> None:
    history = {**OF_460, **_is(ACCEPTED, THREADS, 447)}
    assert verdict(CLAIMS[THREE], history) == (CONFIRMED, "")
    assert "3.19" in said(CLAIMS[THREE], history)
    one_is_not = {**history, f"{ACCEPTED} {THREADS}": [[447]] * 4 + [[200]]}
    assert verdict(CLAIMS[THREE], one_is_not) == (UNDECIDED, Reason.CLOSE)
