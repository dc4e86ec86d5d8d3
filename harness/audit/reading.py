"""A cluster as an audit has read it, as values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from harness.model.rocketmq import DEAD_LETTER_PREFIX, RETRY_PREFIX, SYSTEM_TOPICS
from harness.protocol.broker import Member, TopicConfig
from harness.protocol.frames import Version
from harness.protocol.name_server import Route

OVERDUE_S = 60.0
"""By so much the clocks of a broker and of who reads it may differ."""


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
    """One broker, master or slave. ``problem`` says why nothing of it could be read, ``is_nonsense`` that it answered what no
    RocketMQ answers."""

    name: str
    broker_id: int
    address: str
    conf: Mapping[str, str] = field(default_factory=dict)
    topics: tuple[TopicConfig, ...] = ()
    frame_bytes: int = 0
    has_attributes: bool = False
    """Whether its topics have attributes, as those of 5.0.0 and of all that are newer do (``TopicConfig``)."""
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
    """Of the queues of normal topics, not more of them than are asked for their ends."""
    problem: str = ""
    is_nonsense: bool = False

    @property
    def words(self) -> str:
        """``broker-a`` for a master, ``broker-a (slave 1)`` for a slave, ``broker-a (id -1)`` for one that waits for its role."""
        if self.broker_id < 0:
            return f"{self.name} (id {self.broker_id})"
        return self.name if self.broker_id == 0 else f"{self.name} (slave {self.broker_id})"

    @property
    def has_pool(self) -> bool:
        """Whether the transient store pool is on, and used: DLedgerCommitLog knows none.

        It never is with SYNC_FLUSH before 5.0.0, nor on a slave but where a controller may make it master
        (``isTransientStorePoolEnable`` of MessageStoreConfig, and of DefaultMessageStore in newer releases).
        """
        conf = self.conf
        flushes = conf.get("flushDiskType") == "SYNC_FLUSH" and not self.has_attributes
        is_led = self.has_attributes and conf.get("enableControllerMode") == "true"
        follows = conf.get("brokerRole") == "SLAVE" and not is_led
        return conf.get("transientStorePoolEnable") == "true" and not flushes and not follows and not self.in_group

    @property
    def in_group(self) -> bool:
        """Whether DLedger replicates what it stores, which acknowledges what most of the group have."""
        return self.conf.get("enableDLegerCommitLog") == "true"

    def names(self, kind: TopicType) -> list[str]:
        """The names of its topics of a type."""
        return [topic.name for topic in self.topics if topic_type(topic.name, self.conf) is kind]


@dataclass(frozen=True, kw_only=True)
class NameServerReading:
    """One name server: the brokers that it lists, its topics, and its routes of those that were asked for. ``problem`` and
    ``is_nonsense`` are as a broker's."""

    address: str
    brokers: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    routes: Mapping[str, Route | None] = field(default_factory=dict)
    version: Version = ()
    problem: str = ""
    is_nonsense: bool = False


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

    def nonsense(self) -> list[str]:
        """What is said of each node that answered what no RocketMQ answers."""
        of_servers = [server.problem for server in self.name_servers if server.is_nonsense]
        return of_servers + [broker.problem for broker in self.brokers if broker.is_nonsense]


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


def expected_topics(server: NameServerReading, brokers: Iterable[BrokerReading]) -> set[str]:
    """The topics of every master that the name server lists. It ought to have a route of each."""
    listed = [one for one in brokers if one.broker_id == 0 and one.broker_id in server.brokers.get(one.name, {})]
    return {topic.name for broker in listed for topic in broker.topics}
