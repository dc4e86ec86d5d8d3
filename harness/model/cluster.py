"""The cluster that a scenario asks for: nodes, and what its brokers are started with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from harness.model.rocketmq import FRAME_BYTES_MAX

Elects = Literal["", "dledger", "controller"]


@dataclass(frozen=True, kw_only=True)
class Topology:
    """How many nodes of each kind. Brokers are named ``broker-a``, ``broker-b``, ... as RocketMQ's examples do.

    ``elects`` says who makes one of a name's brokers its master: their own DLedger group, or controllers in the name servers. Where
    it is empty they stay what they were started as.
    """

    name: str
    name_servers: int = 1
    masters: int = 1
    slaves_per_master: int = 0
    elects: Elects = ""
    proxies: int = 0
    """In cluster mode: clients speak to them in place of the brokers."""

    def broker_names(self) -> tuple[str, ...]:
        """``broker-a``, ``broker-b``, ..."""
        return tuple(f"broker-{chr(ord('a') + index)}" for index in range(self.masters))

    def broker_nodes(self) -> tuple[tuple[str, str, int], ...]:
        """Each broker: its node's name, its own, and its number among those of its name.

        ``broker-a`` and ``broker-a-s1`` are a master and its slave; of ``broker-a-n0`` and ``broker-a-n1`` one is elected.
        """
        numbers = range(self.slaves_per_master + 1)
        return tuple(
            (f"{name}-n{number}" if self.elects else f"{name}-s{number}" if number else name, name, number)
            for name in self.broker_names()
            for number in numbers
        )

    @property
    def brokers(self) -> int:
        """Masters and slaves."""
        return self.masters * (1 + self.slaves_per_master)

    @property
    def nodes(self) -> int:
        """Brokers, name servers and proxies."""
        return self.name_servers + self.brokers + self.proxies


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
class TopicsByNumber(TopicsAhead):
    """As many of them as ``topics``, whatever they are of a frame."""

    topics: int
    frame_bytes: int = FRAME_BYTES_MAX
    share: float = 0.0


@dataclass(frozen=True, kw_only=True)
class UserSettings:
    """The user's own settings: ``--broker-conf`` and ``--set``. The scenario's and the load's win over them.

    ``broker`` goes into broker.conf, ``broker_jvm`` becomes ``-D`` options of the brokers' JVMs. Of ``client`` a key with a
    dot is a system property of the clients' JVMs, any other one a bean property of their producers and consumers.
    """

    broker: Mapping[str, str] = field(default_factory=dict)
    broker_jvm: Mapping[str, str] = field(default_factory=dict)
    client: Mapping[str, str] = field(default_factory=dict)

    def by_prefix(self) -> dict[str, str]:
        """All of them, each key with the prefix that ``--set`` gives it."""
        parts = {"broker": self.broker, "broker-jvm": self.broker_jvm, "client": self.client}
        return {f"{part}.{key}": value for part, settings in parts.items() for key, value in settings.items()}


@dataclass(frozen=True, kw_only=True)
class BrokerSettings:
    """What a broker is started with beyond the lab's own settings.

    ``conf`` goes into broker.conf, ``properties`` become ``-D`` options of its JVM, ``environment`` its environment
    variables. ``logging`` is ``lab`` (milliseconds, UTC, bounded files) or ``stock`` (what the release ships).
    ``jvm`` are further options of its JVM, which win over the lab's. ``store`` says where its store lies: in a folder, or
    on a file system of its own (``store_mb`` mebibytes in an image file, by a loop device), which faults of the kernel
    need and which only root can mount. ``store_image`` is where the image lies: beside the store on the host's disk, or
    in memory, where the store does not wait for a disk that others use. ``store_reserve_percent`` of ext4's blocks are root's
    alone, as ``tune2fs -m`` sets it, whose own default is 5.
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    logging: Literal["lab", "stock"] = "lab"
    jvm: tuple[str, ...] = ()
    store: Store = "folder"
    store_mb: int = 1024
    store_image: StoreImage = "beside"
    store_reserve_percent: int = 0
    store_read_ahead_kb: int = 0
    """How many KiB are read ahead of a reader of its store's own device, 128 by most kernels' default; 0: as this one has it."""
    memlock_kb: int | None = None
    """How many KiB the process may lock in memory (RLIMIT_MEMLOCK), root's privilege to lock more taken from it."""
    name_server_jvm: tuple[str, ...] = ()
    """Further options of the name servers' JVMs."""
    topics_ahead: TopicsAhead | None = None
    timer_slack_ms: float = 0.0
    """How late timers of all nodes may fire; 0: as Linux does by itself. Local processes alone, containers have no such setting."""
