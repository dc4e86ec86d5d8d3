"""A Docker Engine for the tests, where one answers, and one cluster of containers for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from docker.models.containers import Container

from harness.backends.cluster import ClusterSpec
from harness.backends.docker.compose import ComposeCluster, Docker, start_compose
from harness.backends.docker.engine import Engine, find_compose, find_engine
from harness.backends.docker.image import ensure_image
from harness.backends.topologies import TOPOLOGIES
from harness.errors import DockerError
from harness.leases.leases import Leases
from harness.model.cluster import UserSettings
from harness.releases.java import Java
from tests.lib.clusters import java, leases

RELEASE = "4.6.0"
TEST_S_MAX = 600.0


__all__ = ["java", "leases"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def engine() -> Engine:
    try:
        return find_engine()
    except DockerError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def docker(engine: Engine, java: Java) -> Docker:
    return Docker(engine=engine, compose=find_compose(), images={RELEASE: ensure_image(engine, RELEASE, java)})


@pytest.fixture(scope="session")
def cluster(
    docker: Docker, java: Java, leases: Leases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ComposeCluster]:
    """One broker that can stall, with settings of the user's."""
    spec = ClusterSpec(
        name="tests",
        release=RELEASE,
        topology=TOPOLOGIES["single"],
        user=UserSettings(broker={"listenPort": "1234", "waitTimeMillsInSendQueue": "30000"}),
        can_stall=True,
    )
    run = tmp_path_factory.mktemp("run")
    started = start_compose(spec, run / "deployment", leases, java, docker, until_s=TEST_S_MAX, run_folder=run)
    yield started
    started.down()


@pytest.fixture
def foreign(docker: Docker) -> Iterator[Container]:
    """A container with a volume that somebody else runs from the same image."""
    client = docker.engine.client()
    container = client.containers.run(
        docker.images[RELEASE].tag,
        ["sleep", "600"],
        detach=True,
        network_mode="host",
        labels={"whose": "somebody else's"},
        volumes={"foreign-of-the-tests": {"bind": "/somewhere", "mode": "rw"}},
    )
    yield container
    container.remove(force=True)
    client.volumes.get("foreign-of-the-tests").remove()
    client.close()
