"""What faults are asked to be; ``harness/faults`` makes them happen."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal

from harness.model.cells import Parameters
from harness.model.rocketmq import CHECKS_S_MAX, DELAY_OFFSETS_MS

UPGRADE_S = 75.0
CRASH_S, REST_S, ROLL_S = 7.0, 1.0, 20.0
"""Kill, start on the old store, and be registered again; a second of rest before a lone message, which is longer than every
default interval of committing to the page cache (200 ms); and until a file of 16 MiB is full that has been begun already."""


COMMITTED_S = 15.0
"""In which a client commits for the first time, 10 s after its start, and once more (persistConsumerOffsetInterval is 5 s)."""

SETTLED_S = 10.0
"""After its start a Java compiles for some seconds, which is not what its threads do later."""

REGISTERED_S = 35.0
"""In which a broker registers once at least, with the default registerNameServerPeriod of 30 s."""


class Proof(StrEnum):
    """What a trial's records must show before its fault counts as having happened."""

    NOTHING = "nothing"
    """The control: there is nothing to prove."""
    STAMPED = "stamped"
    """An append was stamped in the broker, for as long as was asked."""
    LASTED = "lasted"
    """It lasted as long as was asked, and was healed."""
    PAUSED = "paused"
    """The owners stood still for as long as was asked."""
    OWNERS_KILLED = "owners killed"
    """The owners' process was gone at once."""
    OWNERS_SHUT_DOWN = "owners shut down"
    """The owners' shutdown returned."""
    OWNERS_GONE = "owners gone"
    """The owners ended, or nobody hears of them any more."""
    BROKER_GONE = "broker gone"
    """The broker ended and came back."""
    HELD = "held"
    """It was on from inject to heal, and what it achieved then was enough."""
    DONE = "done"
    """What was asked of the cluster was carried out, and ended."""
    WATCHED = "watched"
    """The broker's appends were watched, and there were some."""


class Standstill(StrEnum):
    """Why a queue of an owner's stands still."""

    LOCK = "lock"
    """A lock that is held by an owner that is gone."""
    LISTENER = "listener"
    """A listener that is at work on one message."""
    PROCESS = "process"
    """The owner's process, which stops."""


def _is_of_the_lab(cls: type) -> bool:
    return cls.__module__.startswith("harness.")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Base of all faults; a subclass is one event, and its name in words is its ``kind``."""

    kind: ClassVar[str]
    proofs: ClassVar[tuple[Proof, ...]] = ()
    """All of them must hold; a fault that names none is never counted."""
    shown_by: ClassVar[str] = ""
    """What was observed at the thing itself that would be otherwise if the fault had not happened, in words.

    Where that is the answer of a call alone, it is one that comes after the effect and not without it.
    """
    ends_owners: ClassVar[bool] = False
    """The groups' queues change hands by it."""
    standstill: ClassVar[Standstill | None] = None
    """Why the owners' queues stand still by it, where that is known."""
    needs_rules: ClassVar[bool] = False
    """It is made or watched by rules in the broker's JVM."""
    kills_broker: ClassVar[bool] = False
    """What the broker was told while it ran is gone with its process."""
    cell: ClassVar[Parameters] = {}
    """What is a cell's parameter of it in an incident; on a load each has its value here where nothing is said."""
    unless_said: ClassVar[Mapping[str, object]] = {}
    """What a load takes for fields that have no value by themselves. The first one is the parameter that needs no name."""
    of_incidents: ClassVar[tuple[str, ...]] = ()
    """Fields that only an incident has a use for: Locust sends no message alone, a time is given, a fault names its node, and who
    loads a broker sees what is left behind."""
    stays_s: ClassVar[float | None] = None
    """How long it is on in a load unless its ``for`` says otherwise, infinite until the load ends; None for what ends by itself."""
    stays_by: ClassVar[str] = ""
    """The parameter of the cell that says how long it is on."""
    ways: ClassVar[tuple[str, ...]] = ()
    """How it can be made, where a load may choose; the first one is the default."""
    done_to: ClassVar[Literal["", "client", "node"]] = ""
    """A ``client`` alone, which is the lab's on any cluster, or one ``node`` from outside, which may be the user's own where a file
    says how it is reached. Anything else is done to a cluster that the lab has started."""
    masters_min: ClassVar[int] = 1
    """It is about the second broker, or leaves one that takes sends while another is away, where it is 2."""
    needs_slaves: ClassVar[bool] = False
    """It is done to a slave."""

    def __init_subclass__(cls) -> None:
        # A class of one's own is made, proved and told as the lab's that it is derived from.
        if "kind" not in vars(cls) and (_is_of_the_lab(cls) or not hasattr(cls, "kind")):
            cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    @classmethod
    def of_the_lab(cls) -> "type[Fault]":
        """The lab's fault that it is, or is derived from; ``Fault`` itself where it is derived from none of them."""
        return next(one for one in cls.__mro__ if _is_of_the_lab(one))

    @property
    def lasts(self) -> bool:
        """Whether it stays until the cluster goes down, so that no way back is to be waited for."""
        return False

    def seconds(self, params: Parameters) -> float:
        """How long it takes by itself in a cell."""
        return max(float(params.get(name, 0)) for name in ("stall_ms", "watch_ms")) / 1000


class NoFault(Fault):
    """Nothing happens; the fault window is kept, so that both arms are measured over the same time."""

    kind = "none"
    proofs = (Proof.NOTHING,)


class KillOwners(Fault):
    """SIGKILL of the client process that holds every group's owner."""

    proofs = (Proof.OWNERS_KILLED,)
    shown_by = "the process ran before the signal, and its exit was seen after it"
    ends_owners = True
    standstill = Standstill.LOCK
    done_to = "client"


class ShutDownOwners(Fault):
    """``consumer.shutdown()`` on every owner, which is what a graceful stop of the application does."""

    proofs = (Proof.OWNERS_SHUT_DOWN,)
    shown_by = "the call of each consumer's shutdown has returned in the client itself, whose history has each return"
    ends_owners = True
    standstill = Standstill.LISTENER
    """One that is at work when its owner ends; else they do not stand still."""
    done_to = "client"


@dataclass(frozen=True, kw_only=True)
class KillStoppingOwners(Fault):
    """The client process that holds every group's owner is told to stop, and killed ``grace_s`` later.

    Its hook has ``first_s`` of other work to do before it calls ``shutdown()``, as an application has that lets the work in
    hand end; with a grace shorter than that no consumer's shutdown is completed.
    """

    proofs = (Proof.OWNERS_KILLED,)
    shown_by = "the process ran still when its grace was over, and its exit was seen after the signal"
    ends_owners = True
    done_to = "client"
    grace_s: float = 5.0
    first_s: float = 30.0


class SilenceOwners(Fault):
    """SIGSTOP of the client process that holds every group's owner, for good: its connections stay and say nothing.

    That is what brokers and other members see of a machine that loses power or whose network is cut.
    """

    proofs = (Proof.OWNERS_GONE,)
    shown_by = "each thread was stopped soon after the signal and just before the end, and none had computed in between"
    ends_owners = True
    stays_s = math.inf
    done_to = "client"


class CutOffOwners(Fault):
    """Packets between the client process that holds every group's owner and all nodes are dropped, for good.

    Unlike a silent one, the owner works on with what it has, and does not know yet that it is alone.
    """

    proofs = (Proof.OWNERS_GONE, Proof.HELD)
    shown_by = "the rules of the cut have dropped packets, by the kernel's count"
    ends_owners = True
    stays_s = math.inf


class PauseOwners(Fault):
    """SIGSTOP of the client process that holds every group's owner for ``pause_s`` (a cell's parameter), then SIGCONT."""

    proofs = (Proof.PAUSED,)
    standstill = Standstill.PROCESS
    shown_by = (
        "each thread was stopped soon after the signal and just before it went on, and none had computed in between"
    )
    stays_by = "pause_s"
    cell: ClassVar[Parameters] = {"pause_s": 10.0}
    done_to = "client"


@dataclass(frozen=True, kw_only=True)
class CollectOwners(Fault):
    """The client process that holds every group's owner keeps more and more objects, until one full collection stops it for
    ``stop_s`` or more; it lets go of them at the end. The fault's time is that of this collection."""

    proofs = (Proof.HELD,)
    shown_by = "the longest full collection of the process's own gc.log took as long as was asked"
    standstill = Standstill.PROCESS
    done_to = "client"
    stop_s: float = 6.0

    def seconds(self, params: Parameters) -> float:
        """This collection and those before it, of half as much and a quarter."""
        return 4 * self.stop_s


@dataclass(frozen=True, kw_only=True)
class ThrottleOwners(Fault):
    """What the owners' listeners write reaches their disk at ``bytes_per_s`` at most.

    The fault's time is ``since_s`` after its begin, when whoever looks finds that their queues stand still.
    """

    proofs = (Proof.HELD,)
    shown_by = (
        "what the group wrote came close to the limit and the device took no more than that, by the kernel's counts"
    )
    standstill = Standstill.LISTENER
    bytes_per_s: int = 128 * 1024
    since_s: float = 10.0

    def seconds(self, params: Parameters) -> float:
        """Until somebody looks."""
        return self.since_s


@dataclass(frozen=True, kw_only=True)
class LockOwners(Fault):
    """Another thread of the owners' process takes the one lock that their listeners take, and keeps it.

    The fault's time is ``since_s`` after its begin, when whoever looks finds that their queues stand still.
    """

    proofs = (Proof.HELD,)
    shown_by = "two listeners or more waited for the lock when it was let go, by the lock's own count"
    standstill = Standstill.LISTENER
    done_to = "client"
    since_s: float = 10.0

    def seconds(self, params: Parameters) -> float:
        """Until somebody looks."""
        return self.since_s


@dataclass(frozen=True, kw_only=True)
class ResizeTopic(Fault):
    """Other numbers of write and read queues for the topic while traffic runs, and at the end the ones that mend it.

    ``steps`` are (write queues, read queues, seconds to stay); ``mended`` is (write queues, read queues). With ``drained``
    read queues are taken away when no group has anything unread in them.
    """

    proofs = (Proof.DONE,)
    shown_by = "each name server lists the topic with the step's numbers, which is waited for; a step may ask for what there is"
    unless_said: ClassVar[Mapping[str, object]] = {"steps": ((8, 4, 5.0),)}
    steps: tuple[tuple[int, int, float], ...]
    mended: tuple[int, int] = (8, 8)
    drained: bool = False


class BrokerAway(Fault):
    """SIGKILL of the second broker, which is started again on its store when the hold is over."""

    proofs = (Proof.BROKER_GONE,)
    shown_by = "the process's exit was seen, and nobody answered at its address then"
    kills_broker = True
    stays_s = 10.0
    masters_min = 2


class MasterAway(Fault):
    """SIGKILL of the first master, which is started again on its store when the hold is over."""

    proofs = (Proof.BROKER_GONE,)
    shown_by = "the process's exit was seen, and nobody answered at its address then"
    kills_broker = True
    stays_s = 10.0


class RestartBroker(Fault):
    """SIGKILL of the first broker, which is started again at once; as soon as it listens, another client asks it for the lock
    of one queue of each group's owner. The owners stay."""

    proofs = (Proof.BROKER_GONE,)
    shown_by = "the process's exit was seen before another one was started, which every name server has listed since"
    kills_broker = True


@dataclass(frozen=True, kw_only=True)
class RestartAmidDelays(Fault):
    """The first broker ends ``age_s`` after it has last written how far its delay levels are, and is started again at once.

    It is killed, or stopped as its operator does. ``age_s`` is short enough for a stop of some seconds to end before the next
    write of a default broker.
    """

    proofs = (Proof.BROKER_GONE,)
    shown_by = "the file was seen to be written, and the process's exit so long after it"
    kills_broker = True
    ends: Literal["killed", "stopped"] = "killed"
    age_s: float = 4.0

    def seconds(self, params: Parameters) -> float:
        """The wait for a write, and the way back."""
        return DELAY_OFFSETS_MS / 1000 / 2 + self.age_s + CRASH_S


class KillOwnersRestartBroker(Fault):
    """SIGKILL of the client process that holds every group's owner, and of the first broker, which is started again at
    once."""

    proofs = (Proof.OWNERS_GONE, Proof.BROKER_GONE)
    shown_by = "the exits of both processes were seen, and every name server lists the broker's new one"
    ends_owners = True
    kills_broker = True


UpgradeStep = Literal["namesrv", "slave", "master", "consumer", "producer"]
"""What is upgraded: nodes of a role one after another, or all consumers or producers of the load."""


@dataclass(frozen=True, kw_only=True)
class RollingUpgrade(Fault):
    """Each node is told to end and started again on its store, of the release ``to`` (a cell's parameter), one after another.

    A step begins when the node of the one before is registered everywhere, and a slave has what its master has. ``order`` says
    in which order roles come. ``back``: once the first node of the last role has the other release, all that have it return
    to the one before, the last first. ``drained_s``: before a master is stopped, the name servers list it as read-only
    (``mqadmin wipeWritePerm``), and so many seconds pass, in which producers ask for their routes again.
    """

    proofs = (Proof.DONE,)
    shown_by = "each node was stopped, and says in its own answers that it is of the other release; a client's history says its own"
    kills_broker = True
    cell: ClassVar[Parameters] = {"to": "5.5.0"}
    masters_min = 2
    order: tuple[UpgradeStep, ...] = ("namesrv", "slave", "master")
    back: bool = False
    drained_s: float = 0.0

    def seconds(self, params: Parameters) -> float:
        """As with two name servers and two masters with a slave each."""
        return UPGRADE_S + 2 * self.drained_s


@dataclass(frozen=True, kw_only=True)
class AppendStall(Fault):
    """One append to the commit log of the first broker takes ``stall_ms`` (a cell's parameter) inside the put lock.

    ``before_store_ms``: while it lasts, every request that a send thread takes up needs that long before it reaches the
    store, as it does on a broker whose send threads have more to do than to append. ``every_master``: not only the first
    broker's append stalls but one of each master, at the same time. ``within_s``: so many seconds have ``times`` stalls of
    each, as disks that stall by themselves would: at moments drawn of the trial's seed, for each master its own, so that
    stalls of one never overlap and those of two do as chance has it.
    """

    proofs = (Proof.STAMPED,)
    shown_by = "the rule in the broker, or its watch of a freeze, stamped the append at its entry and its exit"
    needs_rules = True
    cell: ClassVar[Parameters] = {"stall_ms": 1200.0}
    of_incidents = ("every_master", "times", "within_s")
    ways = ("byteman", "freeze")
    before_store_ms: float = 0.0
    every_master: bool = False
    times: int = 1
    within_s: float = 0.0

    def seconds(self, params: Parameters) -> float:
        """All of the time that has stalls."""
        return max(super().seconds(params), self.within_s)


FloodFix = Literal["none", "raise-limit", "delete-offline"]


@dataclass(frozen=True, kw_only=True)
class CrossFrameLimit(Fault):
    """New consumer groups come with live heartbeats until the first broker's registration is refused.

    ``beyond`` are further groups after the first that is too many; ``stop_at_share`` ends the flood below the limit.
    ``last_name_bytes`` is how long the names of the groups are that come close to the limit; 0: as long as the others.
    ``fix`` is what heals it: the frame limit raised on one name server after the other and then on the brokers, or the
    retry topics of offline groups deleted.
    """

    proofs = (Proof.DONE,)
    shown_by = (
        "a name server does not list the broker any more; below the limit, the broker's own table is as long as asked"
    )
    unless_said: ClassVar[Mapping[str, object]] = {"frame_bytes": 262_144}

    frame_bytes: int
    stop_at_share: float = 2.0
    beyond: int = 10
    last_name_bytes: int = 0
    fix: FloodFix = "none"
    raised_bytes: int = 0

    @property
    def lasts(self) -> bool:
        """Without a fix the broker is refused until its cluster goes down."""
        return self.fix == "none"


class TopicMoments(Fault):
    """The moments at which a retry topic may be created, each tried on a group of its own, and deleting it again."""

    proofs = (Proof.DONE,)
    shown_by = "each request was answered, and what was deleted is not in the broker's table then; the rest is what is measured"


class RestartNameServer(Fault):
    """The last name server is killed, a topic is created meanwhile, and it starts again at once."""

    proofs = (Proof.DONE,)
    shown_by = "the process's exit was seen before the topic was made, and another one lists both topics"


@dataclass(frozen=True, kw_only=True)
class EarlyTopic(Fault):
    """The last name server is killed and started again, and a topic is made on the first broker before that broker has
    registered there; without ``creates`` none is.

    ``cure`` is what is done then: the broker's own permission is written back to it, so that it registers in full; it is stopped
    and started; or one more topic is made.
    """

    proofs = (Proof.HELD,)
    shown_by = (
        "the broker has the new topic, and the name server does not list the old one then; a cure shows in the broker"
    )
    stays_s = 10.0
    of_incidents = ("cure",)
    creates: bool = True
    cure: Literal["none", "permission", "restart", "another-topic"] = "none"

    def seconds(self, params: Parameters) -> float:
        """Its restart, and the cure with what follows of it."""
        return 5.0 + {"none": 0.0, "permission": 1.0, "restart": CRASH_S, "another-topic": REGISTERED_S}[self.cure]


@dataclass(frozen=True, kw_only=True)
class IdleBroker(Fault):
    """Nothing happens, and over ``watch_s`` it is counted how long the threads of the first broker compute.

    ``cure`` is what is done then, before they are looked at once more: the broker is stopped and started.
    """

    proofs = (Proof.HELD,)
    shown_by = "the broker's process was the same one at both looks, and its commit log hardly grew in between"
    of_incidents = ("watch_s", "cure")
    watch_s: float = 8.0
    cure: Literal["none", "restart"] = "none"

    def seconds(self, params: Parameters) -> float:
        """Both looks, and what lies between them."""
        return self.watch_s + (CRASH_S + SETTLED_S + self.watch_s if self.cure == "restart" else 0.0)


@dataclass(frozen=True, kw_only=True)
class UnheardBroker(Fault):
    """The last name server does not hear the second broker: it is told every ``every_s`` seconds that this broker is gone.

    Between a registration of the broker's and the next telling the name server has it in its routes again.
    """

    proofs = (Proof.HELD,)
    shown_by = "the name server did not list the broker after it had been told"
    stays_s = 10.0
    masters_min = 2
    every_s: float = 1.0


class ForgottenTopic(Fault):
    """The trial's topic is deleted on the last name server alone."""

    proofs = (Proof.DONE,)
    shown_by = "the name server has no route of the topic after the request"
    stays_s = 10.0


@dataclass(frozen=True, kw_only=True)
class RecreateTopic(Fault):
    """The trial's topic is deleted on every broker and name server, as ``mqadmin deleteTopic`` does, and made anew at once.

    ``cure`` is done before anything is sent to it: the offsets of the trial's groups in it are set to 0.
    """

    proofs = (Proof.DONE,)
    shown_by = (
        "no broker's table and no name server had the topic after its deletion; each name server lists it after that"
    )
    of_incidents = ("cure",)
    cure: Literal["none", "offsets"] = "none"

    def seconds(self, params: Parameters) -> float:
        """Some requests to each node."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class DeleteTopic(Fault):
    """A topic that is made for it, and that nobody uses, is deleted as ``mqadmin deleteTopic`` does.

    ``after_check_s`` is how long after a broker's check of transactions; 0 waits for none. ``cure`` is done before: the topic of
    what ends transactions is made, as ``mqadmin updateTopic`` does.
    """

    proofs = (Proof.DONE,)
    shown_by = "no broker's table and no name server had the topic after its deletion"
    of_incidents = ("cure",)
    after_check_s: float = 0.0
    cure: Literal["none", "op-topic"] = "none"

    def seconds(self, params: Parameters) -> float:
        """Some requests to each node, and the wait for a check."""
        return 2.0 + (CHECKS_S_MAX / 2 + self.after_check_s if self.after_check_s else 0.0)


@dataclass(frozen=True, kw_only=True)
class ResetOffsets(Fault):
    """The trial's groups are told to go on from what was stored ``back_s`` ago, as ``mqadmin resetOffsetByTime`` does.

    ``cure``: their members leave before, their offsets are set, and they come back.
    """

    proofs = (Proof.DONE,)
    shown_by = "where each group is to go on, by what the broker has or has told, lies before the ends that there were"
    of_incidents = ("cure",)
    back_s: float = 5.0
    cure: Literal["none", "away"] = "none"

    def seconds(self, params: Parameters) -> float:
        """The wait for the groups' first commits, and a start of their members."""
        return COMMITTED_S / 2 + 3.0


class MoreQueues(Fault):
    """The trial's topic gets twice its queues on every broker."""

    proofs = (Proof.DONE,)
    shown_by = "each name server lists the topic with twice its numbers, which is waited for"


@dataclass(frozen=True, kw_only=True)
class NetworkCut(Fault):
    """Nobody can talk to ``nodes`` (by name) through their loopback ports, or only ``peers`` cannot, in both directions.

    Peers are other nodes, or client processes by the names that their load gives them (such as ``owner``).
    """

    proofs = (Proof.HELD,)
    shown_by = "the rules of the cut have dropped packets, by the kernel's count"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"nodes": ("broker-a",)}
    nodes: tuple[str, ...]
    peers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NetworkDelay(Fault):
    """Each packet to or from the ports of ``nodes`` arrives ``delay_ms`` later."""

    proofs = (Proof.HELD,)
    shown_by = "netem has delayed packets, by the kernel's count"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"delay_ms": 20.0, "nodes": ("broker-a",)}
    nodes: tuple[str, ...]
    delay_ms: float


@dataclass(frozen=True, kw_only=True)
class PauseNode(Fault):
    """Every thread of a node stands still."""

    proofs = (Proof.HELD,)
    shown_by = "each thread was stopped or frozen at both ends and none had computed; nobody answered at its own address meanwhile"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"node": "broker-a"}
    done_to = "node"
    node: str


@dataclass(frozen=True, kw_only=True)
class KillNode(Fault):
    """SIGKILL of a node, which is started again on its store when the hold is over."""

    proofs = (Proof.BROKER_GONE,)
    shown_by = "the process's exit was seen, and nobody answered at its address then"
    kills_broker = True
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"node": "broker-a"}
    done_to = "node"
    node: str


class StoppedSlave(Fault):
    """Every thread of the first master's slave stands still for the hold; then that master is killed, and the slave goes on.

    What the slave has is read while it is alone, which is what is left where the master's machine does not come back. The master
    is then started again on its store.
    """

    proofs = (Proof.HELD,)
    shown_by = "the slave stood still, as of PauseNode, and nobody answered at its master's address when it went on"
    kills_broker = True
    stays_s = 10.0
    needs_slaves = True

    def seconds(self, params: Parameters) -> float:
        """As the death of a broker."""
        return CRASH_S


@dataclass(frozen=True, kw_only=True)
class FlappingNode(Fault):
    """Every thread of a node stands still for ``stopped_s`` and goes on for ``runs_s``, again and again."""

    proofs = (Proof.HELD,)
    shown_by = "the same as of PauseNode, each time"
    stays_s = 30.0
    unless_said: ClassVar[Mapping[str, object]] = {"node": "broker-a"}
    done_to = "node"
    node: str
    stopped_s: float = 3.0
    runs_s: float = 7.0


@dataclass(frozen=True, kw_only=True)
class SlowBroker(Fault):
    """Every send to a broker is held up in its send thread for ``slow_ms``, before the store. ``every_master``: on all of them."""

    proofs = (Proof.HELD,)
    shown_by = "the rules in the brokers have held sends up, by their own count"
    needs_rules = True
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"slow_ms": 1200.0}
    of_incidents = ("every_master",)
    slow_ms: float
    node: str = "broker-a"
    every_master: bool = False


@dataclass(frozen=True, kw_only=True)
class SlowFlush(Fault):
    """Every force of a broker's commit log to disk takes ``flush_ms`` longer, whoever waits for it."""

    proofs = (Proof.HELD,)
    shown_by = "the rule in the broker has held flushes up, by its own count"
    needs_rules = True
    stays_s = 10.0
    flush_ms: float = 5.0
    node: str = "broker-a"


@dataclass(frozen=True, kw_only=True)
class JavaRule(Fault):
    """A method of a broker does what an incident's own file says, by a Byteman rule, from when it is injected until it is healed.

    ``places`` are methods, ``PACKAGE.CLASS.METHOD``; one that a release does not have is left out there. ``at`` is a point in them,
    as Byteman's language names them; ``when`` a condition and ``does`` statements in Java, where ``$0`` is the object and ``$1``
    the first parameter. ``does`` may throw what the method may throw, return, or call ``delay(MILLISECONDS)``.
    """

    proofs = (Proof.HELD,)
    shown_by = "the rule in the broker has counted how often it took effect"
    needs_rules = True
    stays_s = 10.0
    places: tuple[str, ...]
    does: str
    when: str = "true"
    at: str = "ENTRY"
    node: str = "broker-a"

    @property
    def word(self) -> str:
        """What it is called in the broker."""
        said = "\n".join((*self.places, self.at, self.when, self.does))
        return f"r{hashlib.sha256(said.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, kw_only=True)
class ReadOnlyBroker(Fault):
    """A broker is without the permission to write (``brokerPermission`` 4)."""

    proofs = (Proof.HELD,)
    shown_by = "each name server that answers lists the broker's topics as readable alone just before the end"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"node": "broker-a"}
    node: str


@dataclass(frozen=True, kw_only=True)
class DiskFull(Fault):
    """The file system of a broker's store has ``free_mb`` mebibytes left."""

    proofs = (Proof.HELD,)
    shown_by = "no more is free than was asked, by the file system's own count"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"node": "broker-a"}
    node: str
    free_mb: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DiskFilled(Fault):
    """Of the file system of a broker's store ``share`` is used, with what it reserves for root counted as free."""

    proofs = (Proof.HELD,)
    shown_by = "the share that is used is the one that was asked for, by the file system's own count"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"share": 0.87, "node": "broker-a"}
    node: str
    share: float


@dataclass(frozen=True, kw_only=True)
class ThrottledWrites(Fault):
    """A broker's writes to its store reach the device at ``bytes_per_s`` at most."""

    proofs = (Proof.HELD,)
    shown_by = (
        "what the group wrote came close to the limit and the device took no more than that, by the kernel's counts"
    )
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"bytes_per_s": 2**20, "node": "broker-a"}
    node: str
    bytes_per_s: int


@dataclass(frozen=True, kw_only=True)
class DirtyPages(Fault):
    """A neighbour rewrites a file of ``file_mb`` mebibytes beside a broker's store, for ``seconds_max`` at most."""

    proofs = (Proof.HELD,)
    shown_by = "the neighbour has written its whole file once or more, by its own count"
    stays_s = 10.0
    unless_said: ClassVar[Mapping[str, object]] = {"file_mb": 512, "node": "broker-a", "seconds_max": 60.0}
    node: str
    file_mb: int
    seconds_max: float


class AppendWatch(Fault):
    """Nothing is done; every append of the first broker is stamped for the cell's ``watch_ms``."""

    proofs = (Proof.WATCHED,)
    shown_by = "the rule in the broker has seen appends, by its own count"
    needs_rules = True
    cell: ClassVar[Parameters] = {"watch_ms": 10_000.0}


@dataclass(frozen=True, kw_only=True)
class CommitWatch(Fault):
    """Nothing is done; for the cell's ``watch_ms`` it is counted how many commits of the first broker's transient store pool come
    ``period_ms`` after the one before, as by a timer alone. The default is that of commitCommitLogThoroughInterval."""

    proofs = (Proof.HELD,)
    shown_by = "the rule in the broker has seen commits, by its own count"
    needs_rules = True
    cell: ClassVar[Parameters] = {"watch_ms": 10_000.0}
    period_ms: float = 200.0


@dataclass(frozen=True, kw_only=True)
class AppendThrows(Fault):
    """One append to the commit log of the first broker throws an exception inside the put lock, as a defect there would.

    ``cure`` is what ends what it leaves behind: the broker is stopped and started again, or its osPageCacheBusyTimeOutMills is
    raised until something is appended, and set back.
    """

    proofs = (Proof.DONE,)
    shown_by = (
        "the rule in the broker stamped the place where it threw; a cure is seen in the broker's offsets, or its start"
    )
    needs_rules = True
    of_incidents = ("cure",)
    cure: Literal["none", "restart", "raise-limit"] = "none"

    def seconds(self, params: Parameters) -> float:
        """The wait for an append, and for the cure."""
        return {"none": 1.0, "restart": CRASH_S, "raise-limit": 2.0}[self.cure]


DELAY_LEVEL_HIT = 2
"""The delay level whose delivery throws: its messages wait for 5 s by default."""


@dataclass(frozen=True, kw_only=True)
class DeliveryThrows(Fault):
    """One delivery of a delayed message of level 2 throws on the first broker: an exception, as a defect would, or an
    OutOfMemoryError, as users had. With ``cure`` the broker is stopped and started again after the hold."""

    proofs = (Proof.DONE,)
    shown_by = (
        "the rule in the broker stamped the place where it threw; a cure is a start that every name server has listed"
    )
    needs_rules = True
    of_incidents = ("cure",)
    throws: Literal["exception", "error"] = "exception"
    cure: Literal["none", "restart"] = "none"

    def seconds(self, params: Parameters) -> float:
        """The wait for a delivery, and for the cure."""
        return {"none": 1.0, "restart": CRASH_S}[self.cure]


@dataclass(frozen=True, kw_only=True)
class DispatchThrows(Fault):
    """One dispatch of a stored message to the consume queues of the first broker throws, as ``DeliveryThrows`` does."""

    proofs = (Proof.DONE,)
    shown_by = (
        "the rule in the broker stamped the place where it threw; a cure is a start that every name server has listed"
    )
    needs_rules = True
    of_incidents = ("cure",)
    throws: Literal["exception", "error"] = "error"
    cure: Literal["none", "restart"] = "none"

    def seconds(self, params: Parameters) -> float:
        """The wait for a dispatch, and for the cure."""
        return {"none": 1.0, "restart": CRASH_S}[self.cure]


class CommitStall(Fault):
    """One commit of the transient store pool to the page cache takes ``stall_ms`` (a cell's parameter), outside the lock."""

    proofs = (Proof.LASTED,)
    shown_by = "the rule in the broker stamped the commit at its entry and at the stall's end"
    needs_rules = True
    cell: ClassVar[Parameters] = {"stall_ms": 1200.0}


Pool = Literal["send", "pull", "admin", "heartbeat"]


@dataclass(frozen=True, kw_only=True)
class PoolJam(Fault):
    """Every thread of one of the first broker's request pools stands still for ``stall_ms`` (a cell's parameter), from the
    pool's next request on: each that has taken a request from the pool's queue, before it does anything for it."""

    proofs = (Proof.LASTED,)
    shown_by = "the rule in the broker stamped the first request that it held, and its end"
    needs_rules = True
    cell: ClassVar[Parameters] = {"stall_ms": 1200.0}
    pool: Pool = "pull"


class SlowSends(Fault):
    """Single sends are held up in their send threads, before the store, each for as long as the load says for its topic."""

    proofs = (Proof.LASTED,)
    shown_by = "the rules in the brokers stamped each send that they held, and its end"
    needs_rules = True

    def seconds(self, params: Parameters) -> float:
        """As the longest of any load, and what the rules take."""
        return 25.0


class StoreFreeze(Fault):
    """The page cache of the first broker's store takes no writes for ``stall_ms`` (a cell's parameter).

    Unlike ``AppendStall`` this asks for no slow append: whether there is one is what is measured.
    """

    proofs = (Proof.LASTED,)
    shown_by = "the kernel's calls that freeze and thaw were stamped by the process that made them"
    needs_rules = True
    cell: ClassVar[Parameters] = {"stall_ms": 1200.0}


class PageCacheNeighbour(Fault):
    """A neighbour rewrites a file of ``neighbour_mb`` on the first broker's file system for ``watch_ms`` (of the cell)."""

    proofs = (Proof.HELD, Proof.WATCHED)
    shown_by = "the neighbour has written its whole file once or more, and the rule in the broker has seen appends"
    needs_rules = True
    cell: ClassVar[Parameters] = {"watch_ms": 10_000.0, "neighbour_mb": 512}


class LimitedPageCache(Fault):
    """The same neighbour, while the first broker may have only ``limit_mb`` (of the cell) of memory beyond what it has.

    What a process has when it comes into a control group stays with the group that it comes from, so that the limit is
    one of the page cache that its store needs from then on, as it would have in a small container.
    """

    proofs = (Proof.HELD, Proof.WATCHED)
    shown_by = "the same, and the broker was in the limited group to the end, by the kernel's list"
    needs_rules = True
    cell: ClassVar[Parameters] = {"watch_ms": 10_000.0, "neighbour_mb": 512, "limit_mb": 64}


@dataclass(frozen=True, kw_only=True)
class ColdReads(Fault):
    """``readers`` (of the cell; it may be 0) take messages out of an old part of the first broker's commit log for ``watch_ms``.

    The old part is ``old_mb`` long, was written before the load began, and is put out of memory before each trial. A reader takes
    ``consecutive`` (of the cell) messages one after another and goes on at another place; with 1 each has a place of its own. It
    asks for ``at_once`` of them, and ``pulls_hz`` times a second at most; 0: again as soon as it has its answer. The broker may
    read the store's device ``disk_reads_hz`` times a second, as a hard disk would let it; 0: as often as it can. With ``limit_mb``
    in the cell it may have only so much memory beyond what it has, as ``LimitedPageCache`` says.

    Before that the same is done under the load and not kept, until the broker's compilers rest: what they have not compiled yet
    takes up to four times as long, and they take the cores. Where they do not within ``rehearsal_s_max`` there is no trial.
    """

    proofs = (Proof.HELD, Proof.WATCHED)
    shown_by = "nearly nothing of the old files was in memory before, and the device has read what readers were given, as it counts"
    needs_rules = True
    cell: ClassVar[Parameters] = {"watch_ms": 10_000.0, "readers": 1, "consecutive": 1000, "limit_mb": 0}
    old_mb: int = 160
    at_once: int = 32
    pulls_hz: int = 0
    disk_reads_hz: int = 0
    rehearsal_s_max: float = 0.0

    def seconds(self, params: Parameters) -> float:
        """With the longest rehearsal."""
        return super().seconds(params) + self.rehearsal_s_max


@dataclass(frozen=True, kw_only=True)
class BrokerCrash(Fault):
    """The first broker is killed at once under load, which then ends, and is started again on its store.

    ``power``: not only its process ends but its machine's power, so that what had only reached the page cache is gone.
    ``after_lone``: the load rests for a second, one message is sent, and the broker is killed once that is acknowledged.
    ``spread_s``: the death comes up to so many seconds later, at moments that the repetitions share out evenly. What a timer
    leaves behind depends on when in its period the death comes, and without this that is always the same moment, since the
    timer began when the broker was started for the trial. ``after_roll``: these seconds begin when the commit log goes on in a
    new file.
    """

    proofs = (Proof.BROKER_GONE,)
    shown_by = "the process's exit was seen; without power its file system has taken no file since"
    kills_broker = True
    stays_s = 10.0
    of_incidents = ("after_lone", "spread_s", "after_roll")
    power: bool = False
    after_lone: bool = False
    spread_s: float = 0.0
    after_roll: bool = False

    def seconds(self, params: Parameters) -> float:
        """The wait for the moment, the rest, and the way back."""
        waits_s = self.spread_s / 2 + (REST_S if self.after_lone else 0.0) + (ROLL_S if self.after_roll else 0.0)
        return CRASH_S + waits_s


FAULTS = tuple(Fault.__subclasses__())
"""Every fault that there is."""
