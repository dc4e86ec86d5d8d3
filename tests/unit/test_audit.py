"""The audit of a cluster as a whole: what it asks, what it changes, and which nodes it reads."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from harness.audit.asking import read_cluster
from harness.audit.findings import judge
from harness.audit.reading import TopicType, topic_type
from harness.errors import TargetNotAllowedError
from harness.protocol.broker import Broker
from harness.protocol.frames import numbered_version
from tests.lib.audited import CONF, WRITES, Fake, cluster, kinds_of, serve


def test_a_healthy_cluster_has_no_finding_and_nothing_is_written_to_it(serving: ExitStack) -> None:
    broker, servers, addresses = cluster(serving, {"orders": (4, 4), "%RETRY%g": (1, 1), "TBW102": (8, 8)})
    broker.online.add("g")
    reading = read_cluster(addresses)
    assert judge(reading) == []
    assert reading.offline == frozenset()
    assert 21 in broker.asked
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}
    assert 38 not in broker.asked, "it would leave a line in the broker's log for each group"


def test_a_group_without_a_connection_is_offline(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {"%RETRY%here": (1, 1), "%RETRY%gone": (1, 1)})
    broker.online.add("here")
    assert read_cluster(addresses).offline == {"gone"}


def test_a_broker_that_a_name_server_lists_elsewhere_is_not_asked(serving: ExitStack) -> None:
    server = Fake(brokers={"broker-a": {0: "203.0.113.7:10911"}})
    address = serving.enter_context(serve(server))
    with pytest.raises(TargetNotAllowedError, match=r"203\.0\.113\.7"):
        read_cluster([address])


def test_a_broker_that_nobody_lists_is_read_when_it_is_known(serving: ExitStack) -> None:
    broker, servers, addresses = cluster(serving, {"orders": (4, 4)})
    place = servers[0].brokers["broker-a"][0]
    for server in servers:
        server.brokers.clear()
        server.topics.clear()
    assert judge(read_cluster(addresses)) == []
    found = judge(read_cluster(addresses, further_brokers=[("broker-a", 0, place)]))
    assert [one.kind for one in found] == ["broker-missing"]
    assert "any name server" in found[0].says
    assert broker.asked


def test_many_requests_on_one_connection_keep_their_order(serving: ExitStack) -> None:
    online = {f"g{index}" for index in range(0, 1000, 3)}
    address = serving.enter_context(serve(Fake(online=online)))
    with Broker(address) as connection:
        found = list(connection.online(f"g{index}" for index in range(1000)))
    assert found == [index % 3 == 0 for index in range(1000)]


@pytest.mark.parametrize(
    ("number", "version"),
    [
        (333, (4, 6, 0)),
        (407, (4, 9, 7)),
        (436, (5, 1, 2)),
        (437, (5, 1, 2)),
        (479, (5, 3, 3)),
        (513, (5, 5, 0)),
        (0, ()),
    ],
)
def test_a_header_tells_the_release_by_its_number(number: int, version: tuple[int, ...]) -> None:
    assert numbered_version(number) == version


def test_the_release_is_read_from_what_nodes_answer_and_nothing_is_tried(serving: ExitStack) -> None:
    broker, servers, addresses = cluster(serving, {"orders": (4, 4)})
    for node in (broker, *servers):
        node.version, node.number = "V4_6_0", 333
    reading = read_cluster(addresses)
    assert [one.version for one in reading.brokers] == [(4, 6, 0)]
    assert [one.version for one in reading.name_servers] == [(4, 6, 0)] * 2
    assert kinds_of(reading) == ["configuration-open"] * 3
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("%RETRY%g", TopicType.RETRY),
        ("%DLQ%g", TopicType.DEAD_LETTER),
        ("RMQ_SYS_TRANS_HALF_TOPIC", TopicType.SYSTEM),
        ("rmq_sys_REVIVE_LOG_c", TopicType.SYSTEM),
        ("broker-a", TopicType.SYSTEM),
        ("c_REPLY_TOPIC", TopicType.SYSTEM),
        ("orders", TopicType.NORMAL),
    ],
)
def test_topics_are_told_apart_by_type(name: str, kind: TopicType) -> None:
    assert topic_type(name, CONF) is kind
