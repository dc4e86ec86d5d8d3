"""Reads a cluster from outside: every request is one that changes nothing and leaves no line in a broker's log."""

import dataclasses
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from harness.audit.reading import (
    OVERDUE_S,
    BrokerReading,
    NameServerReading,
    PastEnd,
    Reading,
    TopicType,
    expected_topics,
    topic_type,
)
from harness.errors import AccessDeniedError, AnswerError, ClientError, LabError, WaitTimeout
from harness.model.rocketmq import (
    DELAY_LEVELS,
    HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_GROUP_PREFIXES,
    delays_s,
    version_of,
)
from harness.printable import excerpt
from harness.protocol.access import OPEN, Access
from harness.protocol.broker import Broker, Member, TopicConfig, TopicTable, delay_offsets
from harness.protocol.deadline import Deadline
from harness.protocol.fastjson import whole_number
from harness.protocol.name_server import NameServer
from harness.protocol.registration import Registrant, frame_of_listing
from harness.protocol.targets import LOOPBACK, Network, check_allowed

SETTLE_S = 1.0
"""A new topic is on its broker a moment before name servers list it. So what they lack is looked at again after this
time."""
QUEUES_MAX = 2_000
"""So many queues of one broker are asked for their ends, the first ones by name."""
_LEVELS = re.compile(r"[0-9]{1,9}[smhd](?: [0-9]{1,9}[smhd])*")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How long a reading takes at most, whatever its nodes do.

    A node has ``answer_s`` for each answer (the listing of 70,000 topics takes a busy broker some seconds), and ``node_s`` for
    all of them each time that it is asked. A broker has ``clients_s`` for what it asks a group's clients, a few at a time. After
    ``all_s`` no further node is asked.
    """

    answer_s: float = 20.0
    node_s: float = 300.0
    clients_s: float = 60.0
    all_s: float = 1800.0


DEFAULT_BOUNDS = Bounds()


@dataclass(frozen=True, kw_only=True)
class _Visit:
    """What each connection of one reading needs. ``end`` is when the whole has to be over."""

    access: Access
    allowed: Sequence[Network]
    bounds: Bounds
    end: Deadline

    def name_server(self, address: str) -> NameServer:
        return NameServer(
            address, timeout_s=self.bounds.answer_s, within=self._node_s(f"name server {address}"), access=self.access
        )

    def broker(self, broker: BrokerReading, answer_s: float | None = None) -> Broker:
        within = self._node_s(f"{broker.words} at {broker.address}")
        timeout_s = answer_s or self.bounds.answer_s
        return Broker(broker.address, name=broker.words, timeout_s=timeout_s, within=within, access=self.access)

    def _node_s(self, words: str) -> Deadline:
        if self.end.is_over():
            raise AnswerError(f"{words} was not asked: the {self.bounds.all_s:g} s for the whole cluster were over")
        return Deadline.after(min(self.bounds.node_s, self.end.left_s()))


def read_cluster(
    name_servers: Sequence[str],
    *,
    allowed: Sequence[Network] = LOOPBACK,
    further_brokers: Iterable[tuple[str, int, str]] = (),
    ask_clients: bool = False,
    access: Access = OPEN,
    bounds: Bounds = DEFAULT_BOUNDS,
    progress: Callable[[str], None] = lambda _: None,
) -> Reading:
    """Read everything. A node that does not answer, or not as RocketMQ does, is part of the reading, not an error.

    ``further_brokers`` (name, id, address) are read as well: one that no name server lists any more is known from
    before, or from the user. With ``ask_clients`` the members of each group that has several are asked what they subscribe to.

    Raises:
        TargetNotAllowedError: a name server, or a broker that one lists, lies outside of ``allowed``.
        AccessDeniedError: a node asks for keys, or does not let these read it.
        ConfigurationError: the file of the keys, or of the certificates, has none.
    """
    check_allowed(name_servers, allowed)
    visit = _Visit(access=access, allowed=allowed, bounds=bounds, end=Deadline.after(bounds.all_s))
    servers = [_name_server(address, visit) for address in name_servers]
    known = {(name, number): address for name, number, address in further_brokers}
    known |= {(n, i): address for one in servers for n, by_id in one.brokers.items() for i, address in by_id.items()}
    check_allowed(known.values(), allowed)
    brokers = []
    for (name, number), address in sorted(known.items()):
        progress(f"reading {name} {number}")
        brokers.append(_broker(BrokerReading(name=name, broker_id=number, address=address), visit))
    reading = Reading(at_s=time.time(), name_servers=tuple(servers), brokers=tuple(brokers))
    progress("reading routes")
    with_routes = tuple(_with_routes(one, reading, visit) for one in servers)
    progress("asking which groups are online")
    groups, failures = _groups(reading, visit)
    reading = _without(dataclasses.replace(reading, name_servers=with_routes, **groups), failures)
    if ask_clients:
        progress("asking clients what they subscribe to")
        subscriptions, failures = _subscriptions(reading, visit)
        return _without(dataclasses.replace(reading, subscriptions=subscriptions), failures)
    return reading


def still_offline(reading: Reading, *, access: Access = OPEN, bounds: Bounds = DEFAULT_BOUNDS) -> Reading:
    """The reading with only those of its offline groups that are still offline. Raises ClientError: a broker does not say so."""
    visit = _Visit(access=access, allowed=(), bounds=bounds, end=Deadline.after(bounds.all_s))
    groups, failures = _groups(reading, visit)
    for failure in failures.values():
        raise failure
    return dataclasses.replace(reading, offline=reading.offline & groups["offline"])


def _is_nonsense(failure: LabError) -> bool:
    return isinstance(failure, AnswerError) and failure.is_nonsense


def _without(reading: Reading, failures: Mapping[str, ClientError]) -> Reading:
    """The reading without what brokers told that failed later on, by their words."""
    brokers = (_failed(one, failures[one.words]) if one.words in failures else one for one in reading.brokers)
    return dataclasses.replace(reading, brokers=tuple(brokers))


def _failed(broker: BrokerReading, failure: LabError) -> BrokerReading:
    return BrokerReading(
        name=broker.name,
        broker_id=broker.broker_id,
        address=broker.address,
        problem=str(failure),
        is_nonsense=_is_nonsense(failure),
    )


# --- name servers -------------------------------------------------------------------------------------------------------


def _name_server(address: str, visit: _Visit) -> NameServerReading:
    try:
        with visit.name_server(address) as connection:
            return NameServerReading(
                address=address,
                brokers=connection.cluster_brokers(),
                topics=connection.listed_topics(),
                version=connection.version,
            )
    except ClientError as failure:
        return NameServerReading(address=address, problem=str(failure), is_nonsense=_is_nonsense(failure))


def _with_routes(server: NameServerReading, reading: Reading, visit: _Visit) -> NameServerReading:
    """Add the routes of normal topics. Of all others the list of topics shows what is missing."""
    if server.problem:
        return server
    topics = sorted({name for broker in reading.masters() for name in broker.names(TopicType.NORMAL)})
    try:
        with visit.name_server(server.address) as connection:
            routes = dict(zip(topics, connection.routes(topics), strict=True))
            listed = server.topics
            if expected_topics(server, reading.brokers) - listed:
                time.sleep(SETTLE_S)
                listed = listed | connection.listed_topics()
    except ClientError as failure:
        return NameServerReading(address=server.address, problem=str(failure), is_nonsense=_is_nonsense(failure))
    by_broker = [by_id for route in routes.values() if route for by_id in route.addresses.values()]
    check_allowed((address for by_id in by_broker for address in by_id.values()), visit.allowed)
    return dataclasses.replace(server, topics=listed, routes=routes)


# --- brokers ------------------------------------------------------------------------------------------------------------


def _broker(broker: BrokerReading, visit: _Visit) -> BrokerReading:
    """What the broker of this name, id and address tells of itself."""
    is_master = broker.broker_id == 0
    try:
        with visit.broker(broker) as connection:
            conf = connection.broker_config()
            table = connection.topic_table()
            info = connection.runtime_info()
            levels = delay_offsets(info, connection.words)
            overdue = _overdue(connection, conf, levels) if is_master else {}
            undispatched = _undispatched(connection)
            halves = connection.max_offset(HALF_TOPIC, 0) if any(one.name == HALF_TOPIC for one in table.topics) else 0
            lock_held_ms = _number(connection, info, "pageCacheLockTimeMills")
            past_end = _past_end(connection, conf, table.topics) if is_master else ()
    except (ClientError, WaitTimeout) as failure:
        return _failed(broker, failure)
    return dataclasses.replace(
        broker,
        conf=conf,
        topics=table.topics,
        frame_bytes=frame_of_listing(table.json_bytes, _registrant(broker, conf, table)),
        has_attributes=table.has_attributes,
        version=version_of(info.get("brokerVersionDesc", "")),
        has_delayed=any(end > 0 for _, end in levels.values()),
        overdue=overdue,
        undispatched_bytes=undispatched,
        half_messages=halves,
        disk_share=info.get("commitLogDiskRatio", ""),
        lock_held_ms=lock_held_ms,
        past_end=past_end,
    )


def _number(connection: Broker, info: Mapping[str, str], key: str) -> int:
    """A number of its runtime information, 0 where it does not tell it."""
    if (number := whole_number(info.get(key) or "0")) is None:
        raise connection.nonsense(f"{key} is {excerpt(info[key])}, which is no whole number")
    return number


def _overdue(connection: Broker, conf: Mapping[str, str], levels: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """By delay level the messages whose time came long ago. A slave delivers none, and its levels tell nothing."""
    text = conf.get("messageDelayLevel") or DELAY_LEVELS
    if not _LEVELS.fullmatch(text):
        raise connection.nonsense(f"messageDelayLevel is {excerpt(text)}, which are no delays")
    delays = delays_s(text)
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
    except AnswerError:
        raise
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
        behind = _number(connection, info, "dispatchBehindBytes")
        return _number(connection, info, "commitLogMaxOffset") - behind, behind

    before, behind = place()
    if behind <= 0:
        return 0
    time.sleep(SETTLE_S)
    after, behind = place()
    return behind if after == before else 0


def _registrant(broker: BrokerReading, conf: Mapping[str, str], table: TopicTable) -> Registrant:
    host = conf.get("brokerIP2", broker.address.rpartition(":")[0])
    return Registrant(
        broker_name=broker.name,
        broker_id=broker.broker_id,
        cluster=conf.get("brokerClusterName", "DefaultCluster"),
        address=broker.address,
        ha_address=f"{host}:{conf.get('haListenPort', '10912')}",
        has_attributes=table.has_attributes,
    )


# --- groups and their members -------------------------------------------------------------------------------------------


class _Groups(TypedDict):
    offline: frozenset[str]
    members: Mapping[str, tuple[Member, ...]]
    unknown: Mapping[str, tuple[str, ...]]


def _groups(reading: Reading, visit: _Visit) -> tuple[_Groups, dict[str, ClientError]]:
    """What the reading says of groups, and why brokers did not tell of them. RocketMQ's own groups count as online.

    A client tells every broker of itself that has its group's retry topic.
    """
    of_users = {broker.words: _groups_of_users(broker) for broker in reading.masters()}
    offline = set[str]().union(*of_users.values())
    online = dict[str, tuple[Member, ...]]()
    strangers, failures = dict[str, list[str]](), dict[str, ClientError]()
    for broker in reading.masters():
        asked = sorted(offline | of_users[broker.words])
        try:
            with visit.broker(broker) as connection:
                answers = dict(zip(asked, connection.members(asked), strict=True))
        except ClientError as failure:
            failures[broker.words] = failure
            continue
        online = {group: members for group, members in answers.items() if members is not None} | online
        strangers[broker.words] = [group for group in sorted(of_users[broker.words]) if answers[group] is None]
        offline -= online.keys()
    unknown = {where: tuple(group for group in groups if group in online) for where, groups in strangers.items()}
    told_of = set[str]().union(*(of_users[words] for words in strangers))
    groups = _Groups(
        offline=frozenset(offline & told_of),
        members=online,
        unknown={where: groups for where, groups in unknown.items() if groups},
    )
    return groups, failures


def _groups_of_users(broker: BrokerReading) -> set[str]:
    """The groups that the broker has a retry topic of, without RocketMQ's own."""
    groups = {name.removeprefix(RETRY_PREFIX) for name in broker.names(TopicType.RETRY)}
    return {group for group in groups if not group.startswith(SYSTEM_GROUP_PREFIXES)}


_Subscriptions = dict[str, dict[str, dict[str, str]]]


def _subscriptions(reading: Reading, visit: _Visit) -> tuple[_Subscriptions, dict[str, ClientError]]:
    """Of the groups with several clients, what those say that answer; a broker gives a client ten seconds.

    A broker that passes on no answer of theirs is whole but for that; one that answers nonsense has failed.
    """
    by_group, failures = _Subscriptions(), dict[str, ClientError]()
    for broker in reading.masters():
        try:
            with visit.broker(broker, visit.bounds.clients_s) as connection:
                for group, members in sorted(reading.members.items()):
                    ids = sorted({member.client_id for member in members})
                    if len(ids) > 1 and not by_group.get(group):
                        answers = zip(ids, connection.subscriptions(group, ids), strict=True)
                        by_group[group] = {client_id: topics for client_id, topics in answers if topics is not None}
        except ClientError as failure:
            if _is_nonsense(failure):
                failures[broker.words] = failure
    return by_group, failures
