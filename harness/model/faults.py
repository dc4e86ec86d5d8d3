"""What faults are asked to be; ``harness/faults`` makes them happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
