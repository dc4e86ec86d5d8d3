"""What loads are asked to be, and what each costs; ``harness/load`` sends them."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from harness.model.cells import Parameters
from harness.model.cluster import Topology


@dataclass(frozen=True, kw_only=True)
class LoadValue(abc.ABC):
    """What plan and runner ask of every load."""

    processes: ClassVar[int] = 1
    """Client processes of a trial."""
    no_boots_meanwhile: ClassVar[bool] = False
    """Its trials watch nodes for seconds, which a boot beside them would delay."""
    seconds_count: ClassVar[bool] = False
    """What comes some seconds late counts as late, as it does where a dozen other clusters start."""
    core_share: ClassVar[float] = 1.0
    """Of the cores that trials may take at once, how much those of this load may: a send that waits for a core is slow."""

    @property
    def kind(self) -> "type[LoadValue]":
        """The load of the lab's that it is, or is derived from, as which a subclass of one's own is sent and measured.

        ``LoadValue`` itself where it is derived from none of them.
        """
        return next(one for one in type(self).__mro__ if one.__module__.startswith("harness."))

    def group_names(self) -> tuple[str, ...]:
        """The consumer groups, by the last word of their names; empty where nobody consumes."""
        return tuple(f"g{index}" for index in range(getattr(self, "groups", 0)))

    def topic_of(self, incident: str) -> str:
        """The topic of its trials; where there are groups, each trial has one of its own that starts so."""
        return f"mqlab-{incident}"

    def names(self, incident: str, prefix: str) -> tuple[str, tuple[str, ...]]:
        """The topic of one of its trials and its groups; ``prefix`` tells the trial from others of the incident."""
        groups, topic = self.group_names(), self.topic_of(incident)
        return f"{topic}-{prefix}" if groups else topic, tuple(f"{prefix}-{group}" for group in groups)

    def client_of(self, release: str) -> str:
        """The client of its trials, where Java's is to be of a release."""
        return f"java {release}"

    @abc.abstractmethod
    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Messages a second that are sent in a cell."""

    def operations(self, topology: Topology, params: Parameters, seconds: float) -> float:
        """Sends and consumptions that a trial of so many seconds records."""
        return self.messages_hz(topology, params) * (1 + len(self.group_names())) * seconds


@dataclass(frozen=True, kw_only=True)
class LocustUsers:
    """Users of Locust's that make the rate of a load together, each an equal share of it.

    ``shape`` is the share of them that there are, as (seconds from Locust's start, share from then on). Of several ``workers``
    each has a part of the users, and one process more steers; one worker does both.
    """

    users: int = 10
    shape: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
    workers: int = 1


@dataclass(frozen=True, kw_only=True)
class OfARelease:
    """Beside a load's own fields: its Java clients may be of another release than its brokers."""

    client_release: str = ""
    """Of the clients, where it is not that of the brokers."""

    def client_of(self, release: str) -> str:
        """The client of its trials, by the brokers' release."""
        return f"java {self.client_release or release}"


@dataclass(frozen=True, kw_only=True)
class OrderedGroups(OfARelease, LoadValue):
    """Keyed ordered sends into one topic, consumed in order by several groups of two members each.

    The first member of every group (its *owner*) lives in one client process, the second (the *successor*) in another.
    Owners start one after another over ``owner_start_spread_s``, so that the phases of their lock renewals are spread,
    and are at least ``owner_age_s_min`` old when the fault comes. A successor is there already and has its half of the
    queues, or it is a *replacement* that joins when the fault has come and finds an owner that had all of them.

    An owner's listener works ``owner_work_ms`` on each message and does not heed an interruption, as a call of a database
    does. It writes ``owner_writes_kb`` of each to a file on a disk that the owners share, and forces them there; with
    ``owners_share_lock`` it does all that under a lock of which their process has one. ``owner_heap_mb`` is the most that this
    process may have, 0 what any client has. ``owner_settings`` are bean properties of its DefaultMQPushConsumer.
    """

    processes: ClassVar[int] = 2

    groups: int
    queues_per_broker: int = 8
    rate_per_queue_hz: float = 10.0
    owner_start_spread_s: float = 20.0
    owner_age_s_min: float = 0.0
    owner_properties: Mapping[str, str] = field(default_factory=dict)
    successor_properties: Mapping[str, str] = field(default_factory=dict)
    successor_joins: Literal["before", "after"] = "before"
    owner_work_ms: float = 0.0
    owner_writes_kb: int = 0
    owners_share_lock: bool = False
    owner_heap_mb: int = 0
    broadcasting: int = 0
    """Members in broadcasting mode, each in a group of its own, beside the others."""
    owner_settings: Mapping[str, int] = field(default_factory=dict)
    body_bytes: int = 128
    locust: LocustUsers | None = None
    """Who makes the rate; None leaves it to the client's own schedule."""

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Every queue has its rate."""
        return self.queues_per_broker * topology.masters * self.rate_per_queue_hz


@dataclass(frozen=True, kw_only=True)
class OpenLoopSends(LoadValue):
    """Asynchronous sends on a fixed schedule: operation i is due at start + i / rate, whatever happened before.

    The rate comes from the cell's parameter ``rate_hz``. Synchronous sends need as many ``threads`` as sends may be
    under way at once; one that finds none is late, which its record says.
    """

    queues: int = 8
    busy_queue_share: float = 0.0
    """Of the sends to the first queue of the route, where the others share the rest evenly; 0: all take turns."""
    retries: int = 0
    send_timeout_ms: int = 10_000
    body_bytes: int = 128
    mode: Literal["async", "sync", "oneway"] = "async"
    threads: int = 1
    topic_on: Literal["all", "first", "last"] = "all"
    """Which of the masters have the topic."""
    attempts: bool = False
    """Record each attempt of a send with its broker, not only how the send ended."""
    readings: tuple[str, ...] = ()
    """What is read off the first master before the fault and after it, by the names of ``harness/load/readings.py``."""
    probes: tuple[str, ...] = ()
    """Requests to the first master beside the load, one after another: ``pull``, ``admin``, ``heartbeat``, and, in a topic
    of their own, ``send`` and ``delivery`` (a send until a pull gets what it sent)."""
    locust: LocustUsers | None = None
    """Who makes the rate; None leaves it to the client's own schedule."""

    def topic_of(self, incident: str) -> str:
        """One for each set of masters that have it."""
        return super().topic_of(incident) + ("" if self.topic_on == "all" else f"-{self.topic_on}")

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """The cell says it."""
        return float(params["rate_hz"])


@dataclass(frozen=True, kw_only=True)
class SteadyClients(LoadValue):
    """Normal synchronous sends and groups of two consumers each, all the while.

    ``first_servers`` are the name servers, by index, that the producers and each group's first consumer are bound to, those of
    the second consumers are ``second_servers``; empty stands for all. Several producers share the rate; each has a route
    timer of its own, whose phase is drawn within its own part of the timer's period.
    """

    no_boots_meanwhile: ClassVar[bool] = True

    rate_hz: float = 10.0
    producers: int = 1
    retries: int = 2
    queues: int = 4
    body_bytes: int = 128
    first_servers: tuple[int, ...] = ()
    second_servers: tuple[int, ...] = ()
    groups: int = 1
    ordered: bool = False
    """Whether the consumers take each queue in order, under its lock."""
    poll_route_ms: int = 30_000
    """``pollNameServerInterval`` of the clients."""
    avoidance: bool = False
    """``sendLatencyFaultEnable`` of the producers."""
    locust: LocustUsers | None = None
    """Who makes the rate; None leaves it to the client's own schedule."""

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Of all producers together."""
        return self.rate_hz


@dataclass(frozen=True, kw_only=True)
class FailingMessages(LoadValue):
    """``messages`` sends, of which every ``fail_every``-th fails at each consumption of it; 0 lets none fail.

    ``attempts_max`` is the consumer's maxReconsumeTimes, -1 its default; ``until`` ends the hold: at the first dead
    letters of all that fail, or when the phase's time is over. With ``hangs_s`` a message does not fail by its listener's answer
    but by its time: the consumer's consumeTimeout is a minute, the least there is, and what has timed out is looked for once a
    minute.
    """

    no_boots_meanwhile: ClassVar[bool] = True
    seconds_count: ClassVar[bool] = True

    messages: int = 60
    rate_hz: float = 20.0
    fail_every: int = 5
    ordered: bool = False
    attempts_max: int = -1
    hangs_s: float = 0.0
    until: Literal["dead letters", "time"] = "dead letters"
    groups: int = 1
    queues: int = 4
    body_bytes: int = 128

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """While it sends, which is a moment."""
        return self.rate_hz

    def operations(self, topology: Topology, params: Parameters, seconds: float) -> float:
        """Each message is consumed at most sixteen times by default."""
        return 20.0 * self.messages


@dataclass(frozen=True, kw_only=True)
class LateGroup(LoadValue):
    """``history`` messages that lie there when a group's only consumer starts for the first time, and ``later`` ones after that.

    ``begins`` is its consumeFromWhere. With ``committed`` the ends of the queues are made the group's offsets before it starts.
    Without ``later`` ones nobody waits until it has its queues, which it may never have. ``ordered``: it consumes in order.
    """

    begins: Literal["first", "last"] = "last"
    committed: bool = False
    ordered: bool = False
    history: int = 200
    later: int = 40
    rate_hz: float = 100.0
    groups: int = 1
    queues: int = 2
    body_bytes: int = 128

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """While it sends, which is some seconds."""
        return self.rate_hz


@dataclass(frozen=True, kw_only=True)
class ReturningGroup(LoadValue):
    """``history`` messages that a group's only consumer consumes before it leaves, and ``later`` ones that wait for its return."""

    history: int = 200
    later: int = 400
    rate_hz: float = 100.0
    groups: int = 1
    queues: int = 2
    body_bytes: int = 128

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """While it sends, which is some seconds."""
        return self.rate_hz


LEVEL_PREFIX = "level"
"""Keys of delayed messages are ``level0``, which is none, ``level1`` and so on."""


@dataclass(frozen=True, kw_only=True)
class DelayedMessages(LoadValue):
    """Sends of delay level 0 (none), 1 and so on to ``levels`` in turn, consumed by groups of one member.

    A message's key names its level. The levels are the shortest of the default messageDelayLevel: 1, 5 and 10 s. Without levels all
    are sent as other messages are.
    """

    levels: int = 3
    ordered: bool = False
    """Whether the consumer takes each queue in order, under its lock."""
    rate_hz: float = 16.0
    """Of all levels together."""
    groups: int = 1
    queues: int = 2
    body_bytes: int = 128

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Each is stored twice: in the queue of its level, and in its topic when its time has come."""
        return 2 * self.rate_hz


STATE_PREFIX = "state"
COMMITTED, ROLLED_BACK, UNDECIDED = range(3)
"""How a transaction ends: its key is ``state0``, ``state1`` or ``state2``, and its producer says the same when a broker asks."""


@dataclass(frozen=True, kw_only=True)
class Transactions(LoadValue):
    """Transactional sends that are committed, rolled back and left undecided in turn, consumed by groups of one member.

    ``states`` is how many of these three come, from the first one on, ``transactions`` how many are sent; 0: until the load is
    stopped. The cell's parameter ``rate_hz`` wins over the load's. Clients send a heartbeat every second, so that a broker knows
    from its first check on whom it can ask.
    """

    states: int = 2
    transactions: int = 0
    rate_hz: float = 8.0
    """Of all states together."""
    groups: int = 1
    queues: int = 2
    body_bytes: int = 128

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Each is stored as a half message, as itself, and as an operation that ends it."""
        return 3 * float(params.get("rate_hz", self.rate_hz))


@dataclass(frozen=True, kw_only=True)
class QueueNumbers(LoadValue):
    """Normal sends into a topic whose numbers of write and read queues differ, consumed by groups of two members each.

    It lies on as many brokers as the cell's ``brokers`` says, and gets ``rate_per_queue_hz`` of one broker on all together.
    """

    groups: int
    write_queues: int = 8
    read_queues: int = 8
    rate_per_queue_hz: float = 2.0
    body_bytes: int = 128

    @property
    def rate_hz(self) -> float:
        """Messages a second, on however many brokers."""
        return self.rate_per_queue_hz * self.write_queues

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """The same on any number of brokers."""
        return self.rate_hz


@dataclass(frozen=True, kw_only=True)
class KeyedSends(LoadValue):
    """Sends of several kinds side by side, each into a topic of its own that one group of two members consumes in order.

    ``hash`` takes a queue of those that the route has by the key's hash, ``strict`` does so with a route that a broker's
    absence does not change (an order topic), ``fixed`` sends a key to the queue that it was mapped to at first, and
    ``keyless`` lets the client choose. Every message carries its key all the same, so that order can be judged. ``normal`` is
    what most topics are: no keys, any queue, and consumed by several threads at once.
    """

    kinds: tuple[str, ...]
    queues_per_broker: int = 8
    keys: int = 97
    """Neither they nor the share of one thread a multiple of the number of queues: round robin would then put every key
    where it was before."""
    rate_hz: float = 48.5
    body_bytes: int = 128
    threads: int = 5
    """Senders of each kind. A key stays with its thread, and round robin counts by thread
    (org.apache.rocketmq.client.common.ThreadLocalIndex): 97 keys are 19 or 20 a thread, so that a message without a queue of
    its own moves on. Of four threads three had 24 keys, as many as there are queues, and each key came back to its queue."""

    def group_names(self) -> tuple[str, ...]:
        """One for each kind, in a topic of its own."""
        return self.kinds

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Of all kinds together."""
        return self.rate_hz * len(self.kinds)

    def operations(self, topology: Topology, params: Parameters, seconds: float) -> float:
        """Each message is consumed by the group of its kind."""
        return 2 * self.messages_hz(topology, params) * seconds
