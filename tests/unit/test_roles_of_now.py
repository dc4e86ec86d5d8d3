"""A fault that names a role is done to whoever has it when the fault comes, on a cluster of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends import cluster as clusters
from harness.backends.cluster import Node
from harness.backends.topologies import TOPOLOGIES
from harness.errors import ClientError
from harness.faults.targets import of_now
from harness.model.faults import FlappingNode, KillNode, NetworkCut, PauseNode
from harness.model.timed_faults import parse_fault, why_not_on

SERVER = Node(name="namesrv-1", kind="namesrv", address="127.0.0.1:9876")
MEMBERS = tuple(
    Node(
        name=f"broker-a-n{i}",
        kind="broker",
        address=f"127.0.0.1:{10911 + 10 * i}",
        broker_name="broker-a",
        broker_id=-1,
    )
    for i in range(3)
)


class Cluster:
    """A group whose route names one of its members, and some of whose nodes are down."""

    def __init__(self, master: int | None, down: tuple[str, ...] = ()) -> None:
        self.nodes = (SERVER, *MEMBERS)
        self.down = down
        by_id = {number + 1: node.address for number, node in enumerate(MEMBERS) if number != master}
        self.listed = {"broker-a": by_id | ({} if master is None else {0: MEMBERS[master].address})}

    def pid(self, name: str) -> int | None:
        return None if name in self.down else 1


@pytest.fixture
def trial_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    def trial(*of: Any, **more: Any) -> Any:
        cluster = Cluster(*of, **more)
        monkeypatch.setattr(clusters, "listed_brokers", lambda namesrv: cluster.listed)
        return SimpleNamespace(cluster=cluster)

    return trial


def test_it_is_done_to_whoever_is_master_then(trial_of: Any) -> None:
    for number in (0, 2):
        trial, name = trial_of(number), f"broker-a-n{number}"
        assert of_now(KillNode(node="master"), trial) == KillNode(node=name)
        assert of_now(PauseNode(node="master"), trial) == PauseNode(node=name)
        assert of_now(FlappingNode(node="master", runs_s=1.0), trial) == FlappingNode(node=name, runs_s=1.0)
        assert of_now(NetworkCut(nodes=("master",)), trial) == NetworkCut(nodes=(name,))


def test_a_follower_is_one_that_runs(trial_of: Any) -> None:
    assert of_now(KillNode(node="follower"), trial_of(0)) == KillNode(node="broker-a-n1")
    assert of_now(KillNode(node="follower"), trial_of(0, down=("broker-a-n1",))) == KillNode(node="broker-a-n2")


def test_all_others_are_the_peers_of_a_master_that_is_cut_off(trial_of: Any) -> None:
    cut = of_now(NetworkCut(nodes=("master",), peers=("others", "consumer-0")), trial_of(1, down=("broker-a-n2",)))
    assert cut == NetworkCut(nodes=("broker-a-n1",), peers=("consumer-0", "namesrv-1", "broker-a-n0"))


def test_a_fault_that_names_its_node_stays_as_it_is_and_asks_nobody() -> None:
    fault = KillNode(node="broker-a-n1")
    assert of_now(fault, SimpleNamespace()) is fault  # type: ignore[arg-type]


def test_a_role_that_nobody_has_is_said(trial_of: Any) -> None:
    with pytest.raises(ClientError, match="no broker that runs is master"):
        of_now(KillNode(node="master"), trial_of(None))
    with pytest.raises(ClientError, match="no name server runs"):
        of_now(KillNode(node="master"), trial_of(0, down=("namesrv-1",)))


def test_which_loads_a_role_goes_with() -> None:
    master, follower = parse_fault("kill-node:master@5s"), parse_fault("kill-node:follower@5s")
    for name in ("dledger", "controller", "article"):
        assert why_not_on(master, TOPOLOGIES[name], consumers=1) is None
        assert why_not_on(follower, TOPOLOGIES[name], consumers=1) is None
    assert why_not_on(master, TOPOLOGIES["single"], consumers=1) is None
    assert "or master, whichever" in str(why_not_on(follower, TOPOLOGIES["single"], consumers=1))
    assert "broker-a-n0" in str(why_not_on(parse_fault("kill-node:broker-a@5s"), TOPOLOGIES["dledger"], consumers=1))
    # Of a cluster of the user's a file says which nodes there are.
    assert "names master" in str(why_not_on(master, TOPOLOGIES["dledger"], consumers=1, given=["one"]))


@pytest.mark.parametrize("fault", ["stopped-slave", "master-away", "broker-crash", "restart-broker"])
def test_a_fault_of_a_master_that_stays_one_goes_with_none_that_are_elected(fault: str) -> None:
    why = why_not_on(parse_fault(f"{fault}@5s"), TOPOLOGIES["dledger"], consumers=1)
    assert "are elected: kill-node:master" in str(why)
