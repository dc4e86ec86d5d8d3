"""A real cluster whose nodes have RocketMQ's binary headers: it comes up, is audited, and is found by a load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.audit.asking import read_cluster
from harness.audit.findings import judge
from harness.backends.cluster import ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.generator.target import find_target
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.plan.deployments import beside_others
from harness.protocol.frames import Frame
from harness.protocol.stream import FrameStream
from harness.protocol.targets import LOOPBACK
from harness.releases.java import Java
from harness.wait import wait_until
from tests.lib.clusters import OLDEST_AND_NEWEST

TYPE = {"rocketmq.serialize.type": "ROCKETMQ"}


@pytest.fixture(scope="module", params=OLDEST_AND_NEWEST)
def binary(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java
) -> Iterator[LocalCluster]:
    settings = BrokerSettings(properties=TYPE, name_server_jvm=tuple(f"-D{key}={value}" for key, value in TYPE.items()))
    spec = ClusterSpec(
        name=f"binary-{request.param}",
        release=request.param,
        topology=Topology(name="binary"),
        settings=beside_others(settings, request.param),
    )
    started = start_local(spec, tmp_path_factory.mktemp("binary"), leases, java, until_s=900.0)
    create_topic(started, "orders", read_queues=4, write_queues=4)
    yield started
    started.down()


def test_nodes_with_binary_headers_are_audited_and_found_as_any(
    binary: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    serialisations: set[int] = set()
    receive = FrameStream.receive

    def received(stream: FrameStream, *bounds: object) -> Frame:
        frame = receive(stream, *bounds)  # type: ignore[arg-type]
        serialisations.add(frame.serialisation)
        return frame

    monkeypatch.setattr(FrameStream, "receive", received)
    servers = namesrv_addresses(binary).split(";")

    def has_told() -> bool:
        # In its first second a broker of 4.6.0 answers with an exception when it is asked for its runtime information.
        return not any(one.problem for one in read_cluster(servers).brokers)

    wait_until("the broker to tell", has_told, timeout_s=180.0)
    reading = read_cluster(servers)
    release = tuple(map(int, binary.spec.release.split(".")))
    assert serialisations == {1}
    assert {one.version for one in reading.brokers} == {one.version for one in reading.name_servers} == {release}
    assert [one.kind for one in judge(reading) if one.kind != "configuration-open"] == []
    assert "orders" in {topic.name for topic in reading.masters()[0].topics}
    target = find_target(servers, "orders", allowed=LOOPBACK, create_queues=None)
    assert target.queues == {"broker-a": 4}
    assert target.release() == binary.spec.release
