"""The compose files say what the Topology values, the blueprint and the flags of releases.py say."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.backends.docker.compose import COMPOSE_FILES
from harness.backends.nodes import BROKER_JVM, HOST, LAB_BROKER_CONF, NAMESRV_JVM, group_of
from harness.backends.topologies import TOPOLOGIES
from harness.model.cluster import Topology
from harness.releases.jvm import MODULE_FLAGS, gc_log_option

FILES = tuple(topology for topology in TOPOLOGIES.values() if not topology.proxies)
"""Those that compose has a file of: the lab's images have no proxy."""
SCRIPTS = sorted((COMPOSE_FILES / "node").glob("*.sh"))


def _file(name: str) -> Mapping[str, Any]:
    parsed: Mapping[str, Any] = yaml.safe_load((COMPOSE_FILES / f"{name}.yaml").read_text())
    return parsed


def _default(text: str) -> str:
    """What compose makes of a value when no variable is set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(text))


def _role(topology: Topology, number: int, brokers: Mapping[str, int], servers: Sequence[str]) -> Mapping[str, str]:
    """What a broker's service has of its role, beside its name and its name servers."""
    if topology.elects == "dledger":
        return {
            "CONF_brokerId": "0",
            "CONF_brokerRole": "ASYNC_MASTER",
            "CONF_enableDLegerCommitLog": "true",
            "CONF_dLegerGroup": "broker-a",
            "CONF_dLegerPeers": ";".join(group_of(list(brokers.values()))),
            "CONF_dLegerSelfId": f"n{number}",
        }
    if topology.elects == "controller":
        controllers = ";".join(f"{HOST}:{int(port) + 1}" for port in servers)
        return {
            "CONF_brokerId": "-1",
            "CONF_brokerRole": "SLAVE",
            "CONF_enableControllerMode": "true",
            "CONF_controllerAddr": controllers,
        }
    return {"CONF_brokerId": str(number), "CONF_brokerRole": "SLAVE" if number else "ASYNC_MASTER"}


def test_each_name_server_of_the_controllers_file_has_one_of_their_group() -> None:
    services = _file("controller")["services"]
    servers = [one["environment"] for one in services.values() if one["extends"]["service"] == "namesrv"]
    ports = [int(_default(one["CONF_listenPort"])) for one in servers]
    assert [one["CONF_controllerDLegerSelfId"] for one in servers] == ["n0", "n1", "n2"]
    for one in servers:
        assert one["CONF_enableControllerInNamesrv"] == "true"
        assert _default(one["CONF_controllerDLegerPeers"]) == ";".join(group_of(ports))


@pytest.mark.parametrize("topology", FILES, ids=lambda topology: topology.name)
def test_a_topologys_file_has_its_nodes_and_no_other(topology: Topology) -> None:
    parsed = _file(topology.name)
    services: Mapping[str, Any] = parsed["services"]
    name_servers = [f"namesrv-{index + 1}" for index in range(topology.name_servers)]
    assert [name for name, one in services.items() if one["extends"]["service"] == "namesrv"] == name_servers

    ports = [_default(services[name]["environment"]["CONF_listenPort"]) for name in name_servers]
    addresses = ";".join(f"{HOST}:{port}" for port in ports)
    brokers_ports = {
        name: int(_default(services[name]["environment"]["CONF_listenPort"])) for name, _, _ in topology.broker_nodes()
    }
    expected = {
        name: {
            "CONF_brokerName": broker,
            "CONF_namesrvAddr": addresses,
            **_role(topology, number, brokers_ports, ports),
        }
        for name, broker, number in topology.broker_nodes()
    }
    brokers = {name: one for name, one in services.items() if one["extends"]["service"] == "broker"}
    found = {name: {**one["environment"]} for name, one in brokers.items()}
    listening = [int(_default(conf.pop("CONF_listenPort"))) for conf in found.values()]
    found = {name: {key: _default(value) for key, value in conf.items()} for name, conf in found.items()}
    assert found == expected
    assert list(brokers) + name_servers == [*expected, *name_servers]
    assert set(parsed["volumes"]) == set(expected)
    # A broker also takes the port two below its own and the one above.
    taken = [port + offset for port in listening for offset in (-2, 0, 1)]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize("topology", FILES, ids=lambda topology: topology.name)
def test_every_nodes_port_can_be_set_by_a_variable_named_after_it(topology: Topology) -> None:
    for name, service in _file(topology.name)["services"].items():
        variable = f"{name.upper().replace('-', '_')}_PORT"
        assert service["environment"]["CONF_listenPort"].startswith(f"${{{variable}:-")


def test_every_node_has_limits_a_health_check_and_loopback_on_the_hosts_network() -> None:
    for kind in ("namesrv", "broker"):
        node = _file("nodes")["services"][kind]
        assert _default(node["network_mode"]) == "host"
        assert _default(node["environment"]["BIND"]) == HOST
        assert node["healthcheck"]["test"] == ["CMD", "bash", "/node/health.sh"]
        assert node["entrypoint"] == ["bash", "/node/start.sh", kind]
        assert node["mem_limit"]
        assert node["cpus"]


def test_docker_desktops_file_publishes_every_default_port_on_loopback_only() -> None:
    published = _file("desktop")["services"]["ports"]["ports"]
    ports: set[int] = set()
    for entry in published:
        host, outer, inner = entry.split(":")
        assert host == HOST
        assert outer == inner
        first, _, last = outer.partition("-")
        ports |= set(range(int(first), int(last or first) + 1))
    for topology in FILES:
        for service in _file(topology.name)["services"].values():
            port = int(_default(service["environment"]["CONF_listenPort"]))
            own = {port} if service["extends"]["service"] == "namesrv" else {port - 2, port, port + 1}
            if "CONF_enableControllerInNamesrv" in service["environment"]:
                own |= {port + 1}
            assert own <= ports, f"{topology.name}: {own - ports}"


def test_the_scripts_give_a_jvm_the_same_flags_as_the_local_backend() -> None:
    java = (COMPOSE_FILES / "node" / "java.sh").read_text()
    assert tuple(re.findall(r"^  (--add-\S+)$", java, re.MULTILINE)) == MODULE_FLAGS
    start = (COMPOSE_FILES / "node" / "start.sh").read_text()
    assert re.findall(r"\$\{JVM_HEAP:-(.*)\}", start) == [" ".join(NAMESRV_JVM), " ".join(BROKER_JVM)]
    assert f'("{gc_log_option(Path("$GC_LOG"))}")' in start


def test_a_broker_started_by_hand_has_the_labs_sizes() -> None:
    written = dict(
        re.findall(r"^    echo (\w+)=(\S+)$", (COMPOSE_FILES / "node" / "start.sh").read_text(), re.MULTILINE)
    )
    for key in ("brokerClusterName", "mappedFileSizeCommitLog", "diskMaxUsedSpaceRatio"):
        assert written[key] == LAB_BROKER_CONF[key]
    assert written["brokerIP1"] == written["brokerIP2"] == HOST


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_well_formed(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True, timeout=30)
