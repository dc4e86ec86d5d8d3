"""The audit of real clusters: a healthy one, one whose registration is nearly full, a diverged and a mismatched one.

One cluster of each release is all four in turn: how full a registration is depends on the limit that it is judged by.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.audit.asking import read_cluster
from harness.audit.finding import AuditFinding
from harness.audit.findings import judge
from harness.audit.reading import Reading
from harness.audit.remedy import apply_remedy, plan_remedy
from harness.backends.cluster import ClusterSpec, ask, ask_name_server, create_topic, masters, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.backends.nodes import CLUSTER_NAME
from harness.backends.topics_ahead import flood_group
from harness.clients.java import ConsumerSpec, JavaClient
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, TopicsAhead, Topology
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.plan.deployments import beside_others
from harness.releases.java import Java
from harness.wait import NotYet, wait_until
from tests.lib.clusters import OLDEST_AND_NEWEST

AHEAD = TopicsAhead(frame_bytes=100_000, share=0.9, name_bytes=54)


@pytest.fixture(scope="module", params=OLDEST_AND_NEWEST)
def flooded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java
) -> Iterator[LocalCluster]:
    """Two name servers and a broker that has some 400 retry topics from its start."""
    spec = ClusterSpec(
        name=f"audit-{request.param}",
        release=request.param,
        topology=Topology(name="audit", name_servers=2),
        settings=beside_others(BrokerSettings(topics_ahead=AHEAD), request.param),
    )
    started = start_local(spec, tmp_path_factory.mktemp("audit"), leases, java, until_s=900.0)
    create_topic(started, "orders", read_queues=4, write_queues=4)
    # In its first second a broker of 4.6.0 answers with an exception when it is asked for its runtime information.
    wait_until("the broker to tell", lambda: not any(one.problem for one in _read(started).brokers), timeout_s=180.0)
    yield started
    started.down()


def _servers(cluster: LocalCluster) -> list[str]:
    return [node.address for node in cluster.nodes if node.kind == "namesrv"]


def _read(cluster: LocalCluster) -> Reading:
    return read_cluster(_servers(cluster))


def _judge(reading: Reading, limit_bytes: int = FRAME_BYTES_MAX) -> list[AuditFinding]:
    """The findings but those that all nodes of the oldest release have, and none of the newest."""
    found = judge(reading, limit_bytes=limit_bytes)
    exposed = [one.where for one in found if one.kind == "configuration-open"]
    versions = {one.version for one in reading.brokers} | {one.version for one in reading.name_servers}
    assert versions <= {tuple(map(int, release.split("."))) for release in OLDEST_AND_NEWEST}
    assert len(exposed) == (len(reading.brokers) + len(reading.name_servers) if versions == {(4, 6, 0)} else 0)
    return [one for one in found if one.kind != "configuration-open"]


def _await_no_finding(cluster: LocalCluster) -> None:
    def is_sound() -> bool:
        if found := _judge(_read(cluster)):
            raise NotYet(str(found[0].says))
        return True

    wait_until("a cluster without a finding", is_sound, timeout_s=180.0, poll_s=0.5)


def _log(cluster: LocalCluster) -> str:
    return (cluster.folder / "nodes" / "broker-a" / "logs" / "broker.log").read_text()


def test_a_healthy_cluster_has_no_finding_and_the_audit_writes_nothing(flooded: LocalCluster) -> None:
    topics = flooded.folder / "nodes" / "broker-a" / "store" / "config" / "topics.json"
    table, lines = topics.read_bytes(), _log(flooded).count("\n")
    reading = _read(flooded)
    assert _judge(reading) == []
    assert len(reading.offline) > 300
    assert topics.read_bytes() == table
    new = _log(flooded).splitlines()[lines:]
    assert not [line for line in new if "WARN" in line or "flood" in line or "getConsumerListByGroup" in line]


def test_members_of_a_group_that_subscribe_to_different_tags_are_told_by_themselves(
    flooded: LocalCluster, leases: Leases, java: Java, tmp_path: Path
) -> None:
    release = flooded.spec.release
    client = JavaClient.start(leases, name="audited", release=release, java=java, folder=tmp_path, until_s=300)
    try:
        client.wait_started()
        client.open_history(tmp_path / "history.jsonl")
        for tags in ("a", "b || c"):
            spec = ConsumerSpec(instance=f"of-{tags[0]}", group="billing", topic="orders", ordered=False, tags=tags)
            client.wait_consumer_started(spec, namesrv_addresses(flooded))

        def found() -> str:
            kinds = {one.kind: one.says for one in _judge(read_cluster(_servers(flooded), ask_clients=True))}
            if "subscriptions-differ" not in kinds:
                raise NotYet(str(kinds))
            return kinds["subscriptions-differ"]

        said = wait_until("both members to be known", found, timeout_s=180.0, poll_s=0.5)
    finally:
        client.stop()
    differ, _, why = said.partition(": ")
    assert differ == "orders a (127.0.0.1@of-a) / orders b || c (127.0.0.1@of-b)"
    assert "messages are missing" in why


def test_a_nearly_full_registration_and_its_offline_retry_topics_are_all_that_is_said(flooded: LocalCluster) -> None:
    found = _judge(_read(flooded), limit_bytes=AHEAD.frame_bytes)
    assert sorted(one.kind for one in found) == ["offline-retry-topics", "registration-nearly-full"]


def test_the_predicted_size_is_the_one_that_the_law_wrote_ahead(flooded: LocalCluster) -> None:
    (broker,) = _read(flooded).masters()
    # The broker's own system topics and the test's one come on top.
    assert 0 < broker.frame_bytes - AHEAD.share * AHEAD.frame_bytes < 5_000


def test_an_online_group_is_not_offline(flooded: LocalCluster) -> None:
    group = flood_group(0, AHEAD.name_bytes)
    with ask(masters(flooded)[0]) as connection:
        connection.heartbeat("127.0.0.1@audit", [group], "orders")
        assert group not in _read(flooded).offline


def test_a_name_server_that_lacks_a_topic_or_the_broker_is_all_that_is_said(flooded: LocalCluster) -> None:
    last = _servers(flooded)[-1]
    server = next(node for node in flooded.nodes if node.address == last)
    broker = masters(flooded)[0]

    def without_route() -> list[AuditFinding] | None:
        # A broker of 5.x registers all of its topics every 30 s: what it has brought back meanwhile is deleted again.
        with ask_name_server(server) as connection:
            connection.delete_route("orders")
        return _judge(_read(flooded)) or None

    found = wait_until("a reading between two registrations", without_route, timeout_s=180.0)
    assert [(one.kind, one.where) for one in found] == [("topics-missing", last)]

    def without_broker() -> list[AuditFinding] | None:
        with ask_name_server(server) as connection:
            connection.unregister_broker(CLUSTER_NAME, broker.broker_name, 0, broker.address)
        return _judge(_read(flooded)) or None

    found = wait_until("another such reading", without_broker, timeout_s=180.0)
    assert [one.kind for one in found] == ["broker-missing"]
    assert last in found[0].says
    # All topics are told to a name server that does not know the broker; creating one would register that one alone.
    with ask(broker) as asked:
        asked.update_broker_config({"brokerPermission": asked.broker_config()["brokerPermission"]})
    _await_no_finding(flooded)


def test_queue_numbers_that_differ_are_all_that_is_said(flooded: LocalCluster) -> None:
    create_topic(flooded, "shrunk", read_queues=4, write_queues=8)
    found = _judge(_read(flooded))
    assert [(one.kind, one.where) for one in found] == [("queue-numbers-differ", "shrunk on broker-a")]
    create_topic(flooded, "shrunk", read_queues=4, write_queues=4)
    _await_no_finding(flooded)


def test_the_remedy_deletes_on_the_broker_and_on_every_name_server(flooded: LocalCluster, tmp_path: Path) -> None:
    remedy = plan_remedy(_read(flooded))
    first = remedy.deletions[:5]
    assert apply_remedy(first, _servers(flooded), per_s=50, journal=tmp_path / "journal").deleted == 5
    gone = {one.topic for one in first}
    reading = _read(flooded)
    assert not gone & {topic.name for broker in reading.masters() for topic in broker.topics}
    assert not any(gone & server.topics for server in reading.name_servers)
    assert _judge(reading) == []
