"""Masters that stay away for the hold: which of them is killed and started again, on a cluster of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import ClientError
from harness.faults.injections import INJECTIONS
from harness.model.faults import BrokerAway, Fault, KillNode, MasterAway


class Cluster:
    """Masters with a slave each."""

    def __init__(self, masters: int) -> None:
        self.nodes = [
            SimpleNamespace(name=f"broker-{name}{suffix}", kind="broker", broker_id=number)
            for name in "ab"[:masters]
            for number, suffix in enumerate(("", "-s1"))
        ]
        self.done: list[str] = []

    def kill_node(self, name: str) -> tuple[int, int]:
        self.done.append(f"kill {name}")
        return 10, 2_000_010

    def restart_node(self, name: str) -> None:
        self.done.append(f"start {name}")


@pytest.mark.parametrize(
    ("fault", "masters", "target"), [(MasterAway(), 1, "broker-a"), (MasterAway(), 2, "broker-a"), (BrokerAway(), 2, "broker-b"),
                                     (KillNode(node="broker-b-s1"), 2, "broker-b-s1")]
)  # fmt: skip
def test_a_node_is_killed_and_comes_back_when_it_is_healed(fault: Fault, masters: int, target: str) -> None:
    cluster = Cluster(masters)
    trial: Any = SimpleNamespace(cluster=cluster)
    (injection,) = INJECTIONS[type(fault)]
    done = injection.inject(fault, trial, trial)
    assert (done.target, done.achieved_ms, cluster.done) == (target, 2.0, [f"kill {target}"])
    injection.heal(fault, trial, trial)
    assert cluster.done[1:] == [f"start {target}"]


def test_a_second_master_that_is_not_there_cannot_leave() -> None:
    trial: Any = SimpleNamespace(cluster=Cluster(1))
    (injection,) = INJECTIONS[BrokerAway]
    with pytest.raises(ClientError, match="another one that stays"):
        injection.inject(BrokerAway(), trial, trial)
