"""Nodes that only speak the protocol, for audits: what a real cluster would take minutes to become is made here."""

from __future__ import annotations

import json
import re
import socketserver
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from harness.audit.findings import judge
from harness.audit.reading import BrokerReading, NameServerReading, Reading
from harness.model.rocketmq import FRAME_BYTES_MAX

HANGS_S = 10.0
"""Longer than any test waits."""
WRITES = {17, 25, 36, 10, 15, 34, 215, 216, 104, 100, 318}
"""Requests that change something."""

CONF = {"brokerClusterName": "c", "brokerName": "broker-a", "haListenPort": "1", "brokerIP2": "127.0.0.1"}


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
    bodies: dict[int, bytes] = field(default_factory=dict)
    """What it answers to a request in place of what is right."""
    hangs_at: int = 0
    """The request that it never answers."""
    number: int = 0
    """The release in the header of its answers."""
    asked: list[int] = field(default_factory=list)
    searched: list[tuple[str, int, int]] = field(default_factory=list)

    def answer(self, code: int, fields: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(code)
        topic = fields.get("topic", "")
        if code in self.refused:
            return 3, {}, b""
        if code in self.bodies:
            return 0, {}, self.bodies[code]
        if code == self.hangs_at:
            time.sleep(HANGS_S)
        match code:
            case 21:
                return 0, {}, table_of(self.topics)
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
                text = re.sub(r'"(-?\d+)":', r"\1:", json.dumps({"brokerAddrTable": table}, separators=(",", ":")))
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


def table_of(topics: Mapping[str, tuple[int, int]]) -> bytes:
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
def serve(fake: Fake) -> Iterator[str]:
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


def cluster(
    stack: ExitStack, topics: Mapping[str, tuple[int, int]], servers: int = 2
) -> tuple[Fake, list[Fake], list[str]]:
    """One broker and name servers that list it."""
    broker = Fake(topics=dict(topics))
    address = stack.enter_context(serve(broker))
    fakes = [Fake(topics=dict(topics), brokers={"broker-a": {0: address}}) for _ in range(servers)]
    return broker, fakes, [stack.enter_context(serve(fake)) for fake in fakes]


def kinds_of(reading: Reading, limit_bytes: int = FRAME_BYTES_MAX) -> list[str]:
    return [finding.kind for finding in judge(reading, limit_bytes=limit_bytes)]


def reading_of(*brokers: BrokerReading, offline: frozenset[str] = frozenset(), at_s: float = 0.0) -> Reading:
    listed = {broker.name: {broker.broker_id: broker.address} for broker in brokers}
    topics = frozenset(topic.name for broker in brokers for topic in broker.topics)
    server = NameServerReading(address="127.0.0.1:9876", brokers=listed, topics=topics)
    return Reading(at_s=at_s, name_servers=(server,), brokers=brokers, offline=offline)


def broker_of(frame_bytes: int = 1000, *, conf: Mapping[str, str] | None = None) -> BrokerReading:
    return BrokerReading(
        name="broker-a", broker_id=0, address="127.0.0.1:1", conf={**CONF, **(conf or {})}, frame_bytes=frame_bytes
    )
