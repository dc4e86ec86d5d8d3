"""What brokers whose master is elected, controllers and proxies are started with; nothing is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.nodes import Blueprint, peers_of, require_topology
from harness.backends.topologies import TOPOLOGIES
from harness.errors import UsageError
from harness.model.cluster import UserSettings
from harness.protocol.connection import split_address
from harness.releases.properties import read_conf
from tests.lib.clusters import drawn


def _drawn(topology: str, folder: Path, release: str = "5.5.0", **user: str) -> Blueprint:
    spec = ClusterSpec(name=topology, release=release, topology=TOPOLOGIES[topology], user=UserSettings(broker=user))
    return drawn(spec, folder)


def _conf(blueprint: Blueprint, name: str) -> dict[str, str]:
    return dict(read_conf(blueprint.launch(name).conf).settings)


def _ports(blueprint: Blueprint, kind: str) -> list[int]:
    return [split_address(node.address)[1] for node in blueprint.nodes if node.kind == kind]


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
def test_members_of_a_group_know_each_other_by_ports_that_the_border_lets_them_reach(
    release: str, tmp_path: Path
) -> None:
    blueprint = _drawn("dledger", tmp_path, release, dLegerGroup="another", brokerRole="SLAVE")
    ports = _ports(blueprint, "broker")
    peers = ";".join(f"n{number}-127.0.0.1:{port + 1}" for number, port in enumerate(ports))
    for number in range(3):
        conf = _conf(blueprint, f"broker-a-n{number}")
        assert (conf["dLegerSelfId"], conf["dLegerPeers"]) == (f"n{number}", peers)
        assert (conf["dLegerGroup"], conf["brokerName"]) == ("broker-a", "broker-a")
        assert (conf["enableDLegerCommitLog"], conf["brokerRole"], conf["brokerId"]) == ("true", "ASYNC_MASTER", "0")
    assert {one.partition("-")[2] for one in peers.split(";")} <= peers_of(blueprint.nodes)
    assert {node.broker_id for node in blueprint.nodes if node.kind == "broker"} == {-1}


def test_controllers_are_in_the_name_servers_and_brokers_ask_all_of_them(tmp_path: Path) -> None:
    blueprint = _drawn("controller", tmp_path)
    controllers = [port + 1 for port in _ports(blueprint, "namesrv")]
    group = ";".join(f"n{number}-127.0.0.1:{port}" for number, port in enumerate(controllers))
    for number in range(3):
        server = _conf(blueprint, f"namesrv-{number + 1}")
        assert (server["controllerDLegerSelfId"], server["controllerDLegerPeers"]) == (f"n{number}", group)
        assert server["enableControllerInNamesrv"] == "true"
        assert server["controllerStorePath"].startswith(str(tmp_path))
        broker = _conf(blueprint, f"broker-a-n{number}")
        assert broker["controllerAddr"] == ";".join(f"127.0.0.1:{port}" for port in controllers)
        assert (broker["enableControllerMode"], broker["brokerId"]) == ("true", "-1")
    assert {f"127.0.0.1:{port}" for port in controllers} <= peers_of(blueprint.nodes)


def test_name_servers_of_other_topologies_have_no_controller(tmp_path: Path) -> None:
    assert not any("ontroller" in key for key in _conf(_drawn("article", tmp_path), "namesrv-1"))


def test_a_proxy_finds_brokers_by_the_name_server_and_gives_each_protocol_a_port(tmp_path: Path) -> None:
    blueprint = _drawn("proxy", tmp_path)
    launch = blueprint.launch("proxy-1")
    ((server,), (port,)) = _ports(blueprint, "namesrv"), _ports(blueprint, "proxy")
    conf = json.loads(launch.conf.read_text())
    assert (conf["proxyMode"], conf["namesrvAddr"]) == ("CLUSTER", f"127.0.0.1:{server}")
    assert (conf["remotingListenPort"], conf["grpcServerPort"]) == (port, port + 1)
    assert launch.words == ("-pc", str(launch.conf))
    assert launch.main == "org.apache.rocketmq.proxy.ProxyStartup"


def test_what_a_release_has_not_is_said_before_anything_starts() -> None:
    for topology, release in (("controller", "4.9.7"), ("proxy", "4.9.7"), ("controller", "4.6.0")):
        with pytest.raises(UsageError, match=f"RocketMQ {release} has no topology {topology}"):
            require_topology(TOPOLOGIES[topology], release)
    for each in TOPOLOGIES.values():
        require_topology(each, "5.5.0")
    require_topology(TOPOLOGIES["dledger"], "4.6.0")
