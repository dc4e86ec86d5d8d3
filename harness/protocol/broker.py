"""What a broker is asked: topics, offsets, settings, locks, and single messages."""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import AnswerError, ClientError
from harness.model import rocketmq
from harness.printable import excerpt
from harness.protocol.connection import Connection
from harness.protocol.fastjson import JsonObject
from harness.protocol.frames import Answer, Fields, Version, numbered_version
from harness.protocol.name_server import QUEUES_MAX
from harness.wait import NotYet, wait_until

PULL_WITH_SUBSCRIPTION = 4
"""FLAG_SUBSCRIPTION of PullSysFlag."""
EXPRESSION_CHARS_MAX = 100_000
"""Of a subscription, which may be a condition in SQL."""
SAMPLED_S_MAX = 30.0
"""For a broker's first sample of its rates, which it takes every second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicConfig:
    """A topic as its broker has it."""

    name: str
    read_queues: int
    write_queues: int
    perm: int = rocketmq.PERM_READ_WRITE


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Where a message was stored: in its queue, and in the broker's commit log."""

    offset: int
    commit_log_offset: int


@dataclass(frozen=True, kw_only=True)
class TopicTable:
    """A broker's topics. ``json_bytes`` is the length of its own listing, which it also sends when it registers."""

    topics: tuple[TopicConfig, ...]
    json_bytes: int
    has_attributes: bool = False
    """Whether its topics have attributes, which came with 5.0."""


def send_fields(topic: str, queue: int) -> Fields:
    """The header of a send."""
    return {
        "producerGroup": "mqlab",
        "topic": topic,
        "defaultTopic": rocketmq.DEFAULT_TOPIC,
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


def pull_fields(group: str, topic: str, queue: int, offset: int, count: int = 1) -> Fields:
    """The header of a pull of at most ``count`` messages. It does not wait for them, and it brings its own filter."""
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": queue,
        "queueOffset": offset,
        "maxMsgNums": count,
        "sysFlag": PULL_WITH_SUBSCRIPTION,
        "commitOffset": 0,
        "suspendTimeoutMillis": 0,
        "subscription": "*",
        "subVersion": 1,
        "expressionType": "TAG",
    }


_RESET = re.compile(rb'\{[^{}]*"queueId":(\d+)[^{}]*\}:(\d+)')
"""A queue with its offset in a ``ResetOffsetBody``, whose keys are objects, which is no JSON."""
_LEVEL = re.compile(r"([0-9]{1,9}):(-?[0-9]{1,19}),(-?[0-9]{1,19})")
SUBSCRIPTION_SET = re.compile(rb'"subscriptionSet":(?=\[)')


@dataclass(frozen=True, kw_only=True)
class Member:
    """A connection of a consumer group: the client's id, and where it comes from. ``pulls`` says that its group asks for messages
    by itself (CONSUME_ACTIVELY), as pull consumers and lite pull consumers do."""

    client_id: str
    address: str
    language: str = ""
    version: Version = ()
    pulls: bool = False


def _members(answer: Answer) -> tuple[Member, ...]:
    written = answer.written()
    pulls = written.values.get("consumeType") == "CONSUME_ACTIVELY"
    return tuple(
        Member(
            client_id=connection.text("clientId"),
            address=connection.text("clientAddr"),
            language="" if connection.values.get("language") is None else connection.text("language"),
            version=numbered_version(connection.number("version", default=0)),
            pulls=pulls,
        )
        for connection in written.children("connectionSet")
    )


def _expression(subscription: JsonObject) -> str:
    """Tags in an order of their own, so that the same ones are the same expression."""
    return " || ".join(sorted(subscription.texts("tagsSet"))) or subscription.text("subString", EXPRESSION_CHARS_MAX)


def subscribed(body: bytes) -> dict[str, str] | None:
    """Of a client's running information what it subscribes to, by topic; None where it is not as Java's client writes it."""
    found = SUBSCRIPTION_SET.search(body)
    if found is None:
        return None
    try:
        # The rest of the body has objects as keys, which is no JSON.
        written, _ = json.JSONDecoder().raw_decode(body[found.end() :].decode())
        subscriptions = JsonObject(by="a client", values={"subscriptionSet": written}).children("subscriptionSet")
        return {subscription.text("topic"): _expression(subscription) for subscription in subscriptions}
    except (ValueError, RecursionError, AnswerError):
        return None


def delay_offsets(runtime_info: Mapping[str, str], by: str = "a broker") -> dict[int, tuple[int, int]]:
    """By delay level the offset up to which a broker has delivered, and its end, as brokerStatus has them.

    Raises AnswerError, which names the broker ``by``, where one is no number.
    """
    prefix, levels = "scheduleMessageOffset_", {}
    for key, value in runtime_info.items():
        if key.startswith(prefix):
            match = _LEVEL.fullmatch(f"{key.removeprefix(prefix)}:{value}")
            if match is None:
                raise AnswerError.nonsense(
                    by, f"{excerpt(key)} is {excerpt(value)}, which are no two offsets of a level"
                )
            levels[int(match[1])] = (int(match[2]), int(match[3]))
    return levels


class Broker(Connection):
    """A connection to a broker. Every method raises ClientError when it does not answer, or refuses."""

    def create_topic(self, topic: str, *, read_queues: int, write_queues: int, order: bool = False) -> None:
        """Create the topic on this broker, readable and writable; ``order``: as an order topic."""
        self.call(
            rocketmq.UPDATE_AND_CREATE_TOPIC,
            {
                "topic": topic,
                "defaultTopic": rocketmq.DEFAULT_TOPIC,
                "readQueueNums": read_queues,
                "writeQueueNums": write_queues,
                "perm": rocketmq.PERM_READ_WRITE,
                "topicFilterType": "SINGLE_TAG",
                "topicSysFlag": 0,
                "order": str(order).lower(),
            },
        )

    def topic_table(self) -> TopicTable:
        """All topics of this broker, of every type."""
        answer = self.call(rocketmq.GET_ALL_TOPIC_CONFIG)
        topics = tuple(
            TopicConfig(
                name=name,
                read_queues=topic.number("readQueueNums", 0, QUEUES_MAX),
                write_queues=topic.number("writeQueueNums", 0, QUEUES_MAX),
                perm=topic.number("perm"),
            )
            for name, topic in answer.written().child("topicConfigTable").by_name()
        )
        return TopicTable(topics=topics, json_bytes=len(answer.body), has_attributes=b'"attributes":' in answer.body)

    def delete_topic(self, topic: str) -> None:
        """Delete the topic and its messages on this broker. Name servers may go on listing it."""
        self.call(rocketmq.DELETE_TOPIC_IN_BROKER, {"topic": topic})

    def create_group(self, group: str) -> None:
        """Make the consumer group, with RocketMQ's defaults."""
        self.call(rocketmq.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=json.dumps({"groupName": group}).encode())

    def delete_group(self, group: str) -> None:
        """Delete the consumer group, and its offsets where the release can: 4.9.7 and 5.x, each by a name of its own."""
        fields: Fields = {"groupName": group, "removeOffset": "true", "cleanOffset": "true"}
        self.call(rocketmq.DELETE_SUBSCRIPTIONGROUP, fields)

    def online(self, groups: Iterable[str]) -> Iterator[bool]:
        """Whether each consumer group has a connection here."""
        return (members is not None for members in self.members(groups))

    def members(self, groups: Iterable[str]) -> Iterator[tuple[Member, ...] | None]:
        """The connections of each consumer group here, None where it has none.

        Request 203 leaves no trace on the broker; 38 would write a warning for each group that is offline.
        """
        for answer in self.ask_many(
            rocketmq.GET_CONSUMER_CONNECTION_LIST, ({"consumerGroup": group} for group in groups)
        ):
            if answer.code not in (rocketmq.SUCCESS, rocketmq.CONSUMER_NOT_ONLINE):
                raise ClientError(f"{self.words} did not say who is online: {answer.code} {excerpt(answer.remark)}")
            yield None if answer.code == rocketmq.CONSUMER_NOT_ONLINE else _members(answer)

    def subscriptions(self, group: str, client_ids: Sequence[str]) -> Iterator[dict[str, str] | None]:
        """What each of these clients says that it subscribes to in the group, by topic; None where it did not answer.

        The broker passes the question on to the client, which changes nothing there.
        """
        asked: Iterator[Fields] = (
            {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"} for client_id in client_ids
        )
        for answer in self.ask_many(rocketmq.GET_CONSUMER_RUNNING_INFO, asked):
            yield subscribed(answer.body) if answer.code == rocketmq.SUCCESS else None

    def heartbeat(self, client_id: str, groups: Iterable[str], topic: str) -> None:
        """One heartbeat of a client with a push consumer of the topic in each group."""
        subscription = {
            "classFilterMode": False,
            "codeSet": [],
            "expressionType": "TAG",
            "subString": "*",
            "subVersion": 1,
            "tagsSet": [],
            "topic": topic,
        }
        consumers = [
            {
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
                "consumeType": "CONSUME_PASSIVELY",
                "groupName": group,
                "messageModel": "CLUSTERING",
                "subscriptionDataSet": [subscription],
                "unitMode": False,
            }
            for group in groups
        ]
        body = {"clientID": client_id, "consumerDataSet": consumers, "producerDataSet": []}
        self.call(rocketmq.HEART_BEAT, body=json.dumps(body).encode())

    def send(self, topic: str, queue: int, body: bytes) -> Sent:
        """One message, as a producer sends it."""
        answer = self.call(rocketmq.SEND_MESSAGE, send_fields(topic, queue), body)
        # The id's last eight bytes are the place in the commit log (``MessageDecoder.createMessageId``).
        place = answer.field("msgId")[-16:]
        if not re.fullmatch("[0-9A-Fa-f]{16}", place):
            raise self.nonsense(f"msgId is {excerpt(answer.field('msgId'))}")
        return Sent(offset=answer.number("queueOffset"), commit_log_offset=int(place, 16))

    def send_back(self, group: str, topic: str, commit_log_offset: int, *, delay_level: int) -> None:
        """Give a message back, as a consumer that failed does. It is retried after the delay of the level."""
        fields: Fields = {
            "offset": commit_log_offset,
            "group": group,
            "delayLevel": delay_level,
            "originMsgId": "",
            "originTopic": topic,
            "unitMode": "false",
            "maxReconsumeTimes": rocketmq.RETRIES_MAX,
        }
        self.call(rocketmq.CONSUMER_SEND_MSG_BACK, fields)

    def pull(self, group: str, topic: str, queue: int, offset: int) -> bool:
        """Whether a pull at the offset finds a message."""
        return self.ask(rocketmq.PULL_MESSAGE, pull_fields(group, topic, queue, offset)).code == rocketmq.SUCCESS

    def commit_offset(self, group: str, topic: str, queue: int, offset: int) -> None:
        """Commit a group's offset."""
        fields: Fields = {"consumerGroup": group, "topic": topic, "queueId": queue, "commitOffset": offset}
        self.call(rocketmq.UPDATE_CONSUMER_OFFSET, fields)

    def broker_config(self) -> dict[str, str]:
        """The broker's whole configuration as it runs."""
        text = self.call(rocketmq.GET_BROKER_CONFIG).text()
        pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
        return {key.strip(): value.strip() for key, _, value in pairs}

    def update_broker_config(self, settings: Mapping[str, str]) -> None:
        """Change settings of the running broker; only those that it reads again take effect."""
        body = "".join(f"{key}={value}\n" for key, value in settings.items()).encode()
        self.call(rocketmq.UPDATE_BROKER_CONFIG, body=body)

    def runtime_info(self) -> dict[str, str]:
        """What mqadmin brokerStatus prints: put latencies, buffers, offsets.

        A broker that started less than a second ago has not sampled its rates yet, and fails to say any
        (``StoreStatsService.getPutTps``); it is asked until it has. Raises WaitTimeout where it never does.
        """

        def ask() -> Answer:
            answer = self.ask(rocketmq.GET_BROKER_RUNTIME_INFO)
            if answer.code == rocketmq.SYSTEM_ERROR and "NoSuchElementException" in answer.remark:
                raise NotYet(excerpt(answer.remark))
            return self.succeeded(rocketmq.GET_BROKER_RUNTIME_INFO, answer)

        answer = wait_until(f"{self.words} to sample its rates", ask, timeout_s=SAMPLED_S_MAX)
        return answer.written().child("table").words()

    def min_offset(self, topic: str, queue: int) -> int:
        """The first offset that the queue still has."""
        return self.call(rocketmq.GET_MIN_OFFSET, {"topic": topic, "queueId": queue}).number("offset")

    def max_offset(self, topic: str, queue: int) -> int:
        """The offset that the queue's next message will get."""
        return self.call(rocketmq.GET_MAX_OFFSET, {"topic": topic, "queueId": queue}).number("offset")

    def max_offsets(self, queues: Sequence[tuple[str, int]]) -> Iterator[int]:
        """The same of many queues, each a topic and a number."""
        asked: Iterator[Fields] = ({"topic": topic, "queueId": queue} for topic, queue in queues)
        for answer in self.ask_many(rocketmq.GET_MAX_OFFSET, asked):
            yield self.succeeded(rocketmq.GET_MAX_OFFSET, answer).number("offset")

    def offset_at(self, topic: str, queue: int, at_ms: int) -> int:
        """The offset of a message stored about then, milliseconds since 1970: all before it were stored before."""
        fields: Fields = {"topic": topic, "queueId": queue, "timestamp": at_ms}
        return self.call(rocketmq.SEARCH_OFFSET_BY_TIMESTAMP, fields).number("offset")

    def consumer_offset(self, group: str, topic: str, queue: int) -> int | None:
        """The offset that the group has committed, or None when it has none."""
        fields: Fields = {"consumerGroup": group, "topic": topic, "queueId": queue}
        answer = self.ask(rocketmq.QUERY_CONSUMER_OFFSET, fields)
        if answer.code == rocketmq.QUERY_NOT_FOUND:
            return None
        if answer.code != rocketmq.SUCCESS:
            raise ClientError(f"{self.words} gave no offset of {group}: {answer.code} {excerpt(answer.remark)}")
        return answer.number("offset")

    def consumer_offsets(self) -> dict[tuple[str, str], dict[int, int]]:
        """All committed offsets, by topic and group and then by queue. A slave asks its master for them every 10 s."""
        offsets = {}
        for names, queues in self.call(rocketmq.GET_ALL_CONSUMER_OFFSET).written().child("offsetTable").by_name():
            topic, _, group = names.partition("@")
            offsets[topic, group] = queues.numbers_by_number()
        return offsets

    def reset_offsets(self, group: str, topic: str, at_ms: int) -> dict[int, int]:
        """Have the group go on from what was stored then (milliseconds since 1970), as ``mqadmin resetOffsetByTime`` does.

        Returns by queue from where it is to go on, as the broker says that it has told the members, or keeps for them.
        """
        fields: Fields = {"topic": topic, "group": group, "timestamp": at_ms, "isForce": "true"}
        body = self.call(rocketmq.INVOKE_BROKER_TO_RESET_OFFSET, fields).body
        return {int(queue): int(offset) for queue, offset in _RESET.findall(body)}

    def lock(self, group: str, client_id: str, queues: Sequence[tuple[str, str, int]]) -> set[tuple[str, int]]:
        """Ask for the locks of queues, each (topic, broker name, queue); returns the granted as (broker name, queue)."""
        body = {
            "consumerGroup": group,
            "clientId": client_id,
            "mqSet": [{"topic": topic, "brokerName": broker, "queueId": queue} for topic, broker, queue in queues],
        }
        answer = self.call(rocketmq.LOCK_BATCH_MQ, body=json.dumps(body).encode()).written()
        return {(queue.text("brokerName"), queue.number("queueId")) for queue in answer.children("lockOKMQSet")}
