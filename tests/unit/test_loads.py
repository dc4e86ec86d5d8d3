from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

import scenarios
from harness.clients.java import JavaClient
from harness.errors import ClientError
from harness.load.sessions import SESSIONS
from harness.model.avoiders import AvoidingProducers
from harness.model.loads import OpenLoopSends
from harness.trial import (
    CanStopSending,
    CanWaitUntilRead,
    HasLocks,
    HasOwners,
    HasQueueNumbers,
    SharedClient,
    SharedClients,
    able,
)
from tests.lib.kinds_of_load import kinds_of_load


def test_every_load_has_a_session() -> None:
    assert set(SESSIONS) == kinds_of_load()


@pytest.mark.parametrize(
    ("to", "methods", "said"),
    [
        (HasOwners, ["owners"], "has owners"),
        (HasLocks, ["held_on", "ask_for_locks"], "has locks"),
        (HasQueueNumbers, ["numbers", "resize"], "has queue numbers"),
        (CanWaitUntilRead, ["wait_until_read"], "can wait until read"),
        (CanStopSending, ["stop_sending", "send_one", "record_ends", "restore_topic"], "can stop sending"),
    ],
)
def test_a_fault_is_refused_by_a_load_that_lacks_what_it_asks_for(to: Any, methods: list[str], said: str) -> None:
    load: Any = SimpleNamespace(**dict.fromkeys(methods, print))
    assert able(load, to) is load
    for missing in methods:
        lacks: Any = SimpleNamespace(**{name: print for name in methods if name != missing})
        with pytest.raises(ClientError, match=f"needs a load that {said}"):
            able(lacks, to)


def test_clients_that_are_shared_are_started_once_and_stopped_once() -> None:
    stopped: list[int] = []

    def start() -> SharedClient:
        return SharedClient(cast(JavaClient, SimpleNamespace(pid=7, stop=lambda: stopped.append(7))))

    shared = SharedClients()
    assert shared.once(SharedClient, start) is shared.once(SharedClient, start)
    assert shared.pids() == [7]
    for _ in range(2):
        shared.stop()
    assert stopped == [7]
    assert shared.pids() == []


def test_a_shared_client_whose_start_failed_is_not_what_the_next_trial_gets() -> None:
    stopped: list[int] = []
    pids = iter((7, 8))

    def start() -> SharedClient:
        pid = next(pids)
        return SharedClient(cast(JavaClient, SimpleNamespace(pid=pid, stop=lambda: stopped.append(pid))))

    shared = SharedClients()
    shared.drop(SharedClient)
    shared.once(SharedClient, start)
    shared.drop(SharedClient)
    shared.once(SharedClient, start)
    assert (stopped, shared.pids()) == ([7], [8])


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_a_load_says_its_groups_its_topic_and_what_it_records(scenario: Any) -> None:
    for arm in scenario.arms:
        load, topology = arm.load, arm.topology or scenario.topology
        assert load.topic_of(scenario.name).startswith(f"mqlab-{scenario.name}")
        assert len(set(load.group_names())) == len(load.group_names())
        assert bool(load.group_names()) != isinstance(load, OpenLoopSends | AvoidingProducers)
        for cell in arm.cells:
            assert load.messages_hz(topology, cell) > 0
            assert load.operations(topology, cell, 10.0) > 0
