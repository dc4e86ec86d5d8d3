"""The audit on nodes that only speak the protocol: what a real cluster would take minutes to become is made here."""

from __future__ import annotations

import argparse
import json
import re
import socketserver
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.audit.finding import Severity
from harness.audit.findings import Growth, crossing, judge
from harness.audit.reading import BrokerReading, NameServerReading, Reading, TopicType, read_cluster, topic_type
from harness.audit.remedy import Applied, apply_remedy, deleted_before, plan_remedy
from harness.backends.topics_ahead import flood_group, write_topics_ahead
from harness.errors import TargetNotAllowedError, UsageError
from harness.model.cluster import TopicsAhead
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.protocol.broker import Broker, TopicConfig, subscribed
from harness.protocol.frames import numbered_version
from harness.protocol.registration import (
    Registrant,
    fixed_bytes,
    frame_of_listing,
    topic_bytes,
    topics_at_limit,
)
from mqlab.audit import add_options, audit
from tests.lib.prometheus_text import read_exposition

WRITES = {17, 25, 36, 10, 15, 34, 215, 216, 104, 100, 318}
"""Requests that change something."""

CONF = {"brokerClusterName": "c", "brokerName": "broker-a", "haListenPort": "1", "brokerIP2": "127.0.0.1"}
REGISTRANT = Registrant(
    broker_name="broker-a", broker_id=0, cluster="c", address="127.0.0.1:1", ha_address="127.0.0.1:2", is_5x=False
)


@dataclass
class Fake:
    """A node's state, and every request that it got."""

    topics: dict[str, tuple[int, int]] = field(default_factory=dict)
    online: set[str] = field(default_factory=set)
    members: dict[str, list[str]] = field(default_factory=dict)
    """The client id of each connection, by group."""
    said: dict[str, bytes] = field(default_factory=dict)
    """What a client answers about itself, by its id."""
    conf: dict[str, str] = field(default_factory=lambda: dict(CONF))
    brokers: dict[str, dict[int, str]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    consumed: dict[str, int] = field(default_factory=dict)
    version: str = "V5_5_0"
    delayed: int = 0
    stored_before: int = 0
    """How many of the delayed ones are older than what is asked for."""
    dispatched: list[int] = field(default_factory=list)
    """How many of 100 bytes are in a queue, at one look after the other."""
    disk: str = ""
    lock_held_ms: int = 0
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    """Offsets by queue, of each topic@group."""
    refused: set[int] = field(default_factory=set)
    """Requests that it does not know."""
    number: int = 0
    """The release in the header of its answers."""
    asked: list[int] = field(default_factory=list)
    searched: list[tuple[str, int, int]] = field(default_factory=list)

    def answer(self, code: int, fields: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(code)
        topic = fields.get("topic", "")
        if code in self.refused:
            return 3, {}, b""
        match code:
            case 21:
                return 0, {}, _table(self.topics)
            case 26:
                return 0, {}, "".join(f"{k}={v}\n" for k, v in self.conf.items()).encode()
            case 28:
                info = {"scheduleMessageOffset_1": f"0,{self.delayed}", "commitLogDiskRatio": self.disk}
                info |= {"brokerVersionDesc": self.version, "pageCacheLockTimeMills": str(self.lock_held_ms)}
                if self.dispatched:
                    info |= {"commitLogMaxOffset": "100", "dispatchBehindBytes": str(100 - self.dispatched.pop(0))}
                return 0, {}, json.dumps({"table": info}).encode()
            case 29:
                self.searched.append((topic, int(fields["queueId"]), int(fields["timestamp"])))
                return 0, {"offset": str(self.stored_before)}, b""
            case 30:
                return 0, {"offset": str(self.ends.get(topic, 0))}, b""
            case 31:
                return 0, {"offset": "0"}, b""
            case 43:
                text = json.dumps({"offsetTable": self.committed}, separators=(",", ":"))
                return 0, {}, re.sub(r'"(\d+)":', r"\1:", text).encode()
            case 14:
                done = self.consumed.get(topic)
                return (22, {}, b"") if done is None else (0, {"offset": str(done)}, b"")
            case 203:
                return self._connections(fields["consumerGroup"])
            case 307:
                said = self.said.get(fields["clientId"])
                return (1, {}, b"") if said is None else (0, {}, said)
            case 206:
                return 0, {}, json.dumps({"topicList": sorted(self.topics)}).encode()
            case 106:
                table = {n: {"brokerName": n, "brokerAddrs": a} for n, a in self.brokers.items()}
                # As fastjson writes it, with integer keys that are no JSON.
                text = re.sub(r'"(\d+)":', r"\1:", json.dumps({"brokerAddrTable": table}, separators=(",", ":")))
                return 0, {}, text.encode()
            case 105:
                return self._route(topic)
            case 215 | 216:
                self.topics.pop(topic, None)
                return 0, {}, b""
        return 3, {}, b""

    def _connections(self, group: str) -> tuple[int, dict[str, str], bytes]:
        if group not in {*self.online, *self.members}:
            return 206, {}, b""
        ids = enumerate(self.members.get(group, ()))
        connected = [{"clientAddr": f"10.0.0.9:{port}", "clientId": one, "language": "JAVA"} for port, one in ids]
        return 0, {}, json.dumps({"connectionSet": connected, "subscriptionTable": {}}).encode()

    def _route(self, topic: str) -> tuple[int, dict[str, str], bytes]:
        if topic not in self.topics:
            return 17, {}, b""
        write, read = self.topics[topic]
        queues = [{"brokerName": n, "writeQueueNums": write, "readQueueNums": read, "perm": 6} for n in self.brokers]
        datas = [{"brokerName": n, "brokerAddrs": a} for n, a in self.brokers.items()]
        return 0, {}, json.dumps({"queueDatas": queues, "brokerDatas": datas}).encode()


def _table(topics: Mapping[str, tuple[int, int]]) -> bytes:
    table = {
        name: {
            "order": False,
            "perm": 6,
            "readQueueNums": read,
            "topicFilterType": "SINGLE_TAG",
            "topicName": name,
            "topicSysFlag": 0,
            "writeQueueNums": write,
        }
        for name, (write, read) in topics.items()
    }
    value = {"dataVersion": {"counter": 1, "timestamp": 1}, "topicConfigTable": table}
    return json.dumps(value, separators=(",", ":")).encode()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def _serve(fake: Fake) -> Iterator[str]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while len(start := self.rfile.read(8)) == 8:
                length, header_length = struct.unpack(">II", start)
                rest = self.rfile.read(length - 4)
                header = json.loads(rest[:header_length])
                code, fields, body = fake.answer(header["code"], header["extFields"])
                answer = {"code": code, "opaque": header["opaque"], "flag": 1, "extFields": fields}
                text = json.dumps({**answer, "version": fake.number}).encode()
                self.wfile.write(struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body)

    with _Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def serving() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _cluster(
    stack: ExitStack, topics: Mapping[str, tuple[int, int]], servers: int = 2
) -> tuple[Fake, list[Fake], list[str]]:
    """One broker and name servers that list it."""
    broker = Fake(topics=dict(topics))
    address = stack.enter_context(_serve(broker))
    fakes = [Fake(topics=dict(topics), brokers={"broker-a": {0: address}}) for _ in range(servers)]
    return broker, fakes, [stack.enter_context(_serve(fake)) for fake in fakes]


def _kinds(reading: Reading, limit_bytes: int = FRAME_BYTES_MAX) -> list[str]:
    return [finding.kind for finding in judge(reading, limit_bytes=limit_bytes)]


# --- reading ------------------------------------------------------------------------------------------------------------


def frame_of_topics(topics: Iterable[tuple[str, int]], registrant: Registrant) -> int:
    """The length of the frame of a broker with these topics, each a name and its number of queues."""
    each = sum(topic_bytes(len(name.encode()), queues, is_5x=registrant.is_5x) for name, queues in topics)
    return fixed_bytes(registrant) + each - 1


def test_a_healthy_cluster_has_no_finding_and_nothing_is_written_to_it(serving: ExitStack) -> None:
    broker, servers, addresses = _cluster(serving, {"orders": (4, 4), "%RETRY%g": (1, 1), "TBW102": (8, 8)})
    broker.online.add("g")
    reading = read_cluster(addresses)
    assert judge(reading) == []
    assert reading.offline == frozenset()
    assert 21 in broker.asked
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}
    assert 38 not in broker.asked, "it would leave a line in the broker's log for each group"


def test_a_group_without_a_connection_is_offline(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {"%RETRY%here": (1, 1), "%RETRY%gone": (1, 1)})
    broker.online.add("here")
    assert read_cluster(addresses).offline == {"gone"}


def test_groups_that_one_broker_has_forgotten_are_found(serving: ExitStack) -> None:
    groups = ("billing", "stock", "gone")
    broker, servers, addresses = _cluster(serving, {f"%RETRY%{group}": (1, 1) for group in groups})
    second = Fake(
        topics={f"%RETRY%{group}": (1, 1) for group in (*groups, "elsewhere")}, conf=CONF | {"brokerName": "broker-b"}
    )
    second.members = {"elsewhere": ["3"], "stock": ["2"]}
    broker.members = {"billing": ["1"], "stock": ["2"]}
    for one in servers:
        one.brokers["broker-b"] = {0: serving.enter_context(_serve(second))}
        one.topics["%RETRY%elsewhere"] = (1, 1)
    reading = read_cluster(addresses)
    assert reading.unknown == {"broker-b": ("billing",)}
    assert reading.offline == {"gone"}
    (found,) = (one for one in judge(reading) if one.kind == "groups-unknown-to-broker")
    assert (found.severity, found.where) == (Severity.WARNING, "broker-b")
    assert found.says == "groups that other brokers know are unknown here: billing"


def _running_info(*subscriptions: tuple[str, str, list[str]]) -> bytes:
    """As fastjson writes what a client says of itself: with objects as keys, which is no JSON."""
    each = [
        {"topic": topic, "subString": words, "tagsSet": tags, "subVersion": 7} for topic, words, tags in subscriptions
    ]
    return (
        b'{"mqTable":{{"topic":"t","queueId":0}:{"locked":true}},"subscriptionSet":' + json.dumps(each).encode() + b"}"
    )


def test_members_that_have_one_client_id_are_found(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {f"%RETRY%{group}": (1, 1) for group in ("billing", "stock", "sound")})
    broker.members = {"billing": ["1", "1", "2"], "stock": ["1", "1"], "sound": ["1", "2"]}
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("client-ids-equal", Severity.CRITICAL, "1")
    assert found.says.endswith(": billing, stock")


def test_members_that_subscribe_to_different_things_are_found_when_they_are_asked(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {f"%RETRY%{group}": (1, 1) for group in ("billing", "sound")})
    broker.members = {"billing": ["1", "2", "3"], "sound": ["4", "5", "6"]}
    retry = ("%RETRY%billing", "*", list[str]())
    broker.said = {
        "1": _running_info(("orders", "a", ["a"]), retry),
        "2": _running_info(("orders", "b", ["b"]), ("bills", "*", []), retry),
        "4": _running_info(("orders", "a || b", ["a", "b"])),
        "5": _running_info(("orders", "b || a", ["b", "a"])),
    }
    assert judge(read_cluster(addresses)) == []
    assert 307 not in broker.asked
    (found,) = judge(read_cluster(addresses, ask_clients=True))
    assert (found.kind, found.severity, found.where) == ("subscriptions-differ", Severity.CRITICAL, "billing")
    assert found.says == "orders a (1) / bills *; orders b (2)"


def test_delayed_messages_that_are_overdue_are_found(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.delayed, broker.stored_before = 5, 3
    begun_ms = time.time() * 1000
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("delayed-messages-overdue", Severity.CRITICAL, "broker-a")
    assert "at least 3 of level 1" in found.says
    ((topic, queue, at_ms),) = broker.searched
    # The first level waits for a second, and clocks may differ by a minute.
    assert (topic, queue) == ("SCHEDULE_TOPIC_XXXX", 0)
    assert -61_000 <= at_ms - begun_ms <= -61_000 + (time.time() * 1000 - begun_ms)


def test_delayed_messages_that_wait_for_their_time_are_none(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.delayed = 5
    assert judge(read_cluster(addresses)) == []


@pytest.mark.parametrize(
    ("version", "interval", "delayed", "seconds"),
    [
        ("V4_6_0", {}, 5, "10 s"),
        ("V4_6_0", {"flushDelayOffsetInterval": "30000"}, 5, "30 s"),
        ("V4_6_0", {"flushDelayOffsetInterval": "1000"}, 5, None),
        ("V4_6_0", {}, 0, None),
        ("V4_9_7", {}, 5, None),
        ("V5_5_0", {}, 5, None),
        ("", {}, 5, None),
    ],
)
def test_a_master_whose_restart_would_deliver_again_is_named(
    serving: ExitStack, version: str, interval: dict[str, str], delayed: int, seconds: str | None
) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.version, broker.delayed = version, delayed
    broker.conf |= interval
    # 4.6.0 has another finding, whatever its delayed messages are.
    found = [one for one in judge(read_cluster(addresses)) if one.kind != "remote-configuration"]
    assert [one.kind for one in found] == (["restart-delivers-again"] if seconds else [])
    assert all(seconds in one.says and one.where == "broker-a" for one in found if seconds)


HALVES = {"RMQ_SYS_TRANS_HALF_TOPIC": (1, 1)}
WITH_OPS = {**HALVES, "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 1)}
POOL = {"transientStorePoolEnable": "true"}


@pytest.mark.parametrize(
    ("version", "topics", "conf", "kinds"),
    [
        ("V4_6_0", HALVES, {}, ["deletion-rechecks-transactions"]),
        ("V4_6_0", WITH_OPS, {}, []),
        ("V4_9_7", HALVES, {}, []),
        ("V5_5_0", WITH_OPS, POOL, ["pool-loses-data", "pool-loses-transaction-commits"]),
        ("V5_5_0", WITH_OPS, {**POOL, "commitCommitLogLeastPages": "0"}, ["pool-loses-data"]),
        ("V5_5_0", WITH_OPS, {**POOL, "commitCommitLogThoroughInterval": "1"}, ["pool-loses-data"]),
    ],
)
def test_a_master_whose_transactions_would_not_end_or_come_back_is_named(
    serving: ExitStack, version: str, topics: dict[str, tuple[int, int]], conf: dict[str, str], kinds: list[str]
) -> None:
    broker, _, addresses = _cluster(serving, topics)
    broker.version, broker.ends = version, {"RMQ_SYS_TRANS_HALF_TOPIC": 1200}
    broker.conf |= conf
    found = [one for one in judge(read_cluster(addresses)) if one.kind != "remote-configuration"]
    assert sorted(one.kind for one in found) == kinds
    assert all("1,200 half messages" in one.says for one in found if "commits" in one.kind)


def test_a_master_without_transactions_has_none_to_lose(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, WITH_OPS)
    broker.conf |= POOL
    assert [one.kind for one in judge(read_cluster(addresses))] == ["pool-loses-data"]


def test_a_broker_is_asked_about_half_messages_where_it_has_their_topic(serving: ExitStack) -> None:
    for topics, asked in ((WITH_OPS, True), ({}, False)):
        broker, _, addresses = _cluster(serving, topics)
        read_cluster(addresses)
        assert (30 in broker.asked) is asked


def test_a_broker_that_has_members_reset_their_offsets_is_named(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.conf["useServerSideResetOffset"] = "true"
    assert judge(read_cluster(addresses)) == []
    broker.conf["useServerSideResetOffset"] = "false"
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("reset-stops-members", Severity.WARNING, "broker-a")


@pytest.mark.parametrize(
    ("version", "conf", "is_found"),
    [
        ("V4_6_0", {"sendMessageThreadPoolNums": "1"}, True),
        ("V4_6_0", {"sendMessageThreadPoolNums": "16"}, False),
        ("V4_6_0", {"sendMessageThreadPoolNums": "1", "flushDiskType": "ASYNC_FLUSH"}, False),
        ("V4_9_7", {"sendMessageThreadPoolNums": "1"}, False),
        ("", {"sendMessageThreadPoolNums": "1"}, False),
    ],
)
def test_a_master_that_stores_one_message_a_flush_is_named(
    serving: ExitStack, version: str, conf: dict[str, str], is_found: bool
) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.version = version
    broker.conf |= {"flushDiskType": "SYNC_FLUSH"} | conf
    kinds = {one.kind for one in judge(read_cluster(addresses))}
    assert ("one-message-a-flush" in kinds) is is_found


def test_a_dispatch_that_stands_still_is_found_and_one_that_is_behind_is_not(
    serving: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.audit.reading.SETTLE_S", 0.0)
    broker, _, addresses = _cluster(serving, {})
    broker.dispatched = [100, 40, 40]
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("dispatch-stands-still", Severity.CRITICAL, "broker-a")
    assert found.says.startswith("60 bytes")
    broker.dispatched = [100, 40, 70]
    assert judge(read_cluster(addresses)) == []


def test_a_disk_is_as_full_as_the_broker_counts(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.disk = "0.8199304"
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("disk-full-after-upgrade", Severity.WARNING, "broker-a")
    broker.disk = "0.82"
    assert judge(read_cluster(addresses)) == []


@pytest.mark.parametrize(
    ("version", "conf", "severity"),
    [
        ("V5_3_3", {"slaveReadEnable": "false"}, Severity.WARNING),
        ("V5_5_0", {"slaveReadEnable": "false"}, Severity.WARNING),
        ("V5_5_0", {"slaveReadEnable": "true"}, None),
        ("V5_5_0", {"slaveReadEnable": "false", "enableControllerMode": "true"}, None),
        ("V4_9_7", {"slaveReadEnable": "false"}, None),
    ],
)
def test_a_slave_of_5x_that_serves_no_reads_is_named(
    serving: ExitStack, version: str, conf: dict[str, str], severity: Severity | None
) -> None:
    _, servers, addresses = _cluster(serving, {})
    slave = Fake(version=version, conf={**CONF, "brokerRole": "SLAVE", **conf})
    for one in servers:
        one.brokers["broker-a"][1] = serving.enter_context(_serve(slave))
    found = [one for one in judge(read_cluster(addresses)) if one.kind == "slave-serves-no-reads"]
    assert [(one.severity, one.where) for one in found] == ([(severity, "broker-a (slave 1)")] if severity else [])
    for one in servers:
        one.brokers["broker-a"][0] = "127.0.0.1:1"
    dead = [one for one in judge(read_cluster(addresses)) if one.kind == "slave-serves-no-reads"]
    assert [one.severity for one in dead] == ([Severity.CRITICAL] if severity else [])
    assert all("its master does not answer" in one.says for one in dead)


@pytest.mark.parametrize(
    ("held_ms", "conf", "is_found"),
    [
        (1_500, {}, False),
        (60_999, {}, False),
        (61_000, {}, True),
        (9_999_999, {}, True),
        (10_000_000, {}, False),
        (120_000, {"osPageCacheBusyTimeOutMills": "100000"}, False),
        (160_000, {"osPageCacheBusyTimeOutMills": "100000"}, True),
    ],
)
def test_a_lock_that_counts_as_held_for_minutes_is_a_broker_that_refuses_sends(
    serving: ExitStack, held_ms: int, conf: dict[str, str], is_found: bool
) -> None:
    broker, _, addresses = _cluster(serving, {})
    broker.lock_held_ms = held_ms
    broker.conf |= conf
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.severity) for one in found] == ([("busy-flag-stuck", Severity.CRITICAL)] if is_found else [])
    assert all(f"{held_ms / 1000:,.0f} s" in one.says for one in found)


@pytest.mark.parametrize(("version", "does"), [("V4_6_0", "begins at 0"), ("V4_9_7", "goes on from the end")])
def test_offsets_beyond_the_ends_of_their_queues_are_found(serving: ExitStack, version: str, does: str) -> None:
    broker, _, addresses = _cluster(serving, {"orders": (2, 2), "bills": (1, 1), "%RETRY%g": (1, 1)})
    broker.version, broker.ends = version, {"orders": 215, "bills": 40}
    broker.committed = {
        "orders@billing": {0: 230, 1: 215},
        "orders@stock": {0: 215, 1: 216},
        "bills@billing": {0: 40},
        "%RETRY%g@g": {0: 7},
        "gone@billing": {0: 99},
        "orders@wide": {2: 999},
    }
    broker.online = {"g"}
    (found,) = [one for one in judge(read_cluster(addresses)) if one.kind == "offset-past-the-end"]
    assert (found.severity, found.where) == (Severity.CRITICAL, "orders on broker-a")
    assert "of 2 queues: billing, stock; billing has 230 of queue 0, which ends at 215" in found.says
    assert does in found.advice


def test_ends_are_asked_of_so_many_queues_at_most(serving: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    broker, _, addresses = _cluster(serving, {"orders": (8, 8)})
    broker.committed = {f"orders@g{number}": dict.fromkeys(range(8), 5) for number in range(3)}
    monkeypatch.setattr("harness.audit.reading.QUEUES_MAX", 4)
    (one,) = [one for one in read_cluster(addresses).brokers if one.past_end]
    assert broker.asked.count(43) == 1
    assert broker.asked.count(30) == 4
    assert {(past.topic, past.queue) for past in one.past_end} == {("orders", queue) for queue in range(4)}


def test_a_broker_that_does_not_tell_its_offsets_is_read_for_the_rest(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {"orders": (1, 1)})
    broker.committed = {"orders@billing": {0: 5}}
    broker.refused = {43}
    assert judge(read_cluster(addresses)) == []


def test_a_name_server_that_lacks_the_broker_is_named(serving: ExitStack) -> None:
    _, servers, addresses = _cluster(serving, {"orders": (4, 4)})
    servers[1].brokers.clear()
    servers[1].topics.clear()
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.where) for one in found] == [("broker-missing", "broker-a")]
    assert addresses[1] in found[0].says
    assert addresses[0] not in found[0].says


def test_a_name_server_that_lacks_only_a_topic_is_named(serving: ExitStack) -> None:
    _, servers, addresses = _cluster(serving, {"orders": (4, 4), "%RETRY%g": (1, 1)})
    del servers[1].topics["%RETRY%g"]
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.where) for one in found] == [("topics-missing", addresses[1])]
    assert "%RETRY%g" in found[0].says


def test_routes_with_other_queue_numbers_are_found(serving: ExitStack) -> None:
    _, servers, addresses = _cluster(serving, {"orders": (4, 4)})
    servers[1].topics["orders"] = (8, 8)
    assert _kinds(read_cluster(addresses)) == ["routes-differ"]


@pytest.mark.parametrize(("queues", "severity"), [((8, 4), Severity.CRITICAL), ((4, 8), Severity.WARNING)])
def test_queue_numbers_that_differ_are_found(serving: ExitStack, queues: tuple[int, int], severity: Severity) -> None:
    _, _, addresses = _cluster(serving, {"orders": queues})
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.severity) for one in found] == [("queue-numbers-differ", severity)]


def test_a_name_server_that_is_down_is_a_finding_and_no_error(serving: ExitStack) -> None:
    _, _, addresses = _cluster(serving, {"orders": (4, 4)}, servers=1)
    assert _kinds(read_cluster([*addresses, "127.0.0.1:1"])) == ["unreachable"]


def test_a_broker_that_a_name_server_lists_elsewhere_is_not_asked(serving: ExitStack) -> None:
    server = Fake(brokers={"broker-a": {0: "203.0.113.7:10911"}})
    address = serving.enter_context(_serve(server))
    with pytest.raises(TargetNotAllowedError, match=r"203\.0\.113\.7"):
        read_cluster([address])


def test_a_broker_that_nobody_lists_is_read_when_it_is_known(serving: ExitStack) -> None:
    broker, servers, addresses = _cluster(serving, {"orders": (4, 4)})
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
    address = serving.enter_context(_serve(Fake(online=online)))
    with Broker(address) as connection:
        found = list(connection.online(f"g{index}" for index in range(1000)))
    assert found == [index % 3 == 0 for index in range(1000)]


# --- judging ------------------------------------------------------------------------------------------------------------


def _reading(*brokers: BrokerReading, offline: frozenset[str] = frozenset(), at_s: float = 0.0) -> Reading:
    listed = {broker.name: {broker.broker_id: broker.address} for broker in brokers}
    topics = frozenset(topic.name for broker in brokers for topic in broker.topics)
    server = NameServerReading(address="127.0.0.1:9876", brokers=listed, topics=topics)
    return Reading(at_s=at_s, name_servers=(server,), brokers=brokers, offline=offline)


def _broker(frame_bytes: int = 1000, *, conf: Mapping[str, str] | None = None) -> BrokerReading:
    return BrokerReading(
        name="broker-a", broker_id=0, address="127.0.0.1:1", conf={**CONF, **(conf or {})}, frame_bytes=frame_bytes
    )


@pytest.mark.parametrize(
    ("frame_bytes", "kinds"),
    [
        (799_999, []),
        (800_000, ["registration-nearly-full"]),
        (1_000_000, ["registration-nearly-full"]),
        (1_000_001, ["registration-over-limit"]),
    ],
)
def test_a_registration_is_judged_against_the_limit(frame_bytes: int, kinds: list[str]) -> None:
    assert _kinds(_reading(_broker(frame_bytes)), 1_000_000) == kinds


def test_growth_since_an_earlier_reading_gives_the_date_of_the_crossing() -> None:
    earlier = Growth(at_s=0.0, frame_bytes={"broker-a": 100})
    assert crossing(_broker(200), 10.0, earlier, 1000) == pytest.approx(90.0)
    assert crossing(_broker(100), 10.0, earlier, 1000) is None
    assert crossing(_broker(200), 10.0, None, 1000) is None
    found = judge(_reading(_broker(200), at_s=10.0), limit_bytes=1000, earlier=earlier)
    assert [one.kind for one in found] == ["registration-growing"]
    assert "1970-01-01 00:01" in found[0].says


def test_a_few_retry_topics_of_offline_groups_are_normal_and_many_are_a_warning() -> None:
    def flooded(count: int) -> Reading:
        names = [f"%RETRY%gone-{index:05d}" for index in range(count)]
        topics = tuple(TopicConfig(name=name, read_queues=1, write_queues=1) for name in names)
        offline = frozenset(name.removeprefix("%RETRY%") for name in names)
        return _reading(replace(_broker(), topics=topics), offline=offline)

    assert _kinds(flooded(10), 1_000_000) == []
    assert _kinds(flooded(1000), 1_000_000) == ["offline-retry-topics"]


@pytest.mark.parametrize(
    ("conf", "is_5x", "kinds"),
    [
        ({"transientStorePoolEnable": "true"}, False, ["pool-loses-data"]),
        ({"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"}, False, []),
        ({"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"}, True, ["pool-loses-data"]),
        ({"rocketmq.broker.rebalance.lockMaxLiveTime": "30000"}, False, ["lock-settings"]),
        ({"transientStorePoolEnable": "false"}, False, []),
        ({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "1"}, True, ["sync-master-alone"]),
        ({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}, True, []),
        ({"brokerRole": "ASYNC_MASTER", "inSyncReplicas": "1"}, True, []),
        ({"brokerRole": "SYNC_MASTER"}, False, []),
    ],
)
def test_settings_that_lose_data_or_do_nothing_are_found(conf: dict[str, str], is_5x: bool, kinds: list[str]) -> None:
    assert _kinds(_reading(replace(_broker(conf=conf), is_5x=is_5x))) == kinds


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


OPEN = Severity.CRITICAL


@pytest.mark.parametrize(
    ("version", "conf", "of_broker", "of_server"),
    [
        ((4, 6, 0), {}, OPEN, OPEN),
        ((4, 6, 0), {"aclEnable": "true"}, Severity.WARNING, OPEN),
        ((4, 9, 5), {}, OPEN, OPEN),
        ((4, 9, 6), {}, None, OPEN),
        ((4, 9, 7), {}, None, None),
        ((5, 0, 0), {}, OPEN, OPEN),
        ((5, 1, 1), {}, None, OPEN),
        ((5, 1, 2), {}, None, None),
        ((5, 5, 0), {"configBlackList": "configBlackList;brokerConfigPath"}, None, None),
        ((5, 5, 0), {"configBlackList": "brokerConfigPath;x"}, Severity.WARNING, None),
        ((), {}, None, None),
    ],
)
def test_releases_that_let_strangers_change_their_configuration_are_found(
    version: tuple[int, ...],
    conf: dict[str, str],
    of_broker: Severity | None,
    of_server: Severity | None,
) -> None:
    reading = _reading(replace(_broker(conf=conf), version=version))
    reading = replace(reading, name_servers=tuple(replace(one, version=version) for one in reading.name_servers))
    found = {one.where: one for one in judge(reading)}
    assert all(one.kind == "remote-configuration" for one in found.values())
    severities = {where: one.severity for where, one in found.items()}
    assert severities.get("broker-a") == of_broker
    assert severities.get("name server 127.0.0.1:9876") == of_server


def test_the_release_is_read_from_what_nodes_answer_and_nothing_is_tried(serving: ExitStack) -> None:
    broker, servers, addresses = _cluster(serving, {"orders": (4, 4)})
    for node in (broker, *servers):
        node.version, node.number = "V4_6_0", 333
    reading = read_cluster(addresses)
    assert [one.version for one in reading.brokers] == [(4, 6, 0)]
    assert [one.version for one in reading.name_servers] == [(4, 6, 0)] * 2
    assert _kinds(reading) == ["remote-configuration"] * 3
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}


def test_a_lock_that_lives_for_less_than_three_renewals_is_said() -> None:
    broker = _broker(conf={"rocketmq.broker.rebalance.lockMaxLiveTime": "30000"})
    assert "1.5 renewals" in judge(_reading(broker))[0].says


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


# --- the law ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name_bytes", [20, 51, 127])
def test_the_law_agrees_with_the_listing_that_it_predicts(name_bytes: int) -> None:
    topics = {"%RETRY%" + flood_group(index, name_bytes): (1, 1) for index in range(500)}
    assert {len(name) for name in topics} == {name_bytes}
    listing = _table(topics)
    by_law = frame_of_topics([(name, 1) for name in topics], REGISTRANT)
    # The version's numbers are of other lengths here.
    assert abs(by_law - frame_of_listing(len(listing), REGISTRANT)) < 20


def test_a_topic_costs_its_name_twice_and_5x_has_attributes_as_well() -> None:
    assert topic_bytes(52, is_5x=False) - topic_bytes(51, is_5x=False) == 2
    assert topic_bytes(51, is_5x=True) - topic_bytes(51, is_5x=False) == len('"attributes":{},')
    assert topic_bytes(54, is_5x=False) == 236


def test_the_first_number_of_topics_that_is_too_many_is_the_one_beyond_the_limit() -> None:
    each = topic_bytes(30, is_5x=False)
    assert topics_at_limit(1000 + 3 * each, 1000, 10, 30, is_5x=False) == 14
    assert topics_at_limit(999 + 3 * each, 1000, 10, 30, is_5x=False) == 13


def test_topics_written_ahead_fill_the_share_that_was_asked_for(tmp_path: Path) -> None:
    ahead = TopicsAhead(frame_bytes=100_000, share=0.9, name_bytes=40)
    count = write_topics_ahead(tmp_path, ahead, REGISTRANT)
    table = json.loads((tmp_path / "config" / "topics.json").read_text())["topicConfigTable"]
    assert len(table) == count
    frame = frame_of_topics([(name, 1) for name in table], REGISTRANT)
    assert 0 <= 90_000 - frame <= topic_bytes(40, is_5x=False) + 1


# --- the remedy ---------------------------------------------------------------------------------------------------------


def test_only_topics_without_messages_of_offline_groups_are_deleted(serving: ExitStack, tmp_path: Path) -> None:
    names = {f"%RETRY%{name}": (1, 1) for name in ("gone", "pending", "here")}
    broker, servers, addresses = _cluster(serving, {**names, "orders": (1, 1)})
    broker.online.add("here")
    broker.ends["%RETRY%pending"] = 3
    remedy = plan_remedy(read_cluster(addresses))
    assert [one.topic for one in remedy.deletions] == ["%RETRY%gone"]
    assert [topic for topic, _ in remedy.kept] == ["%RETRY%pending"]
    assert apply_remedy(remedy.deletions, addresses, per_s=1000, journal=tmp_path / "j").deleted == 1
    assert set(broker.topics) == {"%RETRY%pending", "%RETRY%here", "orders"}
    assert all("%RETRY%gone" not in server.topics for server in servers)


def test_a_topic_that_was_used_is_kept_on_4x_where_its_groups_offset_would_stay(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {"%RETRY%used": (1, 1)})
    broker.ends["%RETRY%used"] = broker.consumed["%RETRY%used"] = 3
    reading = read_cluster(addresses)
    remedy = plan_remedy(reading)
    assert remedy.deletions == ()
    assert "keeps the group's offset 3" in remedy.kept[0][1]
    of_5x = replace(reading, brokers=tuple(replace(one, is_5x=True) for one in reading.brokers))
    assert [one.topic for one in plan_remedy(of_5x).deletions] == ["%RETRY%used"]


def test_nothing_is_deleted_while_retries_are_not_due_yet(serving: ExitStack) -> None:
    broker, _, addresses = _cluster(serving, {"%RETRY%gone": (1, 1)})
    broker.delayed = 2
    remedy = plan_remedy(read_cluster(addresses))
    assert remedy.deletions == ()
    assert "2 delayed messages" in remedy.kept[0][1]


def test_a_remedy_goes_on_where_it_stopped_and_spares_a_group_that_came_back(
    serving: ExitStack, tmp_path: Path
) -> None:
    broker, _, addresses = _cluster(serving, {f"%RETRY%g{index}": (1, 1) for index in range(4)})
    deletions = plan_remedy(read_cluster(addresses)).deletions
    journal = tmp_path / "j"
    assert apply_remedy(deletions[:2], addresses, per_s=1000, journal=journal).deleted == 2
    broker.topics["%RETRY%g0"] = (1, 1)
    broker.online.add("g2")
    applied = apply_remedy(deletions, addresses, per_s=1000, journal=journal)
    assert applied == Applied(deleted=1, before=2, online_again=1)
    assert set(broker.topics) == {"%RETRY%g0", "%RETRY%g2"}


def test_a_group_that_was_online_again_and_has_gone_since_is_looked_at_again(
    serving: ExitStack, tmp_path: Path
) -> None:
    broker, _, addresses = _cluster(serving, {"%RETRY%g": (1, 1)})
    deletions = plan_remedy(read_cluster(addresses)).deletions
    journal = tmp_path / "j"
    broker.online.add("g")
    assert apply_remedy(deletions, addresses, per_s=1000, journal=journal).online_again == 1
    assert deleted_before(journal) == set()
    broker.online.clear()
    assert apply_remedy(deletions, addresses, per_s=1000, journal=journal).deleted == 1
    assert deleted_before(journal) == {"%RETRY%g"}
    with journal.open("a") as torn:
        torn.write('{"topic": "%RETRY%h", "outco')
    assert deleted_before(journal) == {"%RETRY%g"}


def test_deletions_keep_to_their_rate(serving: ExitStack, tmp_path: Path) -> None:
    _, _, addresses = _cluster(serving, {f"%RETRY%g{index}": (1, 1) for index in range(6)})
    deletions = plan_remedy(read_cluster(addresses)).deletions
    started = time.monotonic()
    apply_remedy(deletions, addresses, per_s=20, journal=tmp_path / "j")
    assert time.monotonic() - started >= 5 / 20


# --- the command --------------------------------------------------------------------------------------------------------


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return audit(parser.parse_args(arguments), Console(stderr=True))


def test_the_exit_code_is_the_worst_severity(serving: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
    broker, _, addresses = _cluster(serving, {"orders": (4, 4)})
    namesrv = ",".join(addresses)
    assert _run("--namesrv", namesrv) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    broker.conf["transientStorePoolEnable"] = "true"
    assert _run("--namesrv", namesrv) == 1
    broker.topics["orders"] = (8, 4)
    assert _run("--namesrv", namesrv) == 2


def test_an_earlier_json_output_tells_the_growth(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broker, servers, addresses = _cluster(serving, {"orders": (4, 4)})
    arguments = ("--namesrv", ",".join(addresses), "--json", "--frame-limit", "100000")
    assert _run(*arguments) == 0
    earlier = capsys.readouterr().out
    (tmp_path / "earlier.json").write_text(earlier)
    for node in (broker, *servers):
        node.topics.update({f"%RETRY%g{index:03d}": (1, 1) for index in range(20)})
    assert _run(*arguments, "--since", str(tmp_path / "earlier.json")) == 1
    now = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in now["findings"]] == ["registration-growing"]
    assert now["brokers"][0]["topics"] == {"normal": 1, "retry": 20, "dead letter": 0, "system": 0}
    assert now["brokers"][0]["full_at_s"] > now["at_s"]


def test_a_watch_prints_one_line_a_reading(serving: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, addresses = _cluster(serving, {"orders": (4, 4)})
    assert _run("--namesrv", addresses[0], "--json", "--watch", "0.05", "--times", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([json.loads(line) for line in lines]) == 3


def test_a_file_for_prometheus_is_replaced_as_a_whole_and_nothing_is_printed(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broker, _, addresses = _cluster(serving, {"orders": (4, 4)})
    out = tmp_path / "mqlab.prom"
    arguments = ("--namesrv", addresses[0], "--format", "prometheus", "--out", str(out))
    assert _run(*arguments) == 0
    sound = read_exposition(out.read_text())
    broker.topics["orders"] = (8, 4)
    assert _run(*arguments) == 2
    sick = read_exposition(out.read_text())
    severity = ("mqlab_audit_severity", frozenset[tuple[str, str]]())
    assert (sound[severity], sick[severity]) == (0, 2)
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--json", "--format", "prometheus"), "two formats"),
        (("--format", "prometheus", "--watch", "1"), "one text at a time"),
    ],
)
def test_formats_that_contradict_each_other_are_refused(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        _run("--namesrv", "127.0.0.1:1", *arguments)


def test_a_dry_run_lists_what_apply_deletes_and_writes_nothing(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    topics = {f"%RETRY%{name}": (1, 1) for name in ("gone", "pending", "again")}
    broker, servers, addresses = _cluster(serving, topics)
    broker.ends["%RETRY%pending"] = 3
    journal = tmp_path / "j"
    arguments = ("--namesrv", ",".join(addresses), "--offline-for", "0", "--journal", str(journal))
    for asked in (("--dry-run",), ("--dry-run", "--apply")):
        _run(*arguments, *asked)
        said = capsys.readouterr().err
        assert "to be deleted: %RETRY%gone\n" in said
        assert "kept: %RETRY%pending" in said
        assert "nothing is deleted" in said
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}
    assert not journal.exists()
    journal.write_text(json.dumps({"topic": "%RETRY%again", "outcome": "deleted"}) + "\n")
    _run(*arguments, "--apply")
    assert "kept: %RETRY%again, which the journal says was deleted before\n" in capsys.readouterr().err
    assert set(broker.topics) == {"%RETRY%pending", "%RETRY%again"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"subscriptionSet":[{]}',
        b'{"subscriptionSet":[1]}',
        b'{"subscriptionSet":[{"topic":"t"}]}',
        b'"subscriptionSet":[\xff',
    ],
)
def test_a_client_that_answers_in_another_way_has_not_answered(body: bytes) -> None:
    assert subscribed(body) is None


def test_tags_are_compared_in_an_order_of_their_own() -> None:
    body = b'{"mqTable":{{"queueId":1}:{}},"subscriptionSet":[{"subString":"b || a","tagsSet":["b","a"],"topic":"t"}]}'
    assert subscribed(body) == {"t": "a || b"}
