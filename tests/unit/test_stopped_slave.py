"""A slave that stands still until its master is dead: what the fault does, in which order, on a cluster of values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.cluster import Node
from harness.errors import ClientError, ConfigurationError
from harness.faults import stopped_slave
from harness.model.faults import StoppedSlave
from tests.lib.answering import Answering, answering


@pytest.fixture
def broker() -> Iterator[Answering]:
    with answering() as one:
        yield one


def _node(name: str, broker_id: int, address: str) -> Node:
    return Node(name=name, kind="broker", address=address, broker_name="broker-a", broker_id=broker_id)


class Cluster:
    """A master, with a slave or without one, and a load on it. ``kills`` is whether the master can be killed.

    The slave is a process that answers, and ``stops`` whether it is what stands still.
    """

    def __init__(self, broker: Answering, *, slaves: int = 1, kills: bool = True, stops: bool = True) -> None:
        self._slave, self._stops = broker, stops
        address = broker.node.address
        self.nodes = [_node("broker-a", 0, "127.0.0.1:1"), *(_node("broker-a-s1", 1, address) for _ in range(slaves))]
        self.done: list[str] = []
        self._kills = kills

    def __getattr__(self, name: str) -> Any:
        def call(*what: object, **more: Any) -> Any:
            if name == "kill_node" and not self._kills:
                raise ClientError("it does not die")
            on = [one.name for one in more.get("on", ())]
            self.done.append(" ".join([name, *map(str, [*what, *on])]))
            if name == "pause_node":
                return self._slave.stop() if self._stops else [self._slave.process]
            if name == "resume_node":
                self._slave.go_on()
            return 10, 20

        return call


def _made(
    monkeypatch: pytest.MonkeyPatch, broker: Answering, *, master_answers: bool = False, **more: Any
) -> tuple[Cluster, Any]:
    cluster = Cluster(broker, **more)
    monkeypatch.setattr(stopped_slave, "able", lambda load, to: load)
    monkeypatch.setattr(
        stopped_slave, "answers", lambda node: master_answers or "kill_node broker-a" not in cluster.done
    )
    trial: Any = SimpleNamespace(cluster=cluster, until_s=60.0, stay=lambda seconds: None, cancel=threading.Event())
    return cluster, trial


def test_the_slave_goes_on_when_its_master_is_dead_and_is_read_before_that_is_back(
    monkeypatch: pytest.MonkeyPatch, broker: Answering
) -> None:
    cluster, trial = _made(monkeypatch, broker)
    load: Any = cluster
    done = stopped_slave.stop(StoppedSlave(), trial, load)
    assert (done.target, cluster.done) == ("broker-a-s1", ["pause_node broker-a-s1"])
    assert done.end is not None
    healed = done.end()
    assert healed.exercised is True, healed.achieved
    assert healed.achieved.startswith("broker-a was killed before broker-a-s1 went on: the ")
    assert cluster.done[1:] == [
        "stop_sending", "kill_node broker-a", "resume_node broker-a-s1", "record_ends held broker-a-s1", "restart_node broker-a",
        "restore_topic",
    ]  # fmt: skip


def test_a_slave_that_did_not_stand_still_shows_it(monkeypatch: pytest.MonkeyPatch, broker: Answering) -> None:
    monkeypatch.setattr("harness.faults.pause_proof.STOPPING_S_MAX", 0.2)
    cluster, trial = _made(monkeypatch, broker, stops=False)
    load: Any = cluster
    end = stopped_slave.stop(StoppedSlave(), trial, load).end
    assert end is not None
    healed = end()
    assert healed.exercised is False
    assert "were not stopped" in healed.achieved


def test_a_master_that_answers_all_the_same_was_not_killed(monkeypatch: pytest.MonkeyPatch, broker: Answering) -> None:
    cluster, trial = _made(monkeypatch, broker, master_answers=True)
    load: Any = cluster
    end = stopped_slave.stop(StoppedSlave(), trial, load).end
    assert end is not None
    healed = end()
    assert healed.exercised is False
    assert healed.achieved == "127.0.0.1:1 answered although broker-a had been killed"


def test_the_slave_goes_on_whatever_becomes_of_its_master(monkeypatch: pytest.MonkeyPatch, broker: Answering) -> None:
    cluster, trial = _made(monkeypatch, broker, kills=False)
    load: Any = cluster
    end = stopped_slave.stop(StoppedSlave(), trial, load).end
    assert end is not None
    with pytest.raises(ClientError, match="does not die"):
        end()
    assert cluster.done[-1] == "resume_node broker-a-s1"


def test_a_master_without_a_slave_is_refused_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, broker: Answering
) -> None:
    cluster, trial = _made(monkeypatch, broker, slaves=0)
    load: Any = cluster
    with pytest.raises(ConfigurationError, match="broker-a has no slave"):
        stopped_slave.stop(StoppedSlave(), trial, load)
    assert cluster.done == []
