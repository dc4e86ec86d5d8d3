"""A slave that stands still until its master is dead: what the fault does, in which order, on a cluster of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import ClientError, ConfigurationError
from harness.faults import stopped_slave
from harness.model.faults import StoppedSlave


def _node(name: str, broker_id: int) -> SimpleNamespace:
    return SimpleNamespace(name=name, kind="broker", broker_name="broker-a", broker_id=broker_id)


class Cluster:
    """A master, with a slave or without one, and a load on it. ``kills`` is whether the master can be killed."""

    def __init__(self, *, slaves: int = 1, kills: bool = True) -> None:
        self.nodes = [_node("broker-a", 0), *(_node(f"broker-a-s{number + 1}", number + 1) for number in range(slaves))]
        self.done: list[str] = []
        self._kills = kills

    def __getattr__(self, name: str) -> Any:
        def call(*what: object, **more: Any) -> tuple[int, int]:
            if name == "kill_node" and not self._kills:
                raise ClientError("it does not die")
            on = [one.name for one in more.get("on", ())]
            self.done.append(" ".join([name, *map(str, [*what, *on])]))
            return 10, 20

        return call


def _made(monkeypatch: pytest.MonkeyPatch, **more: Any) -> tuple[Cluster, Any]:
    cluster = Cluster(**more)
    monkeypatch.setattr(stopped_slave, "able", lambda load, to: load)
    trial: Any = SimpleNamespace(cluster=cluster, until_s=60.0, stay=lambda seconds: None)
    return cluster, trial


def test_the_slave_goes_on_when_its_master_is_dead_and_is_read_before_that_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, trial = _made(monkeypatch)
    load: Any = cluster
    done = stopped_slave.stop(StoppedSlave(), trial, load)
    assert (done.target, cluster.done) == ("broker-a-s1", ["pause_node broker-a-s1"])
    assert done.end is not None
    assert done.end().exercised is True
    assert cluster.done[1:] == [
        "stop_sending", "kill_node broker-a", "resume_node broker-a-s1", "record_ends held broker-a-s1", "restart_node broker-a",
        "restore_topic",
    ]  # fmt: skip


def test_the_slave_goes_on_whatever_becomes_of_its_master(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, trial = _made(monkeypatch, kills=False)
    load: Any = cluster
    end = stopped_slave.stop(StoppedSlave(), trial, load).end
    assert end is not None
    with pytest.raises(ClientError, match="does not die"):
        end()
    assert cluster.done[-1] == "resume_node broker-a-s1"


def test_a_master_without_a_slave_is_refused_before_anything_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, trial = _made(monkeypatch, slaves=0)
    load: Any = cluster
    with pytest.raises(ConfigurationError, match="broker-a has no slave"):
        stopped_slave.stop(StoppedSlave(), trial, load)
    assert cluster.done == []
