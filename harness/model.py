"""The nouns that the harness, the scenarios and the analysis share.

Every value is frozen, keyword-only and made of the standard library alone, so that a run directory written today can
be read by an analysis that has neither a cluster nor a client installed. Times are seconds or milliseconds as the last
word of a name says; ``*_ns`` is nanoseconds of the host's monotonic clock.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

RUN_SCHEMA = 1
"""Version of the run directory's layout; a reader refuses any other."""

LEDGER_SCHEMA = 1
"""Version of ``ledger.json``."""

ParameterValue = int | float | str
Relation = Literal["<=", ">="]
Parameters = Mapping[str, ParameterValue]


class Outcome(StrEnum):
    """How an operation ended. ``UNKNOWN`` may or may not have happened: a timeout, a one-way send."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class VerdictKind(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """Why a claim is undecided."""

    NOT_EXERCISED = "not exercised"
    TOO_NOISY = "too noisy"
    TOO_FEW_TRIALS = "too few trials"
    STRADDLES = "interval straddles the bound"
    MISSING_EVIDENCE = "missing evidence"
    CHECKER_FAILED = "checker failed"
    NOT_MEASURABLE = "not measurable"


class ArmRole(StrEnum):
    """The first word of an arm's name."""

    BASELINE = "baseline"
    INCIDENT = "incident"
    FIX = "fix"
    BETTER = "better"


# --- the cluster ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Topology:
    """How many nodes of each kind. Brokers are named ``broker-a``, ``broker-b``, ... as RocketMQ's examples do."""

    name: str
    name_servers: int = 1
    masters: int = 1
    slaves_per_master: int = 0

    def broker_names(self) -> tuple[str, ...]:
        """``broker-a``, ``broker-b``, ..."""
        return tuple(f"broker-{chr(ord('a') + index)}" for index in range(self.masters))

    @property
    def brokers(self) -> int:
        """Masters and slaves."""
        return self.masters * (1 + self.slaves_per_master)

    @property
    def nodes(self) -> int:
        """Brokers and name servers."""
        return self.name_servers + self.brokers


Store = Literal["folder", "loop-ext4", "loop-xfs"]
StoreImage = Literal["beside", "memory"]


@dataclass(frozen=True, kw_only=True)
class TopicsAhead:
    """Retry topics that the first broker and its slaves have from their start, as a flood of groups would leave them.

    As many as make the broker's registration ``share`` of a frame of ``frame_bytes``; their names have ``name_bytes``.
    """

    frame_bytes: int
    share: float
    name_bytes: int = 54


@dataclass(frozen=True, kw_only=True)
class BrokerSettings:
    """What a broker is started with beyond the lab's own settings.

    ``conf`` goes into broker.conf, ``properties`` become ``-D`` options of its JVM, ``environment`` its environment
    variables. ``logging`` is ``lab`` (milliseconds, UTC, bounded files) or ``stock`` (what the release ships).
    ``jvm`` are further options of its JVM, which win over the lab's. ``store`` says where its store lies: in a folder, or
    on a file system of its own (``store_mb`` mebibytes in an image file, by a loop device), which faults of the kernel
    need and which only root can mount. ``store_image`` is where the image lies: beside the store on the host's disk, or
    in memory, where the store does not wait for a disk that others use.
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    logging: Literal["lab", "stock"] = "lab"
    jvm: tuple[str, ...] = ()
    store: Store = "folder"
    store_mb: int = 1024
    store_image: StoreImage = "beside"
    memlock_kb: int | None = None
    """How many KiB the process may lock in memory (RLIMIT_MEMLOCK), root's privilege to lock more taken from it."""
    name_server_jvm: tuple[str, ...] = ()
    """Further options of the name servers' JVMs."""
    topics_ahead: TopicsAhead | None = None
    timer_slack_ms: float = 0.0
    """How late timers of all nodes may fire; 0: as Linux does by itself. Local processes alone, containers have no such setting."""


# --- load and faults: what is asked; harness/load and harness/faults do it ----------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OrderedGroups:
    """Keyed ordered sends into one topic, consumed in order by several groups of two members each.

    The first member of every group (its *owner*) lives in one client process, the second (the *successor*) in another.
    Owners start one after another over ``owner_start_spread_s``, so that the phases of their lock renewals are spread,
    and are at least ``owner_age_s_min`` old when the fault comes. A successor is there already and has its half of the
    queues, or it is a *replacement* that joins when the fault has come and finds an owner that had all of them.

    An owner's listener works ``owner_work_ms`` on each message and does not heed an interruption, as a call of a database
    does. ``owner_settings`` are bean properties of its DefaultMQPushConsumer.
    """

    groups: int
    queues_per_broker: int = 8
    rate_per_queue_hz: float = 10.0
    owner_start_spread_s: float = 20.0
    owner_age_s_min: float = 0.0
    owner_properties: Mapping[str, str] = field(default_factory=dict)
    successor_properties: Mapping[str, str] = field(default_factory=dict)
    successor_joins: Literal["before", "after"] = "before"
    owner_work_ms: float = 0.0
    broadcasting: int = 0
    """Members in broadcasting mode, each in a group of its own, beside the others."""
    owner_settings: Mapping[str, int] = field(default_factory=dict)
    body_bytes: int = 128


@dataclass(frozen=True, kw_only=True)
class OpenLoopSends:
    """Asynchronous sends on a fixed schedule: operation i is due at start + i / rate, whatever happened before.

    The rate comes from the cell's parameter ``rate_hz``. Synchronous sends need as many ``threads`` as sends may be
    under way at once; one that finds none is late, which its record says.
    """

    queues: int = 8
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


@dataclass(frozen=True, kw_only=True)
class SteadyClients:
    """Normal synchronous sends and two consumers of one group, all the while.

    ``first_servers`` are the name servers, by index, that the producers and the first consumer are bound to, those of
    the second consumer are ``second_servers``; empty stands for all. Several producers share the rate; each has a route
    timer of its own, whose phase is drawn within its own part of the timer's period.
    """

    rate_hz: float = 10.0
    producers: int = 1
    retries: int = 2
    queues: int = 4
    body_bytes: int = 128
    first_servers: tuple[int, ...] = ()
    second_servers: tuple[int, ...] = ()
    groups: int = 1
    poll_route_ms: int = 30_000
    """``pollNameServerInterval`` of the clients."""


@dataclass(frozen=True, kw_only=True)
class FailingMessages:
    """``messages`` sends, of which every ``fail_every``-th fails at each consumption of it; 0 lets none fail.

    ``attempts_max`` is the consumer's maxReconsumeTimes, -1 its default; ``until`` ends the hold: at the first dead
    letters of all that fail, or when the phase's time is over.
    """

    messages: int = 60
    rate_hz: float = 20.0
    fail_every: int = 5
    ordered: bool = False
    attempts_max: int = -1
    until: Literal["dead letters", "time"] = "dead letters"
    groups: int = 1
    queues: int = 4
    body_bytes: int = 128


@dataclass(frozen=True, kw_only=True)
class QueueNumbers:
    """Normal sends into a topic whose numbers of write and read queues differ, consumed by groups of two members each.

    The topic lies on as many brokers as the cell's parameter ``brokers`` says. ``rate_per_queue_hz`` is that of a topic on
    one of them; a topic on several gets as many messages in all.
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


@dataclass(frozen=True, kw_only=True)
class KeyedSends:
    """Sends of several kinds side by side, each into a topic of its own that one group of two members consumes in order.

    ``hash`` takes a queue of those that the route has by the key's hash, ``strict`` does so with a route that a broker's
    absence does not change (an order topic), ``fixed`` sends a key to the queue that it was mapped to at first, and
    ``keyless`` lets the client choose. Every message carries its key all the same, so that order can be judged.
    """

    kinds: tuple[str, ...]
    queues_per_broker: int = 8
    keys: int = 97
    """Neither they nor the share of one thread a multiple of the number of queues: round robin would then put every key
    where it was before."""
    rate_hz: float = 48.5
    body_bytes: int = 128


Load = OrderedGroups | QueueNumbers | KeyedSends | OpenLoopSends | SteadyClients | FailingMessages


@dataclass(frozen=True, kw_only=True)
class NoFault:
    """Nothing happens; the fault window is kept, so that both arms are measured over the same time."""

    kind: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class KillOwners:
    """SIGKILL of the client process that holds every group's owner."""

    kind: Literal["kill-owners"] = "kill-owners"


@dataclass(frozen=True, kw_only=True)
class ShutDownOwners:
    """``consumer.shutdown()`` on every owner, which is what a graceful stop of the application does."""

    kind: Literal["shut-down-owners"] = "shut-down-owners"


@dataclass(frozen=True, kw_only=True)
class SilenceOwners:
    """SIGSTOP of the client process that holds every group's owner, for good: its connections stay and say nothing.

    That is what brokers and other members see of a machine that loses power or whose network is cut.
    """

    kind: Literal["silence-owners"] = "silence-owners"


@dataclass(frozen=True, kw_only=True)
class CutOffOwners:
    """Packets between the client process that holds every group's owner and all nodes are dropped, for good.

    Unlike a silent one, the owner works on with what it has, and does not know yet that it is alone.
    """

    kind: Literal["cut-off-owners"] = "cut-off-owners"


@dataclass(frozen=True, kw_only=True)
class PauseOwners:
    """SIGSTOP of the client process that holds every group's owner for ``pause_s`` (a cell's parameter), then SIGCONT."""

    kind: Literal["pause-owners"] = "pause-owners"


@dataclass(frozen=True, kw_only=True)
class ResizeTopic:
    """Other numbers of write and read queues for the topic while traffic runs, and at the end the ones that mend it.

    ``steps`` are (write queues, read queues, seconds to stay); ``mended`` is (write queues, read queues).
    """

    steps: tuple[tuple[int, int, float], ...]
    mended: tuple[int, int] = (8, 8)
    kind: Literal["resize-topic"] = "resize-topic"


@dataclass(frozen=True, kw_only=True)
class BrokerAway:
    """SIGKILL of the second broker, which is started again on its store when the hold is over."""

    kind: Literal["broker-away"] = "broker-away"


@dataclass(frozen=True, kw_only=True)
class RestartBroker:
    """SIGKILL of the first broker, which is started again at once; as soon as it listens, a stranger asks it for the lock
    of one queue of each group's owner. The owners stay."""

    kind: Literal["restart-broker"] = "restart-broker"


@dataclass(frozen=True, kw_only=True)
class KillOwnersRestartBroker:
    """SIGKILL of the client process that holds every group's owner, and of the first broker, which is started again at
    once."""

    kind: Literal["kill-owners-restart-broker"] = "kill-owners-restart-broker"


@dataclass(frozen=True, kw_only=True)
class AppendStall:
    """One append to the commit log of the first broker takes ``stall_ms`` (a cell's parameter) inside the put lock.

    ``before_store_ms``: while it lasts, every request that a send thread takes up needs that long before it reaches the
    store, as it does on a broker whose send threads have more to do than to append.
    """

    kind: Literal["append-stall"] = "append-stall"
    before_store_ms: float = 0.0


FloodFix = Literal["none", "raise-limit", "delete-offline"]


@dataclass(frozen=True, kw_only=True)
class CrossFrameLimit:
    """New consumer groups come with live heartbeats until the first broker's registration is refused.

    ``beyond`` are further groups after the first that is too many; ``stop_at_share`` ends the flood below the limit.
    ``last_name_bytes`` is how long the names of the groups are that come close to the limit; 0: as long as the others.
    ``fix`` is what heals it: the frame limit raised on one name server after the other and then on the brokers, or the
    retry topics of offline groups deleted.
    """

    kind: Literal["cross-frame-limit"] = "cross-frame-limit"
    frame_bytes: int
    stop_at_share: float = 2.0
    beyond: int = 10
    last_name_bytes: int = 0
    fix: FloodFix = "none"
    raised_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class TopicMoments:
    """The moments at which a retry topic may be created, each tried on a group of its own, and deleting it again."""

    kind: Literal["topic-moments"] = "topic-moments"


@dataclass(frozen=True, kw_only=True)
class RestartNameServer:
    """The last name server is killed, a topic is created meanwhile, and it starts again at once."""

    kind: Literal["restart-name-server"] = "restart-name-server"


@dataclass(frozen=True, kw_only=True)
class UnheardBroker:
    """The last name server does not hear the second broker: it is told once a second that this broker is gone."""

    kind: Literal["unheard-broker"] = "unheard-broker"


@dataclass(frozen=True, kw_only=True)
class ForgottenTopic:
    """The trial's topic is deleted on the last name server alone."""

    kind: Literal["forgotten-topic"] = "forgotten-topic"


@dataclass(frozen=True, kw_only=True)
class MoreQueues:
    """The trial's topic gets twice its queues on every broker."""

    kind: Literal["more-queues"] = "more-queues"


@dataclass(frozen=True, kw_only=True)
class NetworkCut:
    """Nobody can talk to ``nodes`` (by name) through their loopback ports, or only ``peers`` cannot, in both directions.

    Peers are other nodes, or client processes by the names that their load gives them (such as ``owner``).
    """

    nodes: tuple[str, ...]
    peers: tuple[str, ...] = ()
    kind: Literal["network-cut"] = "network-cut"


@dataclass(frozen=True, kw_only=True)
class NetworkDelay:
    """Each packet to or from the ports of ``nodes`` arrives ``delay_ms`` later."""

    nodes: tuple[str, ...]
    delay_ms: float
    kind: Literal["network-delay"] = "network-delay"


@dataclass(frozen=True, kw_only=True)
class PauseNode:
    """Every thread of a node stands still."""

    node: str
    kind: Literal["pause-node"] = "pause-node"


@dataclass(frozen=True, kw_only=True)
class DiskFull:
    """The file system of a broker's store has ``free_mb`` mebibytes left."""

    node: str
    free_mb: float = 0.0
    kind: Literal["disk-full"] = "disk-full"


@dataclass(frozen=True, kw_only=True)
class ThrottledWrites:
    """A broker's writes to its store reach the device at ``bytes_per_s`` at most."""

    node: str
    bytes_per_s: int
    kind: Literal["throttled-writes"] = "throttled-writes"


@dataclass(frozen=True, kw_only=True)
class DirtyPages:
    """A neighbour rewrites a file of ``file_mb`` mebibytes beside a broker's store, for ``seconds_max`` at most."""

    node: str
    file_mb: int
    seconds_max: float
    kind: Literal["dirty-pages"] = "dirty-pages"


@dataclass(frozen=True, kw_only=True)
class AppendWatch:
    """Nothing is done; every append of the first broker is stamped for the cell's ``watch_ms``."""

    kind: Literal["append-watch"] = "append-watch"


@dataclass(frozen=True, kw_only=True)
class CommitStall:
    """One commit of the transient store pool to the page cache takes ``stall_ms`` (a cell's parameter), outside the lock."""

    kind: Literal["commit-stall"] = "commit-stall"


@dataclass(frozen=True, kw_only=True)
class StoreFreeze:
    """The page cache of the first broker's store takes no writes for ``stall_ms`` (a cell's parameter).

    Unlike ``AppendStall`` this asks for no slow append: whether there is one is what is measured.
    """

    kind: Literal["store-freeze"] = "store-freeze"


@dataclass(frozen=True, kw_only=True)
class PageCacheNeighbour:
    """A neighbour rewrites a file of ``neighbour_mb`` on the first broker's file system for ``watch_ms`` (of the cell)."""

    kind: Literal["page-cache-neighbour"] = "page-cache-neighbour"


@dataclass(frozen=True, kw_only=True)
class LimitedPageCache:
    """The same neighbour, while the first broker may have only ``limit_mb`` (of the cell) of memory beyond what it has.

    What a process has when it comes into a control group stays with the group that it comes from, so that the limit is
    one of the page cache that its store needs from then on, as it would have in a small container.
    """

    kind: Literal["limited-page-cache"] = "limited-page-cache"


@dataclass(frozen=True, kw_only=True)
class BrokerCrash:
    """The first broker is killed at once under load, which then ends, and is started again on its store.

    ``power``: not only its process ends but its machine's power, so that what had only reached the page cache is gone.
    ``after_lone``: the load rests for a second, one message is sent, and the broker is killed once that is acknowledged.
    ``spread_s``: the death comes up to so many seconds later, at moments that the repetitions share out evenly. What a timer
    leaves behind depends on when in its period the death comes, and without this that is always the same moment, since the
    timer began when the broker was started for the trial.
    """

    kind: Literal["broker-crash"] = "broker-crash"
    power: bool = False
    after_lone: bool = False
    spread_s: float = 0.0


HeldFault = NetworkCut | NetworkDelay | PauseNode | DiskFull | ThrottledWrites | DirtyPages
"""Faults that are on from inject to heal."""

Fault = (
    CrossFrameLimit
    | TopicMoments
    | RestartNameServer
    | UnheardBroker
    | ForgottenTopic
    | MoreQueues
    | NoFault
    | KillOwners
    | ShutDownOwners
    | PauseOwners
    | SilenceOwners
    | CutOffOwners
    | ResizeTopic
    | BrokerAway
    | RestartBroker
    | KillOwnersRestartBroker
    | AppendStall
    | AppendWatch
    | CommitStall
    | StoreFreeze
    | PageCacheNeighbour
    | LimitedPageCache
    | BrokerCrash
    | HeldFault
)


@dataclass(frozen=True, kw_only=True)
class Phases:
    """How long the runner stays in each phase, in seconds.

    Where a load can tell that the fault's effect is over, hold ends then, but not before ``hold_s_min``. ``settle_s_max``
    and ``drain_s_max`` bound waits for conditions.
    """

    steady_s: float
    hold_s_min: float
    hold_s_max: float
    recover_s: float
    settle_s_max: float = 150.0
    drain_s_max: float = 60.0


# --- arms and cells -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way of living through the incident.

    ``cells`` are its parameter sets; an arm without parameters has one empty cell. ``live_conf`` is changed on the
    running broker before each of its trials, ``broker`` needs a deployment of its own kind. ``releases`` are those that
    have what it sets; empty stands for all.
    """

    name: str
    what: str
    fault: Fault
    load: Load
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    live_conf: Mapping[str, str] = field(default_factory=dict)
    cells: tuple[Parameters, ...] = ({},)
    releases: tuple[str, ...] = ()
    trial_s: float = 0.0
    """How long a trial of it takes on an idle machine where that differs from the scenario's others; 0: it does not."""
    trials: int = 0
    """Trials of a cell of it in a full run where that differs from the scenario's effort; 0: it does not. An event that
    never came in five trials may still come in half of all."""
    is_apart: bool = False
    """Shares its cluster with no other arm, whose clients, topics or store it might disturb."""
    phases: Phases | None = None
    topology: Topology | None = None
    """Its own phases and topology where they differ from the scenario's; one with a topology needs a cluster of its own."""
    stands_in_for: str = ""
    """The arm that shows the same better, and needs more of the host: this one is run where that cannot be, or when asked for."""

    @property
    def role(self) -> ArmRole:
        """What the arm is for; ValueError when its name does not say."""
        return ArmRole(self.name.split("-", 1)[0])


# --- claims and their decision rules ------------------------------------------------------------------------------------


class Statistic(StrEnum):
    """What is made of the values of a measure. Interval in brackets."""

    MEDIAN = "median"  # [bootstrap: deployments, then units]
    MEAN = "mean"  # [same; exact Poisson when every value is a count of zero]
    SHARE = "share"  # of units all of whose values satisfy ``within`` [Clopper-Pearson]
    RATIO_OF_MEANS = "ratio of means"  # mean over mean of ``against`` [bootstrap of both]
    SLOPE = "slope"  # least squares of the value on the parameter ``slope_on`` [bootstrap]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number that the measurement yields: a statistic of a measure in one arm.

    ``where`` keeps the values whose parameters match; each parameter maps to the values that are allowed. ``within``
    is the closed range that ``SHARE`` counts; an end that is None is open.
    """

    measure: str
    arm: str
    statistic: Statistic
    where: Mapping[str, tuple[ParameterValue, ...]] = field(default_factory=dict)
    within: tuple[float | None, float | None] = (None, None)
    against: Quantity | None = None
    slope_on: str = ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One testable part of a claim: the quantity must lie at or beyond the bound, with its whole 95 % interval.

    The interval wholly on the right side confirms the part, wholly on the wrong side refutes it, else it is undecided.
    """

    name: str
    quantity: Quantity
    relation: Relation
    bound: float
    unit: str
    why: str
    units_min: int = 5

    def quantities(self) -> tuple[Quantity, ...]:
        """What it measures, and what that is compared with where it is."""
        return (self.quantity,) if self.quantity.against is None else (self.quantity, self.quantity.against)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What a release's own code leads one to expect, and where it says so."""

    verdict: VerdictKind
    because: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of an article with its reading, its expectation by release and its decision rule.

    A claim is as good as its worst part. ``truth`` is the sentence that the ledger prints; it may name the parts'
    numbers as ``{part name}``.
    """

    id: str
    article: str
    says: str
    reading: str
    parts: tuple[Part, ...]
    expected: Mapping[str, Expectation]
    truth: str = ""

    def quantities(self) -> tuple[Quantity, ...]:
        """Those of all of its parts."""
        return tuple(quantity for part in self.parts for quantity in part.quantities())

    def rule_hash(self) -> str:
        """SHA-256 over reading, parts and expectations; it changes when anything that decides changes."""
        rule = {
            "id": self.id,
            "reading": self.reading,
            "parts": [dataclasses.asdict(part) for part in self.parts],
            "expected": {release: dataclasses.asdict(value) for release, value in self.expected.items()},
        }
        return hashlib.sha256(json.dumps(rule, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much of a scenario is run: trials a cell, and over how many deployments they are spread.

    ``shown_trials`` are those of arms that no claim is judged by (default: as many). ``load`` are fields of the arms' loads
    that it changes, for a run that has to be light.
    """

    trials: int
    deployments: int
    shown_trials: int | None = None
    load: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One incident."""

    name: str
    title: str
    article: str
    summary: str
    topology: Topology
    arms: tuple[Arm, ...]
    phases: Phases
    claims: tuple[Claim, ...]
    effort: Effort
    quick_effort: Effort
    quick_cells: Mapping[str, tuple[Parameters, ...]] = field(default_factory=dict)
    """Cells by arm that a quick run keeps; an arm that is absent keeps all of its cells, one that has none is left out."""
    exclusive: bool
    """True when the trials measure milliseconds and must have the machine to themselves."""
    hiccup_ms_max: float
    """A trial whose hiccup probe exceeds this was too noisy, and is repeated within a bound."""
    schedule: Literal["interleaved", "side by side"] = "interleaved"
    trial_s: float = 0.0
    """How long a trial takes on an idle machine where its phases end by conditions; 0: the hand-over's time."""
    shown: tuple[str, ...] = ()
    """Measures whose values the report shows although no claim is judged by them."""
    cluster_per_trial: bool = False
    """True when a trial's fault is one of the cluster itself, which others must not share."""
    shares_machine: bool = False
    """Of an exclusive one: its clusters may run beside each other, each of them one trial after another."""
    ways: tuple[str, ...] = ()
    """The ways of injection that it can be run in, where its faults offer several and not all of them serve it."""
    way_cells: Mapping[str, tuple[Parameters, ...]] = field(default_factory=dict)
    """Cells by arm that are run in any other way than the usual one; an arm that is absent keeps all of its cells."""

    def arm(self, name: str) -> Arm:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    def phases_of(self, arm: Arm) -> Phases:
        """How long its trials stay in each phase."""
        return arm.phases or self.phases

    def judged_arms(self) -> frozenset[str]:
        """Names of the arms that a claim is judged by."""
        return frozenset(quantity.arm for claim in self.claims for quantity in claim.quantities())

    def measures(self, arms: Collection[str] | None = None) -> frozenset[str]:
        """What its claims are judged by in ``arms`` (default: in any), and what its report shows beside that."""
        asked = (quantity for claim in self.claims for quantity in claim.quantities())
        return frozenset(item.measure for item in asked if arms is None or item.arm in arms) | frozenset(self.shown)


# --- what the analysis answers ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EvidenceLine:
    """A line or record that a finding rests on; ``file`` is relative to the run directory, ``line`` counts from 1."""

    excerpt: str
    file: str
    line: int
    operation: str = ""


@dataclass(frozen=True, kw_only=True)
class MeasureSummary:
    """The distribution of one measure in one cell. ``independent`` counts units, ``n`` values."""

    name: str
    arm: str
    params: Parameters
    unit: str
    independent: int
    n: int
    censored: int
    p50: float | None
    p90: float | None
    p99: float | None
    min: float | None
    max: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class PartResult:
    """What became of one part: its estimate, its 95 % interval and its own verdict."""

    name: str
    verdict: VerdictKind
    reason: str
    estimate: float | None
    low: float | None
    high: float | None
    relation: str
    bound: float
    unit: str
    why: str
    units: int


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One claim in one release."""

    claim: str
    incident: str
    release: str
    backend: str
    client: str
    injection: str
    rule_commit: str
    rule_hash: str
    validity: tuple[str, ...]
    expected: VerdictKind
    expected_from_code: str
    verdict: VerdictKind
    reason: str
    truth: str
    trials: int
    parts: tuple[PartResult, ...]
    measures: tuple[MeasureSummary, ...]
    evidence: tuple[EvidenceLine, ...]
