"""Kinds of send by their calls and by what a reader found in the stores, in histories made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.model.measures import measures_of
from scenarios import send_retries, send_retries_python
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, Trial, at

NORMAL, ONE_WAY, ASYNC = "normal-sync-two-off-both", "selector-oneway-two-off-both", "selector-async-two-off-both"
READER = "reader"
NATIVE_SYNC, LAYER_SYNC = (f"normal-sync-own-off-both-{client}" for client in ("native", "rocketmq-client-python"))
NATIVE_ONE_WAY = "normal-oneway-own-off-both-native"
TIMED_OUT, TOO_LATE, NO_CONNECTION = (
    "RemotingTimeoutException",
    "RemotingTooMuchRequestException",
    "RemotingConnectException",
)
PYTHON = "send-retries-python"
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


def _trial(run: Run, name: str, fault: str, incident: str = "send-retries", **attributes: Any) -> Trial:
    about = {"arm": "incident-killed", "groups": [f"{name}-both", f"{name}-one"], "hold_ms": 10_000.0, **attributes}
    return run.trial(name, incident, fault=fault, **about)


def _plant_python(run: Run) -> None:
    """Trials of Python's clients: the same numbers of both would be mixed up if they were told apart by kind alone."""
    dead = _trial(run, "python-dead", "broker-away", PYTHON)
    _sent(dead, NATIVE_SYNC, 1, [A, B], at_ms=100)
    _sent(dead, NATIVE_SYNC, 2, [A, B, A, B, A], at_ms=200, error="ProducerSendSyncFailed")
    _sent(dead, LAYER_SYNC, 3, [A, B], at_ms=100, took_ms=500)
    _sent(dead, LAYER_SYNC, 4, [B], at_ms=200)
    _sent(dead, NATIVE_ONE_WAY, 5, [A], at_ms=100, outcome="unknown")
    _sent(dead, NATIVE_ONE_WAY, 6, [B], at_ms=300, outcome="unknown")
    for offset, seq in enumerate((1, 3, 4, 6)):
        _stored(dead, seq, offset, broker=B)

    gone = _trial(run, "python-gone", "unheard-broker", PYTHON, arm="fix-route-without-it", hold_ms=45_000.0)
    _sent(gone, NATIVE_SYNC, 10, [A], at_ms=32_000)  # a producer has not asked for its route yet
    _sent(gone, NATIVE_SYNC, 11, [B], at_ms=34_000)

    stalled = _trial(run, "python-stalled", "append-stall", PYTHON, arm="incident-rejecting", params={"stall_ms": 6000})
    _sent(stalled, NATIVE_SYNC, 20, [A, B], at_ms=3_000)
    _sent(stalled, NATIVE_SYNC, 21, [A], at_ms=9_700)  # the stall ends soon enough for this one to be taken


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
    _plant_python(run)
    scenarios = (send_retries.SCENARIO, send_retries_python.SCENARIO)
    return Asked(scenarios=scenarios, measures=measures_of("send_kinds"))


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


def test_the_same_kind_of_two_clients_is_told_apart_and_java_s_has_no_client(seen: Analysis) -> None:
    for client, aimed, most, took_s in (("native", 2, 5, 0.003), ("rocketmq-client-python", 1, 2, 0.5)):
        found = {name: _one(seen, name, "python-dead", "normal-sync", client=client, retries="own") for name in
                 ("aimed_count", "attempts_most", "aimed_took_s")}  # fmt: skip
        assert found == {"aimed_count": aimed, "attempts_most": most, "aimed_took_s": pytest.approx(took_s)}
    assert _one(seen, "failed_for_good_share", "python-dead", "normal-sync", client="native") == 0.5
    assert _one(seen, "failed_for_good_share", "python-dead", "normal-sync", client="rocketmq-client-python") == 0
    (java,) = seen.found("aimed_count", "dead", send="normal-sync")
    assert "client" not in json.loads(java.params)


def test_a_one_way_send_of_which_nobody_hears_and_no_store_knows_is_lost_untold(seen: Analysis) -> None:
    assert _one(seen, "untold_loss_count", "python-dead", "normal-oneway", client="native") == 1
    assert _one(seen, "failed_for_good_share", "python-dead", "normal-oneway", client="native") == 0


def test_python_s_producers_know_of_a_lost_route_when_all_have_asked(seen: Analysis) -> None:
    assert _one(seen, "aimed_count", "python-gone", "normal-sync", client="native") == 0
    assert seen.values("attempts_most", "python-gone") == []


def test_sends_count_until_shortly_before_a_stalled_append_ends(seen: Analysis) -> None:
    assert _one(seen, "aimed_count", "python-stalled", "normal-sync", client="native") == 1
    assert _one(seen, "attempts_most", "python-stalled", "normal-sync", client="native") == 2
    assert seen.values("copies_of_key_count", "python-stalled") == []
