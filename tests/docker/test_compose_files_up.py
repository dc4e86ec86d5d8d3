"""A person brings a topology up without our Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.backends.docker.compose import COMPOSE_FILES, Docker
from harness.backends.docker.engine import Compose
from harness.errors import ClientError
from harness.host.ports import BROKER_PORTS, free_port
from harness.protocol.name_server import NameServer
from harness.wait import NotYet, wait_until

UP_S_MAX = 300
PROJECT = "mqlab-tests"


@contextmanager
def _up(compose: Compose, environment: Mapping[str, str], *options: str) -> Iterator[tuple[str, ...]]:
    command = (*compose.command, "-p", PROJECT, "-f", str(COMPOSE_FILES / "single.yaml"))
    try:
        _run((*command, "up", "--detach", *options), environment)
        yield command
    finally:
        _run((*command, "down", "--volumes"), environment)


def _run(command: tuple[str, ...], environment: Mapping[str, str]) -> str:
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=UP_S_MAX, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def environment(docker: Docker) -> Mapping[str, str]:
    [image] = docker.images.values()
    repository, _, release = image.tag.rpartition(":")
    return {
        **os.environ,
        "IMAGE": repository,
        "RELEASE": release,
        "NAMESRV_1_PORT": str(free_port()),
        "BROKER_A_PORT": str(free_port(BROKER_PORTS)),
    }


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

    def has_its_broker() -> bool:
        try:
            with NameServer(f"127.0.0.1:{environment['NAMESRV_1_PORT']}") as connection:
                return bool(connection.cluster_brokers())
        except ClientError as error:
            raise NotYet(str(error)) from error

    with _up(old, environment):
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
