"""One jammed pool and requests to the others, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import send_queue_full
from tests.lib.histories import History, claims_of, part, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
(BUSY_15,) = claims_of(send_queue_full.SCENARIO).values()
POOLS = ("send", "pull", "admin", "heartbeat")
TWELVE = (3, 3, 2, 2, 2)
"""Jams of a pool by deployment."""


def _all(value: float) -> list[list[float]]:
    return [[value] * count for count in TWELVE]


def _but_one(value: float, other: float) -> list[list[float]]:
    first, *more = _all(value)
    return [[other, *first[1:]], *more]


def _of(measure: str, jammed: str, **params: str) -> str:
    arm, stall_ms = ("incident", 1200) if jammed == "send" else (f"incident-{jammed}-jammed", 450)
    named = " ".join(f"{name}={value}" for name, value in params.items())
    return f"{measure} {arm} {named} stall_ms={stall_ms} rate_hz=500"


SHARED, REFUSED = _of("shared_executors", "send", moment="after"), _of("rejected_count", "send", keyword="any")
UNANSWERED = {kind: _of("probe_unanswered_count", "send", kind=kind) for kind in POOLS[1:]}

OF_4X: History = {
    **{_of("probe_worst_ms", jammed, kind=kind): _all(440 if kind == jammed else 5) for jammed in POOLS for kind in POOLS},
    **dict.fromkeys(UNANSWERED.values(), _all(0)),
    SHARED: _all(0),
    REFUSED: _all(600),
}  # fmt: skip
OF_5X: History = {**OF_4X, SHARED: _all(3)}


def _slow(jammed: str, kind: str) -> History:
    """A pool that waits for another one's jam, once."""
    return {_of("probe_worst_ms", jammed, kind=kind): _but_one(5, 400)}


PARTS: dict[str, tuple[History, History]] = {
    "beside send": ({}, _slow("send", "heartbeat")),
    "beside pull": ({}, _slow("pull", "send")),
    "beside admin": ({}, _slow("admin", "pull")),
    "beside heartbeat": ({}, _slow("heartbeat", "admin")),
    "unanswered": ({}, {UNANSWERED["pull"]: _but_one(0, 1)}),
    "shared": ({}, OF_5X),
    "sends refused": ({}, {REFUSED: _all(0)}),
    **{f"{pool} jammed": ({}, {_of("probe_worst_ms", pool, kind=pool): _all(5)}) for pool in POOLS[1:]},
}
"""By part what is changed to confirm it and to refute it."""


def test_no_part_is_left_out() -> None:
    assert set(PARTS) == {one.name for one in BUSY_15.parts}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_confirmed_and_refuted(name: str) -> None:
    found = [part(BUSY_15, name, {**OF_4X, **change}).verdict for change in PARTS[name]]
    assert found == [CONFIRMED, REFUTED]


@pytest.mark.parametrize(("release", "history"), [("4.6.0", OF_4X), ("4.9.7", OF_4X), ("5.3.3", OF_5X)])
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str, history: History) -> None:
    assert verdict(BUSY_15, history) == (BUSY_15.expected[release].verdict, "")


def test_eleven_jams_of_a_pool_are_too_few() -> None:
    few: History = {_of("probe_worst_ms", "pull", kind=kind): [*_all(5)[:4], [5]] for kind in POOLS}
    assert part(BUSY_15, "beside pull", {**OF_4X, **few}).reason == Reason.TOO_FEW_TRIES


def test_a_pool_that_was_not_jammed_says_nothing_of_the_others() -> None:
    history: History = {**OF_4X, _of("probe_worst_ms", "admin", kind="admin"): _all(5)}
    assert verdict(BUSY_15, history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_tells_what_the_code_shares_and_where_the_others_go_on() -> None:
    sentence = said(BUSY_15, OF_5X)
    assert "by the code processors share 3 of the pools" in sentence
    assert sentence.endswith(
        "It holds in these scopes: a jam of sends; a jam of pulls; a jam of administration; a jam of heartbeats."
    )
