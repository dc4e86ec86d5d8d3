"""What every backend offers: a cluster that is up, by the names of its nodes."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from harness.backends.store_mount import StoreMount
from harness.errors import ClientError
from harness.leases.client_process import ClientHost
from harness.leases.proc import ProcessId
from harness.model.cluster import BrokerSettings, Topology, UserSettings
from harness.model.faults import JavaRule
from harness.model.rocketmq import CHECKS_GROUP, HALF_TOPIC
from harness.protocol.access import OPEN, Access
from harness.protocol.broker import Broker
from harness.protocol.connection import split_address
from harness.protocol.name_server import NameServer, Route
from harness.protocol.targets import check_allowed
from harness.rundir.events import EventLog, Moment
from harness.wait import NotYet, patience, wait_until

LISTEN_S_MAX = 120.0
READY_S_MAX = 180.0
RECORD_S_MAX = 60.0
"""Limit for an answer that a trial is judged by or cannot go on without. 5 s were too short for brokers that share the
cores with many others."""
NUDGE_AFTER_S = 0.3
PROBED_TOPIC = "BenchmarkTest"
"""A topic that every broker makes when it starts (org.apache.rocketmq.broker.topic.TopicConfigManager), and that takes sends."""


NodeKind = Literal["broker", "namesrv", "proxy"]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A name server, broker or proxy. ``role`` is RocketMQ's brokerRole, empty for all but brokers whose role nobody elects.

    The ``broker_id`` of such a broker is -1, whoever is master; ``masters`` says who is.
    ``release`` is the one that it runs, which need not be that of other nodes; empty where nobody here knows it.
    """

    name: str
    kind: NodeKind
    address: str
    role: str = ""
    broker_name: str = ""
    broker_id: int = 0
    stall_port: int = 0
    """Port at which the append stall is armed; 0 if the broker was started without the rule."""
    controller_port: int = 0
    """Port of the controller in a name server; 0 without one."""
    release: str = ""
    store: StoreMount | None = None
    """The file system that holds only its store; None if the store is a plain folder."""
    access: Access = OPEN


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """The cluster that is to be started."""

    name: str
    release: str
    """Of every node when it comes up."""
    topology: Topology
    settings: BrokerSettings = field(default_factory=BrokerSettings)
    user: UserSettings = field(default_factory=UserSettings)
    """The user's own; the scenario's settings win over them, the lab's over both."""
    can_stall: bool = False
    """Whether the brokers carry the Byteman rules of the append stall."""
    own_rules: tuple[JavaRule, ...] = ()
    """What incidents' own files have brokers' methods do, beside those rules."""
    access: Access = OPEN
    """How its nodes let somebody in, where its settings are such that they ask."""


class Cluster(Protocol):
    """A cluster that is up."""

    spec: ClusterSpec
    folder: Path

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes, name servers first."""

    @property
    def overrides(self) -> Mapping[str, str]:
        """What of the user's own settings the lab had to change, as ``old -> new`` by key."""

    @property
    def client_host(self) -> ClientHost:
        """Where the clients of its trials run."""

    def pid(self, name: str) -> int | None:
        """A node's process id on this host, None while it is down."""

    def check_running(self) -> None:
        """Raises NodeStartError, with the last lines that it wrote, when a node ended although nobody asked it to."""

    def kill_node(self, name: str) -> tuple[int, int]:
        """SIGKILL; monotonic nanoseconds just before it was asked for and when the process was gone."""

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL after ``grace_s``; True when it ended by itself."""

    def restart_node(self, name: str, *, release: str = "") -> None:
        """Start a node that was killed or stopped again, on its store and ports, and wait until it can be used.

        With ``release`` it is of that one from now on, with the same settings.
        """

    def start_node(
        self, name: str, *, options: Sequence[str] = (), release: str = "", conf: Mapping[str, str] | None = None
    ) -> None:
        """Start it again with further JVM options or another release, which it keeps, and wait only until it listens.

        With ``conf``, which may be empty, its file has its own settings and those, and both ``options`` and ``conf`` are of this
        start alone.
        """

    def pause_node(self, name: str, *, until_s: float) -> Sequence[ProcessId]:
        """Pause every thread of a node until it is resumed or ``until_s`` seconds are over; the processes that this is about."""

    def resume_node(self, name: str) -> None:
        """Resume a paused node."""

    def keep(self) -> None:
        """Let the cluster outlive this process."""

    def down(self) -> None:
        """End every node and remove its store; logs stay."""


def namesrv_addresses(cluster: Cluster) -> str:
    """The name servers as a client wants them: ``HOST:PORT;HOST:PORT``."""
    return ";".join(node.address for node in cluster.nodes if node.kind == "namesrv")


def is_elected(node: Node) -> bool:
    """Whether it is a broker whose role others decide while it runs."""
    return node.broker_id < 0


def masters(cluster: Cluster) -> list[Node]:
    """The brokers that take sends, by name; where they are elected those that a name server lists as masters now.

    Raises ClientError: no name server that runs tells it.
    """
    brokers = [node for node in cluster.nodes if node.kind == "broker"]
    if not any(map(is_elected, brokers)):
        return [node for node in brokers if node.broker_id == 0]
    failure: ClientError | None = None
    for namesrv in (node for node in cluster.nodes if node.kind == "namesrv" and cluster.pid(node.name) is not None):
        try:
            listed = listed_brokers(namesrv)
        except ClientError as error:
            failure = error
            continue
        leading = {by_id.get(0) for by_id in listed.values()}
        return [node for node in brokers if node.address in leading]
    raise failure or ClientError("no name server runs, so that nobody tells who is master")


def listed_brokers(namesrv: Node) -> dict[str, dict[int, str]]:
    """Address by broker name and id of every broker that a name server lists, each of them checked. Raises ClientError."""
    with ask_name_server(namesrv) as connection:
        listed = connection.cluster_brokers()
    check_allowed(address for addresses in listed.values() for address in addresses.values())
    return listed


def grpc_addresses(cluster: Cluster) -> list[str]:
    """Where clients that speak gRPC find the cluster's proxies, one port above those of RocketMQ's own protocol."""
    places = (split_address(node.address) for node in cluster.nodes if node.kind == "proxy")
    return [f"{host}:{port + 1}" for host, port in places]


def ask(broker: Node, *, timeout_s: float = 5.0) -> Broker:
    """A connection to a broker."""
    return Broker(broker.address, timeout_s=timeout_s, access=broker.access)


def ask_name_server(namesrv: Node, *, timeout_s: float = 5.0) -> NameServer:
    """A connection to a name server."""
    return NameServer(namesrv.address, timeout_s=timeout_s, access=namesrv.access)


def wait_listening(cluster: Cluster, nodes: Sequence[Node]) -> None:
    """Wait until the nodes accept connections.

    Raises:
        NodeStartError: a node ended, with the last lines that it wrote.
    """
    for node in nodes:
        wait_until(f"{node.name} listening", lambda node=node: _listens(cluster, node), timeout_s=LISTEN_S_MAX)  # type: ignore[misc]


def _listens(cluster: Cluster, node: Node) -> bool:
    cluster.check_running()
    with socket.create_connection(split_address(node.address), timeout=1.0):
        return True


def wait_registered(cluster: Cluster, *, under_load: bool = False) -> None:
    """Wait until every name server lists every broker, and every slave has what its master has.

    Nodes that are down on purpose are left out. Under load a slave has what its master had a moment before. Where masters are
    elected every name server lists one, and it has stored a message.

    5.x registers at start with the name servers that its client has found *reachable* so far (NettyRemotingClient,
    ``availableNamesrvAddrMap``), which a scan of its own fills at about the same moment; when the scan is later, that
    registration reaches nobody and the next one comes ten seconds after (BrokerController.start). Writing the
    broker's own permission back makes it register at once, in all three releases.

    Raises:
        TargetNotAllowedError: a name server lists a broker that is not on loopback; nothing is sent to it.
    """
    check_allowed(node.address for node in cluster.nodes)
    running = [node for node in cluster.nodes if cluster.pid(node.name) is not None]
    brokers = [node for node in running if node.kind == "broker"]
    for namesrv in (node for node in running if node.kind == "namesrv"):
        for broker in brokers:
            wait_until(
                f"{broker.name} in the list of {namesrv.name}",
                lambda namesrv=namesrv, broker=broker: _is_registered(cluster, namesrv, broker),  # type: ignore[misc]
                timeout_s=READY_S_MAX,
                poll_s=NUDGE_AFTER_S,
            )
    if any(map(is_elected, brokers)):
        _wait_elected(cluster, [node for node in running if node.kind == "namesrv"], brokers)
        return
    by_id = {(node.broker_name, node.broker_id): node for node in brokers}
    for slave in (node for node in brokers if node.broker_id != 0):
        if (master := by_id.get((slave.broker_name, 0))) is not None:
            wait_until(
                f"{slave.name} in sync with {master.name}",
                lambda master=master, slave=slave: _is_in_sync(master, slave, under_load),  # type: ignore[misc]
                timeout_s=READY_S_MAX,
            )


def _wait_elected(cluster: Cluster, servers: Sequence[Node], brokers: Sequence[Node]) -> None:
    """Until all name servers list the same masters, each has stored a message, and the others have what their master has."""
    names = sorted({node.broker_name for node in brokers})

    def leaders() -> dict[str, Node]:
        cluster.check_running()
        found: dict[str, str] = {}
        for namesrv in servers:
            with patience():
                listed = listed_brokers(namesrv)
            told = {name: listed.get(name, {}).get(0, "") for name in names}
            if not all(told.values()) or (found and told != found):
                raise NotYet(f"{namesrv.name} lists {listed or 'no broker'}")
            found = told
        leading = {node.broker_name: node for node in brokers if node.address == found.get(node.broker_name)}
        if leading.keys() != set(names):
            raise NotYet(f"masters are {found}, which are not among those that run")
        for name, node in leading.items():
            with patience(), ask(node) as connection:
                stored = connection.send(PROBED_TOPIC, 0, name.encode())
                if (end := connection.max_offset(PROBED_TOPIC, 0)) <= stored.offset:
                    raise NotYet(f"{node.name} acknowledged offset {stored.offset} and ends at {end}")
        return leading

    # A group that is electing lists a master that takes nothing any more; it is asked again as a whole.
    leading = wait_until(
        "an elected master that stores a message", leaders, timeout_s=READY_S_MAX, poll_s=NUDGE_AFTER_S
    )
    for node in brokers:
        master = leading[node.broker_name]
        if node is not master:
            wait_until(
                f"{node.name} in sync with {master.name}",
                lambda master=master, node=node: _is_in_sync(master, node, under_load=True),  # type: ignore[misc]
                timeout_s=READY_S_MAX,
            )


def _is_registered(cluster: Cluster, namesrv: Node, broker: Node) -> bool:
    cluster.check_running()
    with patience():
        listed = listed_brokers(namesrv)
    by_id = listed.get(broker.broker_name, {})
    if broker.broker_id in by_id or (is_elected(broker) and broker.address in by_id.values()):
        return True
    with patience(), ask(broker) as connection:
        connection.update_broker_config({"brokerPermission": connection.broker_config()["brokerPermission"]})
    raise NotYet(f"{namesrv.name} lists {listed or 'no broker'}")


def _is_in_sync(master: Node, slave: Node, under_load: bool) -> bool:
    with patience(), ask(master) as one, ask(slave) as other:
        ahead, behind = (int(broker.runtime_info()["commitLogMaxOffset"]) for broker in (one, other))
    if ahead > behind or (ahead < behind and not under_load):
        raise NotYet(f"{master.name} is at {ahead}, {slave.name} at {behind}")
    return True


def create_topic(
    cluster: Cluster, topic: str, *, read_queues: int, write_queues: int, on: Sequence[Node] = (), order: bool = False
) -> None:
    """Create a topic on every master, or on those named, and wait until every name server's route lists them all.

    A topic that exists gets these numbers of queues.
    """
    brokers = on or masters(cluster)
    for master in brokers:
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            connection.create_topic(topic, read_queues=read_queues, write_queues=write_queues, order=order)
    wanted = {master.broker_name: (write_queues, read_queues) for master in brokers}
    for namesrv in (node for node in cluster.nodes if node.kind == "namesrv"):
        wait_until(
            f"the route of {topic} on {namesrv.name}",
            lambda namesrv=namesrv: _route_lists(namesrv, topic, wanted),  # type: ignore[misc]
            timeout_s=READY_S_MAX,
        )
    wait_followed(cluster, topic)


def wait_followed(cluster: Cluster, topic: str) -> None:
    """Wait until every broker that may be elected has the topic, too: one that becomes master without it refuses every send.

    They copy it every 10 s (org.apache.rocketmq.broker.slave.SlaveSynchronize).
    """
    for node in cluster.nodes:
        if is_elected(node) and cluster.pid(node.name) is not None:
            wait_until(
                f"{topic} on {node.name}",
                lambda node=node: _has_topic(cluster, node, topic),  # type: ignore[misc]
                timeout_s=READY_S_MAX,
                poll_s=NUDGE_AFTER_S,
            )


def _has_topic(cluster: Cluster, node: Node, topic: str) -> bool:
    cluster.check_running()
    with patience(), ask(node) as connection:
        return any(one.name == topic for one in connection.topic_table().topics)


def _route_lists(namesrv: Node, topic: str, wanted: Mapping[str, tuple[int, int]]) -> bool:
    with patience(), ask_name_server(namesrv) as connection:
        route = connection.route(topic) or Route()
    check_allowed(address for addresses in route.addresses.values() for address in addresses.values())
    listed = {broker: (writes, route.read_queues[broker]) for broker, writes in route.write_queues.items()}
    if listed != dict(wanted):
        raise NotYet(f"it lists {listed}")
    return True


def change_live(node: Node, settings: Mapping[str, str]) -> None:
    """Change settings of a running broker and read them back.

    Raises:
        ClientError: the broker did not take a value.
    """
    if not settings:
        return
    with ask(node) as connection:
        connection.update_broker_config(settings)
        now = connection.broker_config()
    for key, value in settings.items():
        if now.get(key) != value:
            raise ClientError(f"{node.name} has {key}={now.get(key)} after it was set to {value}")


def record_queue_ends(
    cluster: Cluster,
    events: EventLog,
    topic: str,
    queues: int,
    groups: Sequence[str] = (),
    *,
    on: Sequence[Node] = (),
    moment: Moment = "end",
) -> None:
    """Record each queue's offsets, and each group's committed offset in it, as the brokers themselves have them."""
    for master in on or masters(cluster):
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for queue in range(queues):
                first, end = connection.min_offset(topic, queue), connection.max_offset(topic, queue)
                for group in groups or (None,):
                    events.record(
                        "store_max",
                        topic=topic,
                        broker=master.broker_name,
                        queue=queue,
                        min_offset=first,
                        max_offset=end,
                        group=group,
                        consumer_offset=connection.consumer_offset(group, topic, queue) if group else None,
                        moment=moment,
                    )


def has_committed(cluster: Cluster, topic: str, queues: int, group: str) -> bool:
    """Whether the group has committed an offset beyond 0 of each of these queues, by the brokers' own counts."""
    for master in masters(cluster):
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            if not all(connection.consumer_offset(group, topic, queue) for queue in range(queues)):
                return False
    return True


def checked_up_to(broker: Node) -> int:
    """How far the broker's last check of transactions came in its queue of half messages; 0 before the first one."""
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        return connection.consumer_offset(CHECKS_GROUP, HALF_TOPIC, 0) or 0


def unconsumed(
    cluster: Cluster, topic: str, queues: int, groups: Sequence[str], *, on: Sequence[Node] = (), first: int = 0
) -> int:
    """Messages that the groups have not committed yet, by the brokers' own counts; -1 when one is too busy.

    They are counted in the topic's queues from ``first`` to below ``queues`` of each broker.
    """
    left = 0
    try:
        for master in on or masters(cluster):
            with ask(master, timeout_s=RECORD_S_MAX) as connection:
                for queue in range(first, queues):
                    end = connection.max_offset(topic, queue)
                    left += sum(end - (connection.consumer_offset(group, topic, queue) or 0) for group in groups)
    except ClientError:
        return -1
    return left
