"""What an audit says of messages that will not come, come again or are refused: delays, transactions, offsets, a flag."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from harness.audit.asking import read_cluster
from harness.audit.finding import Severity
from harness.audit.findings import judge
from tests.lib.audited import cluster


def test_delayed_messages_that_are_overdue_are_found(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.delayed, broker.stored_before = 5, 3
    begun_ms = time.time() * 1000
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("delayed-messages-overdue", Severity.CRITICAL, "broker-a")
    assert "at least 3 of level 1" in found.says
    ((topic, queue, at_ms),) = broker.searched
    # The first level waits for a second, and clocks may differ by a minute.
    assert (topic, queue) == ("SCHEDULE_TOPIC_XXXX", 0)
    assert -61_000 <= at_ms - begun_ms <= -61_000 + (time.time() * 1000 - begun_ms)


def test_delayed_messages_that_wait_for_their_time_are_none(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.delayed = 5
    assert judge(read_cluster(addresses)) == []


@pytest.mark.parametrize(
    ("version", "interval", "delayed", "seconds"),
    [
        ("V4_6_0", {}, 5, "10 s"),
        ("V4_6_0", {"flushDelayOffsetInterval": "30000"}, 5, "30 s"),
        ("V4_6_0", {"flushDelayOffsetInterval": "1000"}, 5, None),
        ("V4_6_0", {}, 0, None),
        ("V4_9_7", {}, 5, None),
        ("V5_5_0", {}, 5, None),
        ("", {}, 5, None),
    ],
)
def test_a_master_whose_restart_would_deliver_again_is_named(
    serving: ExitStack, version: str, interval: dict[str, str], delayed: int, seconds: str | None
) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.version, broker.delayed = version, delayed
    broker.conf |= interval
    # 4.6.0 has another finding, whatever its delayed messages are.
    found = [one for one in judge(read_cluster(addresses)) if one.kind != "configuration-open"]
    assert [one.kind for one in found] == (["restart-delivers-again"] if seconds else [])
    assert all(seconds in one.says and one.where == "broker-a" for one in found if seconds)


HALVES = {"RMQ_SYS_TRANS_HALF_TOPIC": (1, 1)}
WITH_OPS = {**HALVES, "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 1)}
POOL = {"transientStorePoolEnable": "true"}
SPINS = "op-thread-spins"


@pytest.mark.parametrize(
    ("version", "topics", "conf", "kinds"),
    [
        ("V4_6_0", HALVES, {}, ["deletion-rechecks-transactions"]),
        ("V4_6_0", WITH_OPS, {}, []),
        ("V4_9_7", HALVES, {}, []),
        ("V5_3_3", WITH_OPS, {}, []),
        ("V5_5_0", WITH_OPS, {}, [SPINS]),
        ("V5_3_3", WITH_OPS, POOL, ["pool-loses-data", "half-messages-in-pool"]),
        ("V5_5_0", WITH_OPS, POOL, [SPINS, "pool-loses-data", "half-messages-in-pool"]),
        ("V5_5_0", WITH_OPS, {**POOL, "commitCommitLogLeastPages": "0"}, [SPINS, "pool-loses-data"]),
        ("V5_5_0", WITH_OPS, {**POOL, "commitCommitLogThoroughInterval": "1"}, [SPINS, "pool-loses-data"]),
    ],
)
def test_a_master_whose_transactions_would_not_end_or_come_back_is_named(
    serving: ExitStack, version: str, topics: dict[str, tuple[int, int]], conf: dict[str, str], kinds: list[str]
) -> None:
    broker, _, addresses = cluster(serving, topics)
    broker.version, broker.ends = version, {"RMQ_SYS_TRANS_HALF_TOPIC": 1200}
    broker.conf |= conf
    found = [one for one in judge(read_cluster(addresses)) if one.kind != "configuration-open"]
    assert sorted(one.kind for one in found) == sorted(kinds)
    assert all("1,200 half messages" in one.says for one in found if "commits" in one.kind or one.kind == SPINS)


def test_a_master_without_transactions_has_none_to_lose(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, WITH_OPS)
    broker.conf |= POOL
    assert [one.kind for one in judge(read_cluster(addresses))] == ["pool-loses-data"]


def test_a_broker_is_asked_about_half_messages_where_it_has_their_topic(serving: ExitStack) -> None:
    for topics, asked in ((WITH_OPS, True), ({}, False)):
        broker, _, addresses = cluster(serving, topics)
        read_cluster(addresses)
        assert (30 in broker.asked) is asked


def test_a_dispatch_that_stands_still_is_found_and_one_that_is_behind_is_not(
    serving: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.audit.asking.SETTLE_S", 0.0)
    broker, _, addresses = cluster(serving, {})
    broker.dispatched = [100, 40, 40]
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("dispatch-stands-still", Severity.CRITICAL, "broker-a")
    assert found.says.startswith("60 bytes")
    broker.dispatched = [100, 40, 70]
    assert judge(read_cluster(addresses)) == []


@pytest.mark.parametrize(
    ("held_ms", "conf", "is_found"),
    [
        (1_500, {}, False),
        (60_999, {}, False),
        (61_000, {}, True),
        (9_999_999, {}, True),
        (10_000_000, {}, False),
        (120_000, {"osPageCacheBusyTimeOutMills": "100000"}, False),
        (160_000, {"osPageCacheBusyTimeOutMills": "100000"}, True),
    ],
)
def test_a_lock_that_counts_as_held_for_minutes_is_a_broker_that_refuses_sends(
    serving: ExitStack, held_ms: int, conf: dict[str, str], is_found: bool
) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.lock_held_ms = held_ms
    broker.conf |= conf
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.severity) for one in found] == (
        [("lock-counts-as-held", Severity.CRITICAL)] if is_found else []
    )
    assert all(f"{held_ms / 1000:,.0f} s" in one.says for one in found)


@pytest.mark.parametrize(("version", "does"), [("V4_6_0", "begins at 0"), ("V4_9_7", "goes on from the end")])
def test_offsets_beyond_the_ends_of_their_queues_are_found(serving: ExitStack, version: str, does: str) -> None:
    broker, _, addresses = cluster(serving, {"orders": (2, 2), "bills": (1, 1), "%RETRY%g": (1, 1)})
    broker.version, broker.ends = version, {"orders": 215, "bills": 40}
    broker.committed = {
        "orders@billing": {0: 230, 1: 215},
        "orders@stock": {0: 215, 1: 216},
        "bills@billing": {0: 40},
        "%RETRY%g@g": {0: 7},
        "gone@billing": {0: 99},
        "orders@wide": {2: 999},
    }
    broker.online = {"g"}
    (found,) = [one for one in judge(read_cluster(addresses)) if one.kind == "offsets-past-end"]
    assert (found.severity, found.where) == (Severity.CRITICAL, "orders on broker-a")
    assert "of 2 queues: billing, stock; billing has 230 of queue 0, which ends at 215" in found.says
    assert does in found.says


def test_ends_are_asked_of_so_many_queues_at_most(serving: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, _, addresses = cluster(serving, {"orders": (8, 8)})
    broker.committed = {f"orders@g{number}": dict.fromkeys(range(8), 5) for number in range(3)}
    monkeypatch.setattr("harness.audit.asking.QUEUES_MAX", 4)
    (one,) = [one for one in read_cluster(addresses).brokers if one.past_end]
    assert broker.asked.count(43) == 1
    assert broker.asked.count(30) == 4
    assert {(past.topic, past.queue) for past in one.past_end} == {("orders", queue) for queue in range(4)}


def test_a_broker_that_does_not_tell_its_offsets_is_read_for_the_rest(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {"orders": (1, 1)})
    broker.committed = {"orders@billing": {0: 5}}
    broker.refused = {43}
    assert judge(read_cluster(addresses)) == []
