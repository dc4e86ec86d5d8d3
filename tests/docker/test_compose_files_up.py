"""A person brings a topology up without our Python, and a file of theirs says which of its containers faults are done to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker.models.containers import Container

from harness.backends.cluster import ClusterSpec
from harness.backends.docker.compose import COMPOSE_FILES, Docker
from harness.backends.docker.engine import Compose
from harness.backends.given import GivenCluster
from harness.backends.nodes_file import read_nodes_file
from harness.backends.reached import reach
from harness.backends.topologies import TOPOLOGIES
from harness.errors import EXIT_USAGE, ClientError
from harness.host.ports import BROKER_PORTS, free_port
from harness.leases.leases import Leases
from harness.protocol.access import OPEN
from harness.protocol.name_server import NameServer
from harness.protocol.targets import LOOPBACK
from harness.rundir.lines import read_records
from harness.wait import NotYet, wait_until
from mqlab.main import main
from tests.lib.loads import Command, none_is_left

__all__ = ["none_is_left"]

UP_S_MAX = 300
PROJECT = "mqlab-tests"
LABEL = "com.example.staging=broker"
LABELS = """\
services:
  broker-a:
    labels: {com.example.staging: broker}
"""
"""Of a file of the user's beside ours: the name server's container gets none."""


@contextmanager
def _up(
    compose: Compose, environment: Mapping[str, str], *options: str, files: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    command = (*compose.command, "-p", PROJECT, "-f", str(COMPOSE_FILES / "single.yaml"), *files)
    try:
        _run((*command, "up", "--detach", *options), environment)
        yield command
    finally:
        _run((*command, "down", "--volumes"), environment)


def _run(command: tuple[str, ...], environment: Mapping[str, str]) -> str:
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=UP_S_MAX, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def _environment(docker: Docker) -> Mapping[str, str]:
    """Of a cluster whose ports nobody has."""
    [image] = docker.images.values()
    repository, _, release = image.tag.rpartition(":")
    return {
        **os.environ,
        "IMAGE": repository,
        "RELEASE": release,
        "NAMESRV_1_PORT": str(free_port()),
        "BROKER_A_PORT": str(free_port(BROKER_PORTS)),
    }


@pytest.fixture
def environment(docker: Docker) -> Mapping[str, str]:
    return _environment(docker)


def test_what_compose_waited_for_can_be_used(docker: Docker, environment: Mapping[str, str]) -> None:
    if not docker.compose.is_plugin:
        pytest.skip("docker compose is not installed, and docker-compose cannot wait")
    namesrv, broker = (f"127.0.0.1:{environment[name]}" for name in ("NAMESRV_1_PORT", "BROKER_A_PORT"))
    with _up(docker.compose, environment, "--wait") as command:
        with NameServer(namesrv) as connection:
            assert connection.cluster_brokers() == {"broker-a": {0: broker}}
        said = _run((*command, "exec", "-T", "broker-a", "bash", "/node/mqadmin.sh", "clusterList"), environment)
        assert broker in said
        # Process 1 is the JVM, so that a stop reaches it: 143 is SIGTERM, 137 would be the kill after the grace period.
        _run((*command, "stop", "broker-a"), environment)
        ended = _run((*command, "ps", "--all", "--format", "{{.Service}} {{.ExitCode}}"), environment)
        assert "broker-a 143" in ended.splitlines()
    client = docker.engine.client()
    assert not client.volumes.list(filters={"label": f"com.docker.compose.project={PROJECT}"})
    client.close()


def test_the_old_docker_compose_reads_the_same_file(docker: Docker, environment: Mapping[str, str]) -> None:
    if shutil.which("docker-compose") is None:
        pytest.skip("the old docker-compose is not installed")
    old = Compose(command=("docker-compose",), version="1")
    with _up(old, environment):
        _wait_registered(f"127.0.0.1:{environment['NAMESRV_1_PORT']}")


def _wait_registered(namesrv: str) -> None:
    def has_its_broker() -> bool:
        try:
            with NameServer(namesrv) as connection:
                return bool(connection.cluster_brokers())
        except ClientError as error:
            raise NotYet(str(error)) from error

    wait_until("the broker to register", has_its_broker, timeout_s=UP_S_MAX, poll_s=0.2)


def test_a_health_check_fails_while_a_name_server_does_not_list_the_broker(docker: Docker) -> None:
    client = docker.engine.client()
    nobody = free_port()
    try:
        said = client.containers.run(
            docker.images["4.6.0"].tag,
            ["bash", "-c", "bash /node/health.sh && echo healthy || echo unhealthy"],
            remove=True,
            network_mode="host",
            stderr=False,
            environment={"CONF_listenPort": str(nobody), "CONF_namesrvAddr": f"127.0.0.1:{nobody}"},
            volumes={str(Path(COMPOSE_FILES) / "node"): {"bind": "/node", "mode": "ro"}},
        )
        assert said.decode().strip() == "unhealthy"
    finally:
        client.close()


# --- faults on containers of the user's -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Staging:
    """A cluster of the user's. ``container`` is its broker's, which alone has the label."""

    namesrv: str
    broker: str
    release: str
    container: Container


@pytest.fixture(scope="module")
def staging(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Staging]:
    labels = tmp_path_factory.mktemp("staging") / "labels.yaml"
    labels.write_text(LABELS)
    environment, client = _environment(docker), docker.engine.client()
    namesrv, broker = (f"127.0.0.1:{environment[name]}" for name in ("NAMESRV_1_PORT", "BROKER_A_PORT"))
    try:
        with _up(docker.compose, environment, files=("-f", str(labels))):
            _wait_registered(namesrv)
            [container] = client.containers.list(filters={"label": LABEL})
            yield Staging(namesrv=namesrv, broker=broker, release=environment["RELEASE"], container=container)
    finally:
        client.close()


def _nodes_file(folder: Path, address: str, label: str) -> Path:
    path = folder / "nodes.toml"
    path.write_text(f'[theirs]\naddress = "{address}"\ncontainer-label = "{label}"\n')
    return path


def _state(container: Container) -> tuple[str, str]:
    """How it stands, and since when it runs."""
    container.reload()
    return container.status, container.attrs["State"]["StartedAt"]


def test_a_container_with_the_label_of_a_nodes_file_is_paused_after_a_dry_run_and_killed(
    staging: Staging, leases: Leases, tmp_path: Path
) -> None:
    namesrv, broker, container = staging.namesrv, staging.broker, staging.container
    file = _nodes_file(tmp_path, broker, LABEL)
    spec = ClusterSpec(name="staging", release=staging.release, topology=TOPOLOGIES["single"])
    reached = reach(read_nodes_file(file), [namesrv], LOOPBACK, OPEN)
    theirs = GivenCluster(
        spec, tmp_path, leases, namesrv=[namesrv], brokers={"broker-a": broker}, reached=reached, until_s=UP_S_MAX
    )
    running, since = _state(container)
    assert running == "running"
    arguments = (
        "--rate", "50", "--duration", "10", "--consumers", "1", "--keep-groups", "--record-only",
        "--nodes", str(file), "--fault", "pause-node:theirs,for=4s@3s",
    )  # fmt: skip
    dry = Command(theirs, tmp_path / "dry", "staged", *arguments, "--dry-run", "--json")
    dry_run = json.loads(dry.end())
    assert [step["what"] for step in dry_run["steps"]] == [
        f"docker pause {container.name} (theirs, {broker})",
        f"docker unpause {container.name} (theirs, {broker})",
    ]
    assert not dry.out.exists()
    assert _state(container) == (running, since)

    command = Command(theirs, tmp_path / "run", "staged", *arguments, "--confirm", dry_run["confirm"])
    wait_until("the container to stand still", lambda: _state(container)[0] == "paused", timeout_s=300, poll_s=0.05)
    command.end()
    assert _state(container) == (running, since)
    events = read_records(command.trial / "events.jsonl").records
    assert {"injected", "healed"} <= {one["state"] for one in events if one["type"] == "fault"}

    before_ns, gone_ns = theirs.kill_node("theirs")
    assert before_ns < gone_ns
    wait_until("the engine to see its end", lambda: _state(container)[0] == "exited", timeout_s=60)
    theirs.restart_node("theirs")
    status, again = _state(container)
    assert (status, again != since) == ("running", True)
    with NameServer(namesrv) as connection:
        assert connection.cluster_brokers() == {"broker-a": {0: broker}}


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("com.example.staging=nobody", "no containers that run have the label com.example.staging=nobody"),
        (f"com.docker.compose.project={PROJECT}", "2 containers that run have the label com.docker.compose.project"),
    ],
)
def test_a_label_that_no_container_has_or_several_have_is_refused(
    staging: Staging, tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str, said: str
) -> None:
    before = _state(staging.container)
    file = _nodes_file(tmp_path, staging.broker, label)
    asked = ["load", "--namesrv", staging.namesrv, "--topic", "staged", "--duration", "10", "--nodes", str(file)]
    for more in (["--dry-run"], ["--confirm", "01234567"]):
        assert main([*asked, "--fault", "pause-node:theirs,for=4s@3s", *more]) == EXIT_USAGE
        assert said in " ".join(capsys.readouterr().err.split())
    assert _state(staging.container) == before
