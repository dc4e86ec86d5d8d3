"""RocketMQ's remoting protocol, as far as the harness administers and reads a cluster with it.

A frame is: total length (4 bytes), header length with the serialisation in its first byte (4 bytes, 0 is JSON), the
header, the body. All three releases accept JSON headers. Codes are those of ``RequestCode`` in rocketmq-common 4.x and
rocketmq-remoting 5.x. mqadmin is not used: it may print an error and then "success".
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from harness.errors import ClientError, ConfigurationError

FRAME_BYTES_MAX = 64 * 1024 * 1024
IS_ANSWER = 1
"""The lowest bit of a header's ``flag``: ``RemotingCommand.RPC_TYPE``."""
SUCCESS = 0
TOPIC_NOT_EXIST = 17
QUERY_NOT_FOUND = 22
CONSUMER_NOT_ONLINE = 206

SEND_MESSAGE = 10
PULL_MESSAGE = 11
UPDATE_CONSUMER_OFFSET = 15
UPDATE_AND_CREATE_TOPIC = 17
GET_ALL_TOPIC_CONFIG = 21
UPDATE_BROKER_CONFIG = 25
GET_BROKER_CONFIG = 26
GET_BROKER_RUNTIME_INFO = 28
GET_MAX_OFFSET = 30
GET_MIN_OFFSET = 31
QUERY_CONSUMER_OFFSET = 14
HEART_BEAT = 34
UNREGISTER_CLIENT = 35
CONSUMER_SEND_MSG_BACK = 36
LOCK_BATCH_MQ = 41
UNREGISTER_BROKER = 104
PUT_KV_CONFIG = 100
UPDATE_NAMESRV_CONFIG = 318
GET_ROUTEINFO_BY_TOPIC = 105
GET_BROKER_CLUSTER_INFO = 106
GET_CONSUMER_CONNECTION_LIST = 203
GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
DELETE_TOPIC_IN_BROKER = 215
DELETE_TOPIC_IN_NAMESRV = 216

PULL_WITH_SUBSCRIPTION = 4
"""FLAG_SUBSCRIPTION of PullSysFlag."""

READ_BYTES = 64 * 1024
ASKED_AT_ONCE = 256
"""Requests that are sent before their answers are read: enough to keep the other side busy, few enough to fit buffers."""

_INTEGER_KEY = re.compile(rb"([{,]\s*)(\d+)(\s*:)")
"""fastjson writes integer keys without quotes (``{0:"127.0.0.1:10911"}``), which is no JSON."""


def send_fields(topic: str, queue: int) -> Mapping[str, str | int]:
    """The header of a send, for one who wants the answer whatever it says."""
    return {
        "producerGroup": "mqlab",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 1,
        "queueId": queue,
        "sysFlag": 0,
        "bornTimestamp": int(time.time() * 1000),
        "flag": 0,
        "properties": "",
        "reconsumeTimes": 0,
        "unitMode": "false",
        "batch": "false",
    }


def pull_fields(group: str, topic: str, queue: int, offset: int) -> Mapping[str, str | int]:
    """The header of a pull of one message that does not wait for it and brings its own filter."""
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": queue,
        "queueOffset": offset,
        "maxMsgNums": 1,
        "sysFlag": PULL_WITH_SUBSCRIPTION,
        "commitOffset": 0,
        "suspendTimeoutMillis": 0,
        "subscription": "*",
        "subVersion": 1,
        "expressionType": "TAG",
    }


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response: ``code`` 0 is success, ``remark`` says why it is not."""

    code: int
    remark: str
    fields: Mapping[str, str]
    body: bytes

    def json(self) -> object:
        """The body, which fastjson wrote."""
        if not self.body:
            return {}
        try:
            return json.loads(self.body)
        except ValueError:
            return json.loads(_INTEGER_KEY.sub(rb'\1"\2"\3', self.body))


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicConfig:
    """A topic as its broker has it."""

    name: str
    read_queues: int
    write_queues: int
    perm: int = 6


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Where a message was stored: in its queue, and in the broker's commit log."""

    offset: int
    commit_log_offset: int


@dataclass(frozen=True, kw_only=True)
class TopicTable:
    """A broker's topics. ``json_bytes`` is how long its own listing of them is, which it also registers with."""

    topics: tuple[TopicConfig, ...]
    json_bytes: int
    has_attributes: bool = False
    """Whether its topics have attributes, which came with 5.0."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """Where a topic lives: addresses by broker name and broker id (0 is the master), queue numbers by broker name."""

    addresses: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    read_queues: Mapping[str, int] = field(default_factory=dict)
    write_queues: Mapping[str, int] = field(default_factory=dict)


def split_address(address: str) -> tuple[str, int]:
    """``("127.0.0.1", 9876)`` of ``127.0.0.1:9876``.

    Raises:
        ConfigurationError: it is no HOST:PORT.
    """
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigurationError(f"{address!r} is not HOST:PORT", advice="Write it like 127.0.0.1:9876.")
    return host, int(port)


def _frame(opaque: int, code: int, fields: Mapping[str, str | int], body: bytes) -> bytes:
    header = json.dumps(
        {
            "code": code,
            "language": "PYTHON",
            "version": 0,
            "opaque": opaque,
            "flag": 0,
            "remark": None,
            "extFields": {name: str(value) for name, value in fields.items()},
            "serializeTypeCurrentRPC": "JSON",
        }
    ).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def read_route(answer: Answer) -> Route | None:
    """The route of an answer to ``GET_ROUTEINFO_BY_TOPIC``, None when the name server knows none.

    Raises:
        ClientError: it refused.
    """
    if answer.code == TOPIC_NOT_EXIST:
        return None
    if answer.code != SUCCESS:
        raise ClientError(f"no route: {answer.code} {answer.remark}")
    data = answer.json()
    assert isinstance(data, dict)
    return Route(
        addresses={
            broker["brokerName"]: {int(key): value for key, value in broker["brokerAddrs"].items()}
            for broker in data.get("brokerDatas", ())
        },
        read_queues={queue["brokerName"]: int(queue["readQueueNums"]) for queue in data.get("queueDatas", ())},
        write_queues={queue["brokerName"]: int(queue["writeQueueNums"]) for queue in data.get("queueDatas", ())},
    )


class Remoting:
    """One connection to a name server or broker. Not safe for threads; short-lived by intent.

    Raises:
        ClientError: nobody listens there, it does not answer in time, or it refuses the request.
    """

    _opaque = itertools.count(1)

    def __init__(self, address: str, *, timeout_s: float = 5.0) -> None:
        self.address = address
        try:
            self._socket = socket.create_connection(split_address(address), timeout=timeout_s)
        except OSError as error:
            raise ClientError(f"cannot connect to {address}: {error}") from error
        self._answers = self._socket.makefile("rb", READ_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; what was online by it is offline when the other side has seen that."""
        self._answers.close()
        self._socket.close()

    def ask(self, code: int, fields: Mapping[str, str | int] | None = None, body: bytes = b"") -> Answer:
        """One request and its answer, whatever its code."""
        try:
            self._socket.sendall(_frame(next(self._opaque), code, fields or {}, body))
            return self._read_answer()[1]
        except OSError as error:
            raise ClientError(f"{self.address} did not answer request {code}: {error}") from error

    def ask_many(self, code: int, fields: Iterable[Mapping[str, str | int]]) -> Iterator[Answer]:
        """The answers to many requests of one kind, in their order, asked ``ASKED_AT_ONCE`` at a time."""
        rest = iter(fields)
        while chunk := list(itertools.islice(rest, ASKED_AT_ONCE)):
            numbers = [next(self._opaque) for _ in chunk]
            try:
                self._socket.sendall(
                    b"".join(_frame(one[0], code, one[1], b"") for one in zip(numbers, chunk, strict=True))
                )
                # Threads of the other side overtake each other.
                answers = dict(self._read_answer() for _ in chunk)
            except OSError as error:
                raise ClientError(f"{self.address} did not answer request {code}: {error}") from error
            for number in numbers:
                if number not in answers:
                    raise ClientError(f"{self.address} answered a request {code} that nobody asked")
                yield answers[number]

    def call(self, code: int, fields: Mapping[str, str | int] | None = None, body: bytes = b"") -> Answer:
        """One request that must succeed."""
        answer = self.ask(code, fields, body)
        if answer.code != SUCCESS:
            raise ClientError(f"{self.address} answered request {code} with code {answer.code}: {answer.remark}")
        return answer

    def _read_answer(self) -> tuple[int, Answer]:
        """The number of the request that is answered, and the answer.

        A broker tells a connection that has sent a heartbeat when its groups change; such requests are passed over.
        """
        while True:
            (length,) = struct.unpack(">I", self._read_exactly(4))
            if not 4 <= length <= FRAME_BYTES_MAX:
                raise ClientError(f"{self.address} answered with a frame of {length} bytes: not a RocketMQ node?")
            frame = self._read_exactly(length)
            header_length = struct.unpack(">I", frame[:4])[0] & 0xFFFFFF
            header = json.loads(frame[4 : 4 + header_length])
            if int(header.get("flag", IS_ANSWER)) & IS_ANSWER:
                break
        answer = Answer(
            code=int(header.get("code", -1)),
            remark=str(header.get("remark") or ""),
            fields=header.get("extFields") or {},
            body=frame[4 + header_length :],
        )
        return int(header.get("opaque", -1)), answer

    def _read_exactly(self, count: int) -> bytes:
        part: bytes = self._answers.read(count)
        if len(part) < count:
            raise ConnectionResetError("the connection was closed in the middle of an answer")
        return part

    # --- name server ------------------------------------------------------------------------------------------------

    def route(self, topic: str) -> Route | None:
        """A topic's route as this name server sees it, or None when it knows none."""
        answer = self.ask(GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
        return read_route(answer)

    def cluster_brokers(self) -> dict[str, dict[int, str]]:
        """Address by broker name and broker id of every broker that is registered."""
        data = self.call(GET_BROKER_CLUSTER_INFO).json()
        assert isinstance(data, dict)
        return {
            name: {int(key): value for key, value in broker["brokerAddrs"].items()}
            for name, broker in data.get("brokerAddrTable", {}).items()
        }

    def listed_topics(self) -> frozenset[str]:
        """Every topic that this name server has a route of."""
        data = self.call(GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json()
        assert isinstance(data, dict)
        return frozenset(data.get("topicList") or ())

    def unregister_broker(self, cluster: str, name: str, broker_id: int, address: str) -> None:
        """Tell this name server that a broker is gone, as the broker itself does when it stops."""
        fields: dict[str, str | int] = {
            "brokerName": name,
            "brokerAddr": address,
            "clusterName": cluster,
            "brokerId": broker_id,
        }
        self.call(UNREGISTER_BROKER, fields)

    def order_topic(self, topic: str, queues: Mapping[str, int]) -> None:
        """Let this name server hand out a fixed list of queues by broker name, whichever brokers are there.

        It does so only with ``orderMessageEnable``, which is off by default (org.apache.rocketmq.common.namesrv
        .NamesrvConfig).
        """
        self.call(UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true\n")
        value = ";".join(f"{broker}:{count}" for broker, count in sorted(queues.items()))
        self.call(PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": topic, "value": value})

    def delete_route(self, topic: str) -> None:
        """Forget the topic on this name server, for every broker; the brokers' next registration brings theirs back."""
        self.call(DELETE_TOPIC_IN_NAMESRV, {"topic": topic})

    # --- broker -----------------------------------------------------------------------------------------------------

    def create_topic(self, topic: str, *, read_queues: int, write_queues: int) -> None:
        """Create the topic on this broker, readable and writable."""
        self.call(
            UPDATE_AND_CREATE_TOPIC,
            {
                "topic": topic,
                "defaultTopic": "TBW102",
                "readQueueNums": read_queues,
                "writeQueueNums": write_queues,
                "perm": 6,
                "topicFilterType": "SINGLE_TAG",
                "topicSysFlag": 0,
                "order": "false",
            },
        )

    def topic_table(self) -> TopicTable:
        """All topics of this broker, of every type."""
        answer = self.call(GET_ALL_TOPIC_CONFIG)
        data = answer.json()
        assert isinstance(data, dict)
        topics = tuple(
            TopicConfig(
                name=name,
                read_queues=int(topic["readQueueNums"]),
                write_queues=int(topic["writeQueueNums"]),
                perm=int(topic["perm"]),
            )
            for name, topic in data.get("topicConfigTable", {}).items()
        )
        return TopicTable(topics=topics, json_bytes=len(answer.body), has_attributes=b'"attributes":' in answer.body)

    def delete_topic(self, topic: str) -> None:
        """Delete the topic on this broker, with what it holds. Name servers may go on listing it."""
        self.call(DELETE_TOPIC_IN_BROKER, {"topic": topic})

    def online(self, groups: Iterable[str]) -> Iterator[bool]:
        """Whether each consumer group has a connection here.

        Request 203 leaves no trace on the broker; 38 would write a warning for each group that is offline.
        """
        for answer in self.ask_many(GET_CONSUMER_CONNECTION_LIST, ({"consumerGroup": group} for group in groups)):
            if answer.code not in (SUCCESS, CONSUMER_NOT_ONLINE):
                raise ClientError(f"{self.address} did not say who is online: {answer.code} {answer.remark}")
            yield answer.code == SUCCESS

    def heartbeat(self, client_id: str, groups: Iterable[str], topic: str) -> None:
        """One heartbeat of a client with a push consumer of the topic in each group."""
        consumers = [
            {
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
                "consumeType": "CONSUME_PASSIVELY",
                "groupName": group,
                "messageModel": "CLUSTERING",
                "subscriptionDataSet": [
                    {
                        "classFilterMode": False,
                        "codeSet": [],
                        "expressionType": "TAG",
                        "subString": "*",
                        "subVersion": 1,
                        "tagsSet": [],
                        "topic": topic,
                    }
                ],
                "unitMode": False,
            }
            for group in groups
        ]
        body = {"clientID": client_id, "consumerDataSet": consumers, "producerDataSet": []}
        self.call(HEART_BEAT, body=json.dumps(body).encode())

    def send(self, topic: str, queue: int, body: bytes) -> Sent:
        """One message, as a producer sends it."""
        answer = self.call(SEND_MESSAGE, send_fields(topic, queue), body)
        # The id's last eight bytes are the place in the commit log (``MessageDecoder.createMessageId``).
        place = int(answer.fields["msgId"][-16:], 16)
        return Sent(offset=int(answer.fields["queueOffset"]), commit_log_offset=place)

    def send_back(self, group: str, topic: str, commit_log_offset: int, *, delay_level: int) -> None:
        """Give a message back as a consumer does that failed on it; it is retried after the delay of the level."""
        fields: dict[str, str | int] = {
            "offset": commit_log_offset,
            "group": group,
            "delayLevel": delay_level,
            "originMsgId": "",
            "originTopic": topic,
            "unitMode": "false",
            "maxReconsumeTimes": 16,
        }
        self.call(CONSUMER_SEND_MSG_BACK, fields)

    def pull(self, group: str, topic: str, queue: int, offset: int) -> bool:
        """Whether a pull at that offset finds a message."""
        return self.ask(PULL_MESSAGE, pull_fields(group, topic, queue, offset)).code == SUCCESS

    def commit_offset(self, group: str, topic: str, queue: int, offset: int) -> None:
        """Commit a group's offset."""
        fields: dict[str, str | int] = {
            "consumerGroup": group,
            "topic": topic,
            "queueId": queue,
            "commitOffset": offset,
        }
        self.call(UPDATE_CONSUMER_OFFSET, fields)

    def broker_config(self) -> dict[str, str]:
        """The broker's whole configuration as it runs."""
        text = self.call(GET_BROKER_CONFIG).body.decode()
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): value.strip() for key, _, value in pairs}

    def update_broker_config(self, settings: Mapping[str, str]) -> None:
        """Change settings of the running broker; only those that it reads again take effect."""
        body = "".join(f"{key}={value}\n" for key, value in settings.items()).encode()
        self.call(UPDATE_BROKER_CONFIG, body=body)

    def runtime_info(self) -> dict[str, str]:
        """What mqadmin brokerStatus prints: put latencies, buffers, offsets."""
        data = self.call(GET_BROKER_RUNTIME_INFO).json()
        assert isinstance(data, dict)
        return {str(key): str(value) for key, value in data.get("table", {}).items()}

    def min_offset(self, topic: str, queue: int) -> int:
        """The first offset that the queue still has."""
        return int(self.call(GET_MIN_OFFSET, {"topic": topic, "queueId": queue}).fields["offset"])

    def max_offset(self, topic: str, queue: int) -> int:
        """The offset that the queue's next message will get."""
        return int(self.call(GET_MAX_OFFSET, {"topic": topic, "queueId": queue}).fields["offset"])

    def consumer_offset(self, group: str, topic: str, queue: int) -> int | None:
        """The offset that the group has committed, or None when it has none."""
        fields: dict[str, str | int] = {"consumerGroup": group, "topic": topic, "queueId": queue}
        answer = self.ask(QUERY_CONSUMER_OFFSET, fields)
        if answer.code == QUERY_NOT_FOUND:
            return None
        if answer.code != SUCCESS:
            raise ClientError(f"{self.address} gave no offset of {group}: {answer.code} {answer.remark}")
        return int(answer.fields["offset"])

    def lock(self, group: str, client_id: str, queues: Sequence[tuple[str, str, int]]) -> set[tuple[str, int]]:
        """Ask for queue locks, each queue as (topic, broker name, queue); returns (broker name, queue) of the granted."""
        body = {
            "consumerGroup": group,
            "clientId": client_id,
            "mqSet": [{"topic": topic, "brokerName": broker, "queueId": queue} for topic, broker, queue in queues],
        }
        data = self.call(LOCK_BATCH_MQ, body=json.dumps(body).encode()).json()
        assert isinstance(data, dict)
        return {(queue["brokerName"], int(queue["queueId"])) for queue in data.get("lockOKMQSet") or ()}
