"""Real clusters for the tests: one of each release that a test asks for, kept for the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.local import LocalCluster, start_local
from harness.leases.leases import Leases
from harness.model.cluster import Topology, UserSettings
from harness.releases.java import Java
from tests.lib.clusters import OLDEST_AND_NEWEST, java, leases
from tests.lib.spark import spark, spark_here

TEST_S_MAX = 900.0


__all__ = ["java", "leases", "spark", "spark_here"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session", params=OLDEST_AND_NEWEST)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java
) -> Iterator[LocalCluster]:
    """Two masters of a release, whose brokers can stall."""
    spec = ClusterSpec(
        name=f"tests-{request.param}",
        release=request.param,
        topology=Topology(name="two-masters", masters=2),
        # On a busy machine a broker's first sends may wait longer than the 200 ms after which it refuses them.
        user=UserSettings(
            broker={"flushDiskType": "ASYNC_FLUSH", "listenPort": "1234", "waitTimeMillsInSendQueue": "30000"}
        ),
        can_stall=True,
    )
    started = start_local(spec, tmp_path_factory.mktemp(request.param), leases, java, until_s=TEST_S_MAX)
    yield started
    started.down()
