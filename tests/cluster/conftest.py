"""Real clusters for the tests: one of each release that a test asks for, kept for the tests of its group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import harness.backends.nodes
import harness.backends.proxy
from harness.backends.cluster import ClusterSpec
from harness.backends.local import LocalCluster, start_local
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology, UserSettings
from harness.plan.deployments import FIRST_COMPILER, TIMER_SLACK_MS, beside_others
from harness.releases.java import Java
from tests.lib.clusters import OLDEST_AND_NEWEST, java, leases
from tests.lib.groups import group_of
from tests.lib.spark import spark, spark_here, spark_of_commands

TEST_S_MAX = 900.0


__all__ = ["java", "leases", "spark", "spark_here", "spark_of_commands"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="module", autouse=True)
def _first_compiler() -> Iterator[None]:
    """Nodes that this process starts have one compiler, as brokers have that share the cores with others."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((harness.backends.nodes, "BROKER_JVM"), (harness.backends.proxy, "PROXY_JVM")):
            patch.setattr(module, name, (*getattr(module, name), *FIRST_COMPILER))
        yield


_up: dict[str, LocalCluster] = {}


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """A broker that nobody asks anything takes up to a tenth of a core: it ends with the last test of its group."""
    if nextitem is None or group_of(nextitem.nodeid) != group_of(item.nodeid):
        while _up:
            _up.popitem()[1].down()


@pytest.fixture(params=OLDEST_AND_NEWEST)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java
) -> LocalCluster:
    """Two masters of a release, whose brokers can stall."""
    if request.param not in _up:
        _up[request.param] = _start(request.param, tmp_path_factory.mktemp(request.param), leases, java)
    return _up[request.param]


def _start(release: str, folder: Path, leases: Leases, java: Java) -> LocalCluster:
    spec = ClusterSpec(
        name=f"tests-{release}",
        release=release,
        topology=Topology(name="two-masters", masters=2),
        settings=beside_others(BrokerSettings(timer_slack_ms=TIMER_SLACK_MS), release),
        # On a busy machine a broker's first sends may wait longer than the 200 ms after which it refuses them.
        user=UserSettings(
            broker={"flushDiskType": "ASYNC_FLUSH", "listenPort": "1234", "waitTimeMillsInSendQueue": "30000"}
        ),
        can_stall=True,
    )
    return start_local(spec, folder, leases, java, until_s=TEST_S_MAX)
