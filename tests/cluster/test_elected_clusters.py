"""Brokers whose master is elected, by their own group or by controllers: up by evidence, within the border, and over a death."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from harness.backends.cluster import ClusterSpec, Node, ask, create_topic, listed_brokers, masters, wait_registered
from harness.backends.local import LocalCluster, listens_outside, start_local
from harness.backends.nodes import peers_of
from harness.backends.topologies import TOPOLOGIES
from harness.errors import ClientError, UsageError
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.protocol.connection import split_address
from harness.releases.guard import refusals
from harness.releases.java import Java
from harness.wait import NotYet, patience, wait_until

ELECTED_S_MAX = 90.0
KINDS = [("dledger", "4.9.7"), ("dledger", "5.5.0"), ("controller", "5.5.0")]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def cluster(
    request: pytest.FixtureRequest, leases: Leases, java: Java, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    name, release = request.param
    spec = ClusterSpec(name=name, release=release, topology=TOPOLOGIES[name])
    started = start_local(spec, tmp_path_factory.mktemp(name), leases, java, until_s=900)
    try:
        create_topic(started, "orders", read_queues=2, write_queues=2)
        yield started
    finally:
        started.down()


def _brokers(cluster: LocalCluster) -> list[Node]:
    return [node for node in cluster.nodes if node.kind == "broker"]


def test_one_broker_is_master_and_all_are_listed_by_each_name_server(cluster: LocalCluster) -> None:
    (master,) = masters(cluster)
    for namesrv in (node for node in cluster.nodes if node.kind == "namesrv"):
        by_id = listed_brokers(namesrv)["broker-a"]
        assert by_id[0] == master.address
        assert set(by_id.values()) == {node.address for node in _brokers(cluster)}


def test_no_node_listens_outside_of_loopback_or_wants_to_leave_the_cluster(cluster: LocalCluster) -> None:
    known = peers_of(cluster.nodes)
    for node in cluster.nodes:
        pid = cluster.pid(node.name)
        assert pid is not None
        assert listens_outside(pid) == []
        assert refusals(cluster.folder / "nodes" / node.name) == []
        listening = {
            one.laddr.port for one in psutil.Process(pid).net_connections("tcp") if one.status == psutil.CONN_LISTEN
        }
        assert {f"127.0.0.1:{port}" for port in listening} <= known
        # The group of brokers, or of controllers, has a port of its own, one above the node's.
        if (node.kind == "broker") == (cluster.spec.topology.elects == "dledger"):
            assert split_address(node.address)[1] + 1 in listening


def test_every_node_is_under_a_lease(cluster: LocalCluster, leases: Leases) -> None:
    held = [str(value) for record in leases_in(leases.state_dir) for value in record.data.values()]
    for node in cluster.nodes:
        assert any(str(cluster.pid(node.name)) in value for value in held)


def test_a_killed_master_has_another_one_after_it_and_comes_back_as_a_follower(cluster: LocalCluster) -> None:
    (before,) = masters(cluster)
    with ask(before) as connection:
        offset = connection.send("orders", 0, b"before").offset
    cluster.kill_node(before.name)

    def another() -> Node:
        with patience():
            found = masters(cluster)
            if not found or found == [before]:
                raise NotYet(f"masters are {[node.name for node in found]}")
            with ask(found[0]) as connection:
                connection.send("orders", 1, b"after")
        return found[0]

    after = wait_until("another master that takes sends", another, timeout_s=ELECTED_S_MAX, poll_s=0.5)
    if cluster.spec.topology.elects == "dledger":
        # Most of the group had it before it was acknowledged; a controller's master acknowledges alone by default.
        with ask(after) as connection:
            assert connection.max_offset("orders", 0) == offset + 1
    cluster.restart_node(before.name)
    assert before not in masters(cluster)
    (namesrv,) = [node for node in cluster.nodes if node.name == "namesrv-1"]
    numbers = {address: number for number, address in listed_brokers(namesrv)["broker-a"].items()}
    assert numbers[before.address] > 0
    wait_registered(cluster)


@pytest.mark.parametrize("cluster", [one for one in KINDS if one[0] == "dledger"], ids="-".join, indirect=True)
def test_without_a_majority_of_its_group_nobody_is_master(cluster: LocalCluster) -> None:
    """Of a DLedger group two of three have to live; controllers have a master as long as one of its copies does."""
    (master,) = masters(cluster)
    followers = [node for node in _brokers(cluster) if node is not master]
    for node in followers:
        cluster.kill_node(node.name)
    try:
        with ask(master, timeout_s=20.0) as connection, pytest.raises(ClientError):
            connection.send("orders", 0, b"alone")
    finally:
        for node in followers:
            cluster.start_node(node.name)
    wait_registered(cluster)


@pytest.mark.parametrize("release", ["4.6.0", "4.9.7"])
def test_a_release_without_controllers_has_no_such_topology(
    release: str, leases: Leases, java: Java, tmp_path: Path
) -> None:
    spec = ClusterSpec(name="none", release=release, topology=TOPOLOGIES["controller"])
    with pytest.raises(UsageError, match=rf"RocketMQ {release} has no topology controller") as caught:
        start_local(spec, tmp_path, leases, java, until_s=60)
    assert "5.5.0" in caught.value.advice
