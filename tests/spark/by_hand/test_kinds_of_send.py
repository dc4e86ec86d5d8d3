"""Kinds of send by their calls and by what a reader found in the stores, in histories made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.model.measures import measures_of
from scenarios import send_retries
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, Trial, at

NORMAL, ONE_WAY, ASYNC = "normal-sync-two-off-both", "selector-oneway-two-off-both", "selector-async-two-off-both"
READER = "reader"
TIMED_OUT, TOO_LATE, NO_CONNECTION = (
    "RemotingTimeoutException",
    "RemotingTooMuchRequestException",
    "RemotingConnectException",
)
A, B = "broker-a", "broker-b"
"""The fault of a trial made by hand is done to broker-a."""
Call = str | tuple[str, str]
"""A broker, and what the call threw."""


def _sent(
    trial: Trial,
    instance: str,
    seq: int,
    calls: Sequence[Call],
    *,
    at_ms: float,
    took_ms: float = 3.0,
    key: str = "k1",
    error: str = "",
    outcome: str = "",
) -> None:
    failure = {"error": error} if error else {}
    trial.record(
        PRODUCER, "send", instance=instance, client="java 4.6.0", topic=trial.topic, key=key, seq=seq,
        intended_ns=at(at_ms), started_ns=at(at_ms), finished_ns=at(at_ms + took_ms),
        outcome=outcome or ("unknown" if error else "ok"), **failure,
    )  # fmt: skip
    for number, call in enumerate(calls):
        broker, thrown = (call, "") if isinstance(call, str) else call
        of_call = {"error": thrown} if thrown else {}
        trial.record(PRODUCER, "call", seq=seq, broker=broker, at_ns=at(at_ms + number), **of_call)


def _stored(trial: Trial, seq: int, *offsets: int, broker: str = A, key: str = "k1") -> None:
    for offset in offsets:
        trial.record(
            READER, "consume", instance="reader-both", group=trial.group, topic=trial.topic, broker=broker, queue=0,
            offset=offset, key=key, seq=seq, intended_ns=at(0), outcome="ok", stored_ms=0, reconsume=0,
            started_ns=at(20_000 + offset), finished_ns=at(20_001 + offset),
        )  # fmt: skip


def _trial(run: Run, name: str, fault: str, **attributes: Any) -> Trial:
    groups = [f"{name}-both", f"{name}-one"]
    return run.trial(
        name, "send-retries", "incident-killed", fault=fault, groups=groups, hold_ms=10_000.0, **attributes
    )


def plant(run: Run) -> Asked:
    dead = _trial(run, "dead", "broker-away")
    _sent(dead, NORMAL, 1, [(A, NO_CONNECTION)], at_ms=-50, error=NO_CONNECTION)  # before the fault
    _sent(dead, NORMAL, 2, [(A, NO_CONNECTION), B], at_ms=100, took_ms=40)
    _sent(dead, NORMAL, 3, [B], at_ms=200)
    _sent(dead, NORMAL, 4, [(A, NO_CONNECTION)] * 3, at_ms=300, took_ms=80, error=NO_CONNECTION)
    _sent(dead, NORMAL, 5, [], at_ms=400, took_ms=1, error="MQClientException")
    for offset, seq in enumerate((2, 3)):
        _stored(dead, seq, offset, broker=B)
    _sent(dead, ONE_WAY, 10, [A], at_ms=100, took_ms=1, outcome="unknown")
    _sent(dead, ONE_WAY, 11, [(A, NO_CONNECTION)], at_ms=200, took_ms=1, error=NO_CONNECTION)

    still = _trial(run, "still", "pause-node")
    _sent(still, ASYNC, 20, [A, A, A], at_ms=100, took_ms=9_000, error="MQClientException")
    _sent(still, ASYNC, 21, [A, (A, TOO_LATE), (A, TOO_LATE)], at_ms=200, took_ms=3_000, error=TIMED_OUT, key="k3")
    _sent(still, ASYNC, 22, [A], at_ms=300, took_ms=3_000)
    _stored(still, 20, 0, 3, 4)
    _stored(still, 22, 1)
    _stored(still, 21, 2, key="k3")

    unread = _trial(run, "unread", "pause-node", drained=False, remaining=7)
    _sent(unread, ASYNC, 30, [A], at_ms=100, error=TIMED_OUT)

    gone = _trial(run, "gone", "unheard-broker")
    _sent(gone, NORMAL, 40, [A], at_ms=3_000)
    _sent(gone, NORMAL, 41, [B], at_ms=6_000)
    return Asked(scenarios=(send_retries.SCENARIO,), measures=measures_of("send_kinds"))


def _one(seen: Analysis, measure: str, trial: str, send: str, **params: str) -> float:
    return seen.one(measure, trial, send=send, **params)


def test_attempts_are_those_of_sends_to_the_broker_at_fault(seen: Analysis) -> None:
    dead = {name: _one(seen, name, "dead", "normal-sync") for name in
            ("aimed_count", "attempts_most", "attempts_median", "brokers_tried_most")}  # fmt: skip
    assert dead == {"aimed_count": 3, "attempts_most": 3, "attempts_median": 2, "brokers_tried_most": 2}
    assert _one(seen, "aimed_took_s", "dead", "normal-sync") == pytest.approx(0.04)
    assert seen.shown_record("attempts_most", "dead", send="normal-sync")["seq"] == 4


def test_what_had_no_time_left_is_no_attempt(seen: Analysis) -> None:
    assert _one(seen, "attempts_most", "still", "selector-async") == 3
    assert _one(seen, "attempts_median", "still", "selector-async") == 1


def test_a_send_fails_for_good_when_its_sender_is_told(seen: Analysis) -> None:
    assert _one(seen, "failed_for_good_share", "dead", "normal-sync") == 0.5
    assert _one(seen, "failed_for_good_share", "dead", "selector-oneway") == 0.5
    assert _one(seen, "untold_loss_count", "dead", "selector-oneway") == 1
    assert _one(seen, "untold_loss_count", "dead", "normal-sync") == 0


def test_endings_are_shares_of_the_sends_to_that_broker(seen: Analysis) -> None:
    found = {row.params: row.value for row in seen.found("ended_share", "dead", send="normal-sync")}
    assert sorted(found.values()) == [pytest.approx(1 / 3)] * 3
    assert _one(seen, "ended_share", "dead", "selector-oneway", ended="unanswered") == 0.5
    assert _one(seen, "ended_share", "dead", "normal-sync", ended="ok") == pytest.approx(1 / 3)


def test_copies_and_what_is_stored_although_it_failed(seen: Analysis) -> None:
    assert _one(seen, "copies_count", "still", "selector-async") == 2
    assert _one(seen, "failed_stored_share", "still", "selector-async") == 1
    assert _one(seen, "failed_stored_share", "dead", "normal-sync") == 0
    assert _one(seen, "failed_stored_count", "still", "selector-async") == 2
    assert _one(seen, "failed_stored_count", "dead", "normal-sync") == 0
    assert seen.values("copies_of_key_count", "still", send="selector-async") == [0, 2]
    # Two later copies of the first message come after the second one.
    assert seen.values("disorder_of_key_count", "still", send="selector-async") == [0, 2]
    assert seen.values("disorder_of_key_count", "dead", send="normal-sync") == [0]


def test_stores_that_were_not_read_say_nothing(seen: Analysis) -> None:
    assert _one(seen, "attempts_most", "unread", "selector-async") == 1
    for measure in (
        "copies_count",
        "failed_stored_share",
        "failed_stored_count",
        "untold_loss_count",
        "copies_of_key_count",
    ):
        assert seen.values(measure, "unread") == []


def test_a_broker_that_leaves_the_routes_is_judged_when_clients_know(seen: Analysis) -> None:
    assert _one(seen, "aimed_count", "gone", "normal-sync") == 0
    assert seen.values("attempts_most", "gone") == []
    assert _one(seen, "failed_for_good_share", "gone", "normal-sync") == 0
