"""Reads a cluster from outside: every request is one that changes nothing and leaves no line in a broker's log."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

from harness.errors import AccessDeniedError, ClientError
from harness.model.rocketmq import (
    DEAD_LETTER_PREFIX,
    DELAY_LEVELS,
    HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_GROUP_PREFIXES,
    SYSTEM_TOPICS,
    delays_s,
    version_of,
)
from harness.protocol.access import OPEN, Access
from harness.protocol.broker import Broker, Member, TopicConfig, TopicTable, delay_offsets
from harness.protocol.frames import Version
from harness.protocol.name_server import NameServer, Route
from harness.protocol.registration import Registrant, frame_of_listing
from harness.protocol.targets import LOOPBACK, Network, check_allowed

TIMEOUT_S = 20.0
"""The listing of 70,000 topics takes a busy broker some seconds."""

CLIENTS_S_MAX = 60.0
"""For the answers of a group's clients, which a broker asks a few at a time."""

SETTLE_S = 1.0
"""A new topic is on its broker a moment before name servers list it. So what they lack is looked at again after this
time."""


OVERDUE_S = 60.0
"""By so much the clocks of a broker and of who reads it may differ."""


QUEUES_MAX = 2_000
"""So many queues of one broker are asked for their ends, the first ones by name."""


class TopicType(StrEnum):
    """The purpose of a topic."""

    NORMAL = "normal"
    RETRY = "retry"
    DEAD_LETTER = "dead letter"
    SYSTEM = "system"


@dataclass(frozen=True, kw_only=True)
class PastEnd:
    """An offset that a group has committed, beyond the end of its queue."""

    group: str
    topic: str
    queue: int
    offset: int
    end: int


@dataclass(frozen=True, kw_only=True)
class BrokerReading:
    """One broker, master or slave. ``problem`` says why nothing of it could be read."""

    name: str
    broker_id: int
    address: str
    conf: Mapping[str, str] = field(default_factory=dict)
    topics: tuple[TopicConfig, ...] = ()
    frame_bytes: int = 0
    is_5x: bool = False
    version: tuple[int, ...] = ()
    """As it tells, such as (4, 9, 7)."""
    has_delayed: bool = False
    """Whether a message of a delay level was ever sent to it."""
    overdue: Mapping[int, int] = field(default_factory=dict)
    """By delay level at least how many of its messages ought to have come ``OVERDUE_S`` ago."""
    undispatched_bytes: int = 0
    """How far its consume queues are behind its commit log, where they stand still."""
    half_messages: int = 0
    """Transactions that it ever stored a half message of, those that it asked about more often counted again."""
    disk_share: str = ""
    """What of the commit log's disk is used, as the broker counts and writes it."""
    lock_held_ms: int = 0
    """For how long its put lock counts as held; 0 if it does not."""
    past_end: tuple[PastEnd, ...] = ()
    """Of the queues of normal topics, ``QUEUES_MAX`` at most."""
    problem: str = ""

    @property
    def words(self) -> str:
        """``broker-a`` for a master, ``broker-a (slave 1)`` for a slave."""
        return self.name if self.broker_id == 0 else f"{self.name} (slave {self.broker_id})"

    @property
    def has_pool(self) -> bool:
        """Whether the transient store pool is on, which it never is with SYNC_FLUSH on 4.x (``MessageStoreConfig``)."""
        is_off = self.conf.get("flushDiskType") == "SYNC_FLUSH" and not self.is_5x
        return self.conf.get("transientStorePoolEnable") == "true" and not is_off

    def names(self, kind: TopicType) -> list[str]:
        """The names of its topics of a type."""
        return [topic.name for topic in self.topics if topic_type(topic.name, self.conf) is kind]


@dataclass(frozen=True, kw_only=True)
class NameServerReading:
    """One name server: the brokers that it lists, its topics, and its routes of those that were asked for."""

    address: str
    brokers: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    routes: Mapping[str, Route | None] = field(default_factory=dict)
    version: Version = ()
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A cluster at a moment; ``at_s`` is seconds since 1970. ``offline`` are the groups that have a retry topic and
    are connected to none of the brokers that could be read. ``members`` are the connections of the others, as the first broker has
    them that knows any; ``unknown`` are groups by the broker that has their retry topic and knows no connection of theirs, while
    another one does; ``subscriptions`` what a group's clients said that they subscribe to, by client id and topic, where they were
    asked."""

    at_s: float
    name_servers: tuple[NameServerReading, ...]
    brokers: tuple[BrokerReading, ...]
    offline: frozenset[str] = frozenset()
    members: Mapping[str, tuple[Member, ...]] = field(default_factory=dict)
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subscriptions: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)

    def masters(self) -> list[BrokerReading]:
        """The brokers that could be read and take sends."""
        return [broker for broker in self.brokers if broker.broker_id == 0 and not broker.problem]


def topic_type(name: str, conf: Mapping[str, str]) -> TopicType:
    """The type of a topic on a broker with this configuration."""
    if name.startswith(RETRY_PREFIX):
        return TopicType.RETRY
    if name.startswith(DEAD_LETTER_PREFIX):
        return TopicType.DEAD_LETTER
    cluster = conf.get("brokerClusterName", "")
    own = {cluster, conf.get("brokerName", ""), f"{cluster}_REPLY_TOPIC"}
    if name in SYSTEM_TOPICS or name in own or name.lower().startswith(("rmq_sys_", "%sys%")):
        return TopicType.SYSTEM
    return TopicType.NORMAL


def read_cluster(
    name_servers: Sequence[str],
    *,
    allowed: Sequence[Network] = LOOPBACK,
    further_brokers: Iterable[tuple[str, int, str]] = (),
    ask_clients: bool = False,
    access: Access = OPEN,
    progress: Callable[[str], None] = lambda _: None,
) -> Reading:
    """Read everything. A node that does not answer is part of the reading, not an error.

    ``further_brokers`` (name, id, address) are read as well: one that no name server lists any more is known from
    before, or from the user. With ``ask_clients`` the members of each group that has several are asked what they subscribe to.

    Raises:
        TargetNotAllowedError: a name server, or a broker that one lists, lies outside of ``allowed``.
        AccessDeniedError: a node asks for keys, or does not let these read it.
        ConfigurationError: the file of the keys, or of the certificates, has none.
    """
    check_allowed(name_servers, allowed)
    servers = [_name_server(address, access) for address in name_servers]
    known = {(name, number): address for name, number, address in further_brokers}
    known |= {(n, i): address for one in servers for n, by_id in one.brokers.items() for i, address in by_id.items()}
    check_allowed(known.values(), allowed)
    brokers = []
    for (name, number), address in sorted(known.items()):
        progress(f"reading {name} {number}")
        brokers.append(_broker(name, number, address, access))
    reading = Reading(at_s=time.time(), name_servers=tuple(servers), brokers=tuple(brokers))
    progress("reading routes")
    with_routes = tuple(_with_routes(one, reading, allowed, access) for one in servers)
    progress("asking which groups are online")
    reading = dataclasses.replace(reading, name_servers=with_routes, **_groups(reading, access))
    if ask_clients:
        progress("asking clients what they subscribe to")
        return dataclasses.replace(reading, subscriptions=_subscriptions(reading, access))
    return reading


def expected_topics(server: NameServerReading, brokers: Iterable[BrokerReading]) -> set[str]:
    """The topics of every master that the name server lists. It ought to have a route of each."""
    listed = [one for one in brokers if one.broker_id == 0 and one.broker_id in server.brokers.get(one.name, {})]
    return {topic.name for broker in listed for topic in broker.topics}


def still_offline(reading: Reading, *, access: Access = OPEN) -> Reading:
    """The reading with only those of its offline groups that are still offline."""
    return dataclasses.replace(reading, offline=reading.offline & _groups(reading, access)["offline"])


def _name_server(address: str, access: Access) -> NameServerReading:
    try:
        with NameServer(address, timeout_s=TIMEOUT_S, access=access) as connection:
            return NameServerReading(
                address=address,
                brokers=connection.cluster_brokers(),
                topics=connection.listed_topics(),
                version=connection.version,
            )
    except ClientError as error:
        return NameServerReading(address=address, problem=str(error))


def _broker(name: str, number: int, address: str, access: Access) -> BrokerReading:
    try:
        with Broker(address, timeout_s=TIMEOUT_S, access=access) as connection:
            conf = connection.broker_config()
            table = connection.topic_table()
            info = connection.runtime_info()
            levels = delay_offsets(info)
            overdue = _overdue(connection, conf, levels) if number == 0 else {}
            undispatched = _undispatched(connection)
            halves = connection.max_offset(HALF_TOPIC, 0) if any(one.name == HALF_TOPIC for one in table.topics) else 0
            disk_share = info.get("commitLogDiskRatio", "")
            past_end = _past_end(connection, conf, table.topics) if number == 0 else ()
    except ClientError as error:
        return BrokerReading(name=name, broker_id=number, address=address, problem=str(error))
    return BrokerReading(
        name=name,
        broker_id=number,
        address=address,
        conf=conf,
        topics=table.topics,
        frame_bytes=frame_of_listing(table.json_bytes, _registrant(name, number, address, conf, table)),
        is_5x=table.has_attributes,
        version=version_of(info.get("brokerVersionDesc", "")),
        has_delayed=any(end > 0 for _, end in levels.values()),
        overdue=overdue,
        undispatched_bytes=undispatched,
        half_messages=halves,
        disk_share=disk_share,
        lock_held_ms=int(info.get("pageCacheLockTimeMills") or 0),
        past_end=past_end,
    )


def _overdue(connection: Broker, conf: Mapping[str, str], levels: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """By delay level the messages whose time came long ago. A slave delivers none, and its levels tell nothing."""
    delays = delays_s(conf.get("messageDelayLevel") or DELAY_LEVELS)
    overdue = {}
    for level, (done, end) in levels.items():
        if done < end and 0 < level <= len(delays):
            due_ms = int((time.time() - delays[level - 1] - OVERDUE_S) * 1000)
            overdue[level] = connection.offset_at(SCHEDULE_TOPIC, level - 1, due_ms) - done
    return {level: count for level, count in overdue.items() if count > 0}


def _past_end(connection: Broker, conf: Mapping[str, str], topics: Iterable[TopicConfig]) -> tuple[PastEnd, ...]:
    """Committed offsets beyond the ends of their queues. The ends are asked for last, as they only grow."""
    queues = {one.name: one.read_queues for one in topics if topic_type(one.name, conf) is TopicType.NORMAL}
    try:
        committed = [
            PastEnd(group=group, topic=topic, queue=queue, offset=offset, end=0)
            for (topic, group), by_queue in connection.consumer_offsets().items()
            for queue, offset in by_queue.items()
            if offset > 0 and queue < queues.get(topic, 0)
        ]
        asked = sorted({(one.topic, one.queue) for one in committed})[:QUEUES_MAX]
        ends = dict(zip(asked, connection.max_offsets(asked), strict=True))
    except (ClientError, AccessDeniedError):
        return ()  # who may read the rest may not be let read these
    known = (dataclasses.replace(one, end=ends.get((one.topic, one.queue), one.offset)) for one in committed)
    return tuple(
        sorted((one for one in known if one.offset > one.end), key=lambda one: (one.topic, one.group, one.queue))
    )


def _undispatched(connection: Broker) -> int:
    """Bytes of the commit log that are in no consume queue, if a second look finds the dispatch where the first one did."""

    def place() -> tuple[int, int]:
        info = connection.runtime_info()
        behind = int(info.get("dispatchBehindBytes", 0))
        return int(info.get("commitLogMaxOffset", 0)) - behind, behind

    before, behind = place()
    if behind <= 0:
        return 0
    time.sleep(SETTLE_S)
    after, behind = place()
    return behind if after == before else 0


def _registrant(name: str, number: int, address: str, conf: Mapping[str, str], table: TopicTable) -> Registrant:
    host = conf.get("brokerIP2", address.rpartition(":")[0])
    return Registrant(
        broker_name=name,
        broker_id=number,
        cluster=conf.get("brokerClusterName", "DefaultCluster"),
        address=address,
        ha_address=f"{host}:{conf.get('haListenPort', '10912')}",
        is_5x=table.has_attributes,
    )


def _with_routes(
    server: NameServerReading, reading: Reading, allowed: Sequence[Network], access: Access
) -> NameServerReading:
    """Add the routes of normal topics. Of all others the list of topics shows what is missing."""
    if server.problem:
        return server
    topics = sorted({name for broker in reading.masters() for name in broker.names(TopicType.NORMAL)})
    try:
        with NameServer(server.address, timeout_s=TIMEOUT_S, access=access) as connection:
            routes = dict(zip(topics, connection.routes(topics), strict=True))
            listed = server.topics
            if expected_topics(server, reading.brokers) - listed:
                time.sleep(SETTLE_S)
                listed = listed | connection.listed_topics()
    except ClientError as error:
        return NameServerReading(address=server.address, problem=str(error))
    by_broker = [by_id for route in routes.values() if route for by_id in route.addresses.values()]
    check_allowed((address for by_id in by_broker for address in by_id.values()), allowed)
    return dataclasses.replace(server, topics=listed, routes=routes)


class _Groups(TypedDict):
    offline: frozenset[str]
    members: Mapping[str, tuple[Member, ...]]
    unknown: Mapping[str, tuple[str, ...]]


def _groups(reading: Reading, access: Access) -> _Groups:
    """What the reading says of groups. RocketMQ's own count as online.

    A client tells every broker of itself that has its group's retry topic.
    """
    masters = reading.masters()
    retry = {name for broker in masters for name in broker.names(TopicType.RETRY)}
    groups = sorted(name.removeprefix(RETRY_PREFIX) for name in retry)
    offline = {group for group in groups if not group.startswith(SYSTEM_GROUP_PREFIXES)}
    of_users, found = frozenset(offline), dict[str, tuple[Member, ...]]()
    strangers: dict[str, list[str]] = {}
    for broker in masters:
        own = {name.removeprefix(RETRY_PREFIX) for name in broker.names(TopicType.RETRY)} & of_users
        asked = sorted(offline | own)
        with Broker(broker.address, timeout_s=TIMEOUT_S, access=access) as connection:
            answers = dict(zip(asked, connection.members(asked), strict=True))
        found = {group: members for group, members in answers.items() if members is not None} | found
        strangers[broker.words] = [group for group in sorted(own) if answers[group] is None]
        offline -= found.keys()
    unknown = {where: tuple(group for group in groups if group in found) for where, groups in strangers.items()}
    return _Groups(
        offline=frozenset(offline),
        members=found,
        unknown={where: groups for where, groups in unknown.items() if groups},
    )


def _subscriptions(reading: Reading, access: Access) -> dict[str, dict[str, dict[str, str]]]:
    """Of the groups with several clients, what those say that answer; a broker gives a client ten seconds."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for broker in reading.masters():
        with (
            contextlib.suppress(ClientError),
            Broker(broker.address, timeout_s=CLIENTS_S_MAX, access=access) as connection,
        ):
            for group, members in sorted(reading.members.items()):
                ids = sorted({member.client_id for member in members})
                if len(ids) > 1 and not found.get(group):
                    said = zip(ids, connection.subscriptions(group, ids), strict=True)
                    found[group] = {client_id: topics for client_id, topics in said if topics is not None}
    return found
