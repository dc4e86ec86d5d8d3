from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest
import requests

from harness.backends.cluster import ClusterSpec
from harness.backends.docker.client_containers import _outermost, kill_container
from harness.backends.docker.compose import _services
from harness.backends.nodes import Blueprint
from harness.errors import ConfigurationError, LeaseError
from harness.faults.targets import pid_of
from harness.leases import proc
from harness.model.cluster import BrokerSettings, Topology
from harness.trial import TrialContext
from tests.lib.clusters import drawn
from tools.container_table import Commits, committed, table


def _blueprint(folder: Path, settings: BrokerSettings) -> Blueprint:
    spec = ClusterSpec(name="drawn", release="5.3.3", topology=Topology(name="of nobody", masters=2), settings=settings)
    return drawn(spec, folder)


def test_the_committed_table_is_what_the_plan_says_of_every_arm() -> None:
    lines, ran = committed()
    assert lines == table(ran), "python -m tools.container_table RUN_DIR..."


@pytest.mark.parametrize(
    ("incident", "arm", "said"),
    [
        ("retry-topic-flood", "better-compressed", "no arm of 5.3.3, only of 4.6.0, 4.9.7"),
        ("ordered-lock-handover", "incident-silent-owner", "stands in for incident-cut-off-owner"),
        ("ordered-lock-handover", "incident", "not run yet"),
        ("restarted-broker-forgets-consumers", "fix-heartbeat-own-route", "not run yet"),
    ],
)
def test_an_arm_that_did_not_run_says_whether_a_run_of_the_release_starts_it(
    incident: str, arm: str, said: str
) -> None:
    def row(ran: Commits) -> list[str]:
        return next(line for line in table(ran) if line.startswith(f"| {incident} | {arm} |")).strip("| ").split(" | ")

    assert row({})[-1] == said
    assert row({(incident, arm): "a4bff5d"})[-1] == "ran, a4bff5d"


def test_a_topology_without_a_file_of_its_own_is_brought_up_as_well(tmp_path: Path) -> None:
    launches = _blueprint(tmp_path, BrokerSettings(memlock_kb=64)).launches
    services = cast(
        dict[str, Any], json.loads(json.dumps(_services(launches, "mqlab/rocketmq:5.3.3", "lease", tmp_path)))
    )
    assert [*services] == ["namesrv-1", "broker-a", "broker-b"]
    # nodes.yaml has ${NETWORK:-host}, and a shell may have a NETWORK for what else it starts.
    assert {service["network_mode"] for service in services.values()} == {"host"}
    for launch in launches:
        service = services[launch.node.name]
        assert service["extends"]["service"] == launch.node.kind
        assert Path(service["extends"]["file"]).exists()
        assert service["environment"]["CONF_namesrvAddr"] == launches[0].node.address
        assert launch.node.address.endswith(":" + service["environment"]["CONF_listenPort"])
    assert services["broker-a"]["ulimits"]["memlock"] == {"soft": 65536, "hard": 65536}
    assert services["namesrv-1"]["cap_add"] == ["IPC_LOCK"]


def test_a_node_keeps_the_options_that_it_was_given_when_it_was_started_again(tmp_path: Path) -> None:
    blueprint = _blueprint(tmp_path, BrokerSettings())
    before = blueprint.launch("broker-b").options
    assert blueprint.launch("broker-b", ["-Dlimit=1"]).options == (*before, "-Dlimit=1")
    assert blueprint.launch("broker-b", ["-Dlimit=2"]).options == (*before, "-Dlimit=1", "-Dlimit=2")
    assert blueprint.launch("broker-b").options[-1] == "-Dlimit=2"
    assert "-Dlimit=1" not in blueprint.launch("broker-a").options


def test_a_node_of_another_release_keeps_its_ports_its_store_and_its_settings(tmp_path: Path) -> None:
    blueprint = _blueprint(tmp_path, BrokerSettings(conf={"flushDiskType": "SYNC_FLUSH"}))
    before, beside = blueprint.launch("broker-b"), blueprint.launch("broker-a")
    written = before.conf.read_text()
    (before.home / "store" / "config").mkdir()
    # A broker that is told of a setting while it runs writes all that it has into its own file.
    before.conf.write_text(written + "transactionCheckInterval=60000\n")
    after = blueprint.launch("broker-b", release="4.6.0")
    assert (after.node.release, after.node.address, after.home) == ("4.6.0", before.node.address, before.home)
    assert (after.options, after.conf.read_text()) == (before.options, written)
    assert (after.home / "store" / "config").is_dir()
    assert "logback" in str(before.logging)
    assert (after.home / "conf" / "logback_broker.xml").exists()
    assert after.logging == ()
    assert [node.release for node in blueprint.nodes] == ["5.3.3", "5.3.3", "4.6.0"]
    assert blueprint.launch("broker-a") == beside
    assert blueprint.launch("broker-b", release="5.3.3") == before


def test_a_clients_process_is_the_one_in_its_container() -> None:
    nodes = {"broker-a": 11, "broker-b": None}
    trial = cast(
        TrialContext,
        SimpleNamespace(
            cluster=SimpleNamespace(pid=nodes.get),
            clients=[SimpleNamespace(name="owner", pid=22), SimpleNamespace(name="other", pid=33)],
        ),
    )
    assert (pid_of(trial, "broker-a"), pid_of(trial, "owner")) == (11, 22)
    with pytest.raises(ConfigurationError, match="broker-b is no process"):
        pid_of(trial, "broker-b")


def test_a_container_gets_a_folder_that_is_linked_to_and_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "there" / "inner").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "there")
    paths = [tmp_path / "here", tmp_path / "here" / "link", tmp_path / "there" / "inner", tmp_path / "absent"]
    assert list(_outermost(paths)) == [tmp_path / "here", tmp_path / "there"]


def test_an_engine_that_does_not_answer_is_told_in_a_sentence() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = proc.identify(child.pid)
        child.kill()
    assert process is not None

    def kill(container: str, signal: str) -> None:
        raise requests.exceptions.ReadTimeout("Read timed out.")

    client = cast(docker.DockerClient, SimpleNamespace(api=SimpleNamespace(kill=kill)))
    with pytest.raises(LeaseError, match=r"it could not be killed: Read timed out\."):
        kill_container(client, "it", process)
