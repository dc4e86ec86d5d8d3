"""Masters that stay away for the hold: which of them is killed and started again, on a cluster of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import ClientError
from harness.faults import broker_restart
from harness.faults.injections import INJECTIONS
from harness.model.faults import BrokerAway, Fault, KillNode, MasterAway


class Cluster:
    """Masters with a slave each."""

    def __init__(self, masters: int) -> None:
        self.nodes = [
            SimpleNamespace(name=f"broker-{name}{suffix}", kind="broker", broker_id=number, address=f"{name}{suffix}")
            for name in "ab"[:masters]
            for number, suffix in enumerate(("", "-s1"))
        ]
        self.done: list[str] = []

    def kill_node(self, name: str) -> tuple[int, int]:
        self.done.append(f"kill {name}")
        return 10, 2_000_010

    def restart_node(self, name: str) -> None:
        self.done.append(f"start {name}")


AWAY = pytest.mark.parametrize(
    ("fault", "masters", "target"), [(MasterAway(), 1, "broker-a"), (MasterAway(), 2, "broker-a"), (BrokerAway(), 2, "broker-b"),
                                     (KillNode(node="broker-b-s1"), 2, "broker-b-s1")]
)  # fmt: skip


@AWAY
def test_a_node_is_killed_and_comes_back_when_it_is_healed(
    fault: Fault, masters: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(masters)
    monkeypatch.setattr(broker_restart, "answers", lambda node: f"kill {node.name}" not in cluster.done)
    trial: Any = SimpleNamespace(cluster=cluster)
    (injection,) = INJECTIONS[type(fault)]
    done = injection.inject(fault, trial, trial)
    assert (done.target, done.achieved_ms, cluster.done) == (target, 2.0, [f"kill {target}"])
    assert done.exercised is True
    injection.heal(fault, trial, trial)
    assert cluster.done[1:] == [f"start {target}"]


@AWAY
def test_a_node_that_answers_all_the_same_was_not_killed(
    fault: Fault, masters: int, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_restart, "answers", lambda node: True)
    trial: Any = SimpleNamespace(cluster=Cluster(masters))
    (injection,) = INJECTIONS[type(fault)]
    done = injection.inject(fault, trial, trial)
    assert done.exercised is False
    assert done.detail == f"{target.removeprefix('broker-')} answered although {target} had been killed"


def test_a_second_master_that_is_not_there_cannot_leave() -> None:
    trial: Any = SimpleNamespace(cluster=Cluster(1))
    (injection,) = INJECTIONS[BrokerAway]
    with pytest.raises(ClientError, match="another one that stays"):
        injection.inject(BrokerAway(), trial, trial)
