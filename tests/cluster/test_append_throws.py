"""An append that throws inside the put lock, in a real broker of each release."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import Node, ask, change_live, create_topic, masters
from harness.backends.local import LocalCluster
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults import throws
from harness.faults.injections import injection_of
from harness.model.faults import AppendThrows
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS
from harness.protocol.broker import Broker, Sent

TOPIC, SENDS_MAX = "throws", 100_000


def _stored_until_one_throws(connection: Broker) -> tuple[list[Sent], str]:
    """What was stored before the send that is refused, and the broker's words for it."""
    stored: list[Sent] = []
    for _ in range(SENDS_MAX):
        try:
            stored.append(connection.send(TOPIC, 0, b"until one throws"))
        except ClientError as error:
            return stored, str(error)
    pytest.fail("no append threw")


def test_one_append_throws_when_it_was_asked_to_and_the_next_one_has_the_lock(cluster: LocalCluster) -> None:
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    broker = masters(cluster)[0]
    trial = cast(Any, SimpleNamespace(cluster=cluster))
    with ask(broker, timeout_s=60) as connection, ThreadPoolExecutor() as pool:
        first = connection.send(TOPIC, 0, b"installs the rule")
        begun_ns = mono_ns()
        injecting = pool.submit(injection_of(AppendThrows()).inject, AppendThrows(), trial, cast(Any, None))
        stored, refused = _stored_until_one_throws(connection)
        assert "told to throw" in refused
        done = injecting.result(timeout=60)
        assert done.target == broker.name
        assert done.injecting_ns is not None
        assert done.injected_ns is not None
        assert begun_ns < done.injecting_ns < done.injected_ns < mono_ns()
        assert done.healed_ns == done.injected_ns
        # Nothing was stored for it, and the lock is free.
        assert connection.send(TOPIC, 0, b"after it").offset == [first, *stored][-1].offset + 1


def test_the_limit_is_raised_until_something_is_appended_and_then_set_back(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    fault, default = AppendThrows(cure="raise-limit"), f"{PAGE_CACHE_BUSY_MS:g}"
    trial = cast(Any, SimpleNamespace(cluster=cluster))
    told: list[str] = []

    def change(node: Node, settings: Mapping[str, str]) -> None:
        change_live(node, settings)
        told.append(settings[PAGE_CACHE_BUSY])

    monkeypatch.setattr(throws, "change_live", change)
    with ask(masters(cluster)[0], timeout_s=60) as connection, ThreadPoolExecutor() as pool:
        healing = pool.submit(injection_of(fault).heal, fault, trial, cast(Any, None))
        while not healing.done():
            connection.send(TOPIC, 0, b"is appended")
        assert "set back" in healing.result().achieved
        assert told == [throws.RAISED_MS, default]
        assert connection.broker_config()[PAGE_CACHE_BUSY] == default
