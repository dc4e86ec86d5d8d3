"""A broker stores what it is sent and is not sure of it: every client's history says so.

A synchronous master of 4.6.0 without its slave answers so each time. One that knows inSyncReplicas, as 5.3.3 does, counts itself
as a replica and does not; but its flush of the disk takes longer than no time at all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, ask, masters, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.backends.proxy import proxy_beside
from harness.clients.commands import SendSettings
from harness.generator.driver import Driver
from harness.generator.options import LoadOptions, LocustSpec
from harness.generator.senders import java_driver, python_driver
from harness.generator.target import find_target
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.plan.deployments import beside_others
from harness.protocol.targets import LOOPBACK
from harness.releases.java import Java
from harness.releases.settings import settings_of
from harness.rundir.lines import read_records
from harness.wait import wait_until
from tests.lib.clusters import MORE, has_proxy

SENDS_MIN = 20


def _unsure(release: str) -> tuple[Mapping[str, str], str]:
    """What a broker.conf has of it, and what the broker says then."""
    if "inSyncReplicas" in settings_of(release).broker:
        return {"flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": "0"}, "FLUSH_DISK_TIMEOUT"
    return {"brokerRole": "SYNC_MASTER"}, "SLAVE_NOT_AVAILABLE"


Unsure = Callable[[str], tuple[LocalCluster, str]]
"""A broker of a release that is not sure, and its proxy's address where the release has one."""


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[Unsure]:
    with ExitStack() as stack:

        @functools.cache
        def started(release: str) -> tuple[LocalCluster, str]:
            # The limit of the send queue is raised, since a broker's first sends may wait long on a busy machine.
            conf = BrokerSettings(conf={**_unsure(release)[0], "waitTimeMillsInSendQueue": "30000"})
            settings = beside_others(conf, release)
            spec = ClusterSpec(name="unsure", release=release, topology=Topology(name="single"), settings=settings)
            folder = tmp_path_factory.mktemp(release)
            cluster = start_local(spec, folder / "cluster", leases, java, until_s=1800)
            stack.callback(cluster.down)
            if not has_proxy(release):
                return cluster, ""
            proxy = proxy_beside(
                release, namesrv_addresses(cluster), folder / "proxy", leases, java, nodes=cluster.nodes, until_s=1800
            )
            return cluster, stack.enter_context(proxy)

        yield started


@pytest.mark.parametrize(
    ("release", "client", "mode", "route", "status", "stored_times"),
    [
        ("4.6.0", "java", "sync", "normal", "SLAVE_NOT_AVAILABLE", 1),
        ("4.6.0", "native", "async", "normal", "SLAVE_NOT_AVAILABLE", 1),
        # After such a status the native library tries again twice, and then says that the topic has no route.
        ("4.6.0", "native", "sync", "normal", None, 3),
        ("4.6.0", "native", "sync", "selector", None, 1),
        ("4.6.0", "rocketmq-client-python", "sync", "normal", None, 3),
        ("5.3.3", "java", "async", "normal", "FLUSH_DISK_TIMEOUT", 1),
        ("5.3.3", "grpc", "sync", "normal", "FLUSH_DISK_TIMEOUT", 1),
        ("5.3.3", "grpc", "async", "normal", "FLUSH_DISK_TIMEOUT", 1),
        *((release, "java", "sync", "normal", _unsure(release)[1], 1) for release in MORE),
        *((release, "grpc", "sync", "normal", _unsure(release)[1], 1) for release in MORE if has_proxy(release)),
    ],
)
def test_a_status_that_is_no_success_is_recorded_where_the_client_shows_it(
    unsure: Unsure,
    java: Java,
    tmp_path: Path,
    release: str,
    client: str,
    mode: str,
    route: str,
    status: str | None,
    stored_times: int,
) -> None:
    cluster, proxy = unsure(release)
    topic = f"unsure-{client}-{mode}-{route}"
    target = find_target([namesrv_addresses(cluster)], topic, allowed=LOOPBACK, create_queues=1)
    is_java = client == "java"
    sender = java_driver(release, java, target) if is_java else python_driver(client, target, proxy)
    sends = SendSettings(topic=topic, mode=mode, route=route, timeout_ms=20_000)
    options = LoadOptions(users=1, per_user=20.0, closed=False, duration_s=0.0, shape=((0.0, 1.0),), sends=sends)
    (tmp_path / "history").mkdir()
    driver = Driver(LocustSpec(role="local", options=options, driver=sender, folder=str(tmp_path)), 0)
    try:
        driver.start()
        driver.join(1)
        ended = 0

        def enough() -> bool:
            nonlocal ended
            ended += driver.take().requests
            return ended >= SENDS_MIN

        wait_until("some sends", enough, timeout_s=180, poll_s=0.2)
        driver.leave(1)
        driver.drain()
    finally:
        driver.end()
    found = read_records(tmp_path / "history" / "producer-0.jsonl").records
    records = [record for record in found if record["type"] == "send"]
    assert len(records) >= SENDS_MIN
    told = {(str(record["outcome"]), record.get("status")) for record in records}
    # The flush is now and then the first.
    assert ("unknown", status) in told <= {("unknown", status), ("ok", None)}
    assert status == "FLUSH_DISK_TIMEOUT" or len(told) == 1
    with ask(masters(cluster)[0]) as broker:
        stored = list(range(broker.max_offset(topic, 0)))
    assert len(stored) == len(records) * stored_times
    # The proxy tells no offset with a status.
    offsets = sorted(int(str(record["offset"])) for record in records if "offset" in record)
    assert set(offsets) <= set(stored)
    assert offsets == stored or client == "grpc" or status is None
