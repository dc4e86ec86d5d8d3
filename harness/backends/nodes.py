"""What each node of a cluster is started with, whichever backend starts it: its folder, conf, options and store.

A node's folder is ``FOLDER/nodes/NAME`` with ``broker.conf`` or ``namesrv.conf``, ``conf/`` (logging), ``store/``,
``logs/``, ``gc.log`` and ``stdout.log``. Containers see it under the same path, so that all of this holds for them, too.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends.cluster import ClusterSpec, Node
from harness.backends.proxy_node import PROXY_JVM, PROXY_MAIN, PROXY_PORTS, proxy_conf, proxy_jars
from harness.backends.store_mount import LeasedStore, mount_store
from harness.backends.topics_ahead import write_topics_ahead
from harness.errors import UsageError
from harness.host.ports import BROKER_PORTS, free_port, take_port
from harness.leases.leases import Leases
from harness.model.cluster import Topology, UserSettings
from harness.protocol.connection import split_address
from harness.protocol.registration import Registrant
from harness.releases.border import admitted
from harness.releases.compile import RULE_SOURCES, compiled_classes
from harness.releases.guard import TEMPORARY, guard_jar, guard_options, write_guard
from harness.releases.jars import TOOLS, ensure_jars, recorded_releases
from harness.releases.java import Java
from harness.releases.node_logging import write_node_logging
from harness.releases.rules import own_rules
from harness.releases.settings import Feature, has, settings_of

HOST = "127.0.0.1"
CLUSTER_NAME = "mqlab"
CONTROLLERS = "mqlab-controllers"
CONTROLLER_PORTS = (0, 1)
"""A name server's own, and that of the controller in it, by which its group talks and brokers ask."""
BIND: Mapping[str, str] = {"bindAddress": HOST}
"""5.x listens there alone; 4.x has no such setting and ignores it."""

NAMESRV_MAIN = "org.apache.rocketmq.namesrv.NamesrvStartup"
BROKER_MAIN = "org.apache.rocketmq.broker.BrokerStartup"
NO_TLS = "-Dtls.server.mode=disabled"
"""By default each node makes a key and a certificate when it starts, which takes 4.9.7 and 5.x two seconds; nobody
here uses them."""
NAMESRV_JVM = (NO_TLS, "-Xms64m", "-Xmx128m", "-XX:+UseSerialGC", "-Xss512k", "-XX:TieredStopAtLevel=1")
BROKER_JVM = (
    NO_TLS,
    "-Xms256m",
    "-Xmx512m",
    "-Xmn128m",
    "-XX:+UseSerialGC",
    "-Xss512k",
    "-XX:MaxDirectMemorySize=512m",
)

LAB_BROKER_CONF: Mapping[str, str] = {
    "brokerClusterName": CLUSTER_NAME,
    "autoCreateTopicEnable": "false",
    "autoCreateSubscriptionGroup": "true",
    "mappedFileSizeCommitLog": str(64 * 1024 * 1024),
    "mappedFileSizeConsumeQueue": str(30_000 * 20),
    "diskMaxUsedSpaceRatio": "95",
    "fileReservedTime": "72",
}
"""Scaled for a laptop's disk: stock commit-log files are 1 GiB. The user's own settings win over it."""

OWN_SETTINGS = (
    "brokerName",
    "brokerId",
    "brokerRole",
    "listenPort",
    "haListenPort",
    "namesrvAddr",
    "brokerIP1",
    "brokerIP2",
    "storePathRootDir",
    "storePathCommitLog",
    "brokerClusterName",
    *BIND,
)
"""Of each broker, whatever the user sets: names, ports, addresses and paths.

What else of the user's does not get in: ``harness/releases/border.py``."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How one node is started. The backend adds its Java and the place of the release's jars."""

    node: Node
    home: Path
    settings: Mapping[str, str]
    """What its conf says, whatever its release."""
    heap: tuple[str, ...]
    options: tuple[str, ...]
    """Further options of its JVM. Those of the module system and of the GC log are added to them."""
    text: str = ""
    """What its conf says where that is no list of settings."""
    logging: tuple[str, ...] = ()
    """The options of its logging, which are those of its release."""
    stock_logging: bool = False
    classes: tuple[Path, ...] = ()
    """Class folders and jars that come before the release's jars."""
    reads: tuple[Path, ...] = ()
    """Paths outside its folder that it reads, besides Java and the release."""
    environment: Mapping[str, str] = field(default_factory=dict)
    memlock_kb: int | None = None
    """``memlock_kb`` of ``BrokerSettings``."""

    @property
    def conf(self) -> Path:
        """The file of its settings."""
        return (
            self.home / {"namesrv": "namesrv.conf", "broker": "broker.conf", "proxy": "rmq-proxy.json"}[self.node.kind]
        )

    @property
    def jvm(self) -> tuple[str, ...]:
        """All options of its JVM beside the heap's."""
        return (*self.logging, *self.options)

    def of_release(self, release: str) -> Launch:
        """The same node of that release: writes its conf and logging for it. Ports, settings and store stay."""
        # What a broker was told while it ran it has written into its own conf; it starts with what it is to have.
        self.conf.write_text(self.text or "".join(f"{key}={value}\n" for key, value in self.settings.items()))
        logging = write_node_logging(release, home=self.home, logs=self.home / "logs", stock=self.stock_logging)
        return dataclasses.replace(self, node=dataclasses.replace(self.node, release=release), logging=logging)

    @property
    def main(self) -> str:
        """Its main class."""
        return {"namesrv": NAMESRV_MAIN, "broker": BROKER_MAIN, "proxy": PROXY_MAIN}[self.node.kind]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its command behind the main class."""
        return ("-pc" if self.node.kind == "proxy" else "-c", str(self.conf))

    @property
    def jars(self) -> tuple[Path, ...]:
        """Its release's."""
        return proxy_jars(self.node.release) if self.node.kind == "proxy" else ensure_jars(self.node.release)

    @property
    def gc_log(self) -> Path:
        """The log of collections and safepoints."""
        return self.home / "gc.log"

    @property
    def stdout(self) -> Path:
        """The file that holds its standard output."""
        return self.home / "stdout.log"


class Blueprint:
    """The launches of a cluster's nodes, name servers first. ``draw`` writes their files and mounts their stores."""

    def __init__(self, spec: ClusterSpec, folder: Path, leases: Leases, java: Java, until_s: float) -> None:
        self.spec = spec
        self.launches: tuple[Launch, ...] = ()
        self.overrides: Mapping[str, str] = {}
        self._folder = folder.absolute()
        self._leases = leases
        self._java = java
        self._guard = guard_jar(java)
        self._until_s = until_s
        self._stores: list[LeasedStore] = []
        self._controllers: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes, name servers first."""
        return tuple(launch.node for launch in self.launches)

    def launch(self, name: str, options: Sequence[str] = (), release: str = "") -> Launch:
        """How the node of that name is started: from now on with these further JVM options as well, and of that release."""
        found = next(launch for launch in self.launches if launch.node.name == name)
        changed = dataclasses.replace(found, options=(*found.options, *options))
        changed = changed.of_release(release) if release else changed
        self.launches = tuple(changed if launch is found else launch for launch in self.launches)
        return changed

    def launch_once(self, name: str, options: Sequence[str], conf: Mapping[str, str]) -> Launch:
        """The same for one start alone, whose file has these settings as well. Those that are each node's own stay."""
        own = self.launch(name)
        settings = {**own.settings, **{key: value for key, value in conf.items() if key not in OWN_SETTINGS}}
        return dataclasses.replace(own, settings=settings, options=(*own.options, *options)).of_release(
            own.node.release
        )

    def draw(self, port: int | None = None) -> None:
        """Prepare every node of the topology; ``port`` is the first name server's, all others are free ones.

        Raises:
            PortTakenError: the port that was asked for is in use.
            LeaseError: a store could not be mounted.
            UsageError: the release has no such topology.
        """
        topology, release = self.spec.topology, self.spec.release
        require_topology(topology, release)
        offsets = CONTROLLER_PORTS if topology.elects == "controller" else (0,)
        servers = [
            take_port(port, offsets) if port and index == 0 else free_port(offsets)
            for index in range(topology.name_servers)
        ]
        self._controllers = group_of(servers) if topology.elects == "controller" else ()
        for index, chosen in enumerate(servers):
            self.launches += (self._name_server(f"namesrv-{index + 1}", chosen, index).of_release(release),)
        ports = {name: free_port(BROKER_PORTS) for name, _, _ in topology.broker_nodes()}
        for name, broker, number in topology.broker_nodes():
            group = group_of([ports[node] for node, of, _ in topology.broker_nodes() if of == broker])
            launch = self._broker(name, broker, number, ports[name], group)
            self.launches += (launch.of_release(release),)
        for number in range(topology.proxies):
            self.launches += (self._proxy(f"proxy-{number + 1}", free_port(PROXY_PORTS)).of_release(release),)
        for launch in self.launches:
            write_guard(launch.home, peers_of(self.nodes), self._leases.files)

    def _name_server(self, name: str, port: int, number: int) -> Launch:
        home = self._home(name)
        controller = {
            "enableControllerInNamesrv": "true",
            "controllerDLegerGroup": CONTROLLERS,
            "controllerDLegerPeers": ";".join(self._controllers),
            "controllerDLegerSelfId": f"n{number}",
            "controllerStorePath": str(home / "store" / "controller"),
        }
        conf = {
            "listenPort": str(port),
            "kvConfigPath": str(home / "store" / "kvConfig.json"),
            "configStorePath": str(home / "store" / "namesrv.properties"),
            **(controller if self._controllers else {}),
            **BIND,
        }
        return Launch(
            node=Node(
                name=name,
                kind="namesrv",
                address=f"{HOST}:{port}",
                controller_port=port + 1 if self._controllers else 0,
                access=self.spec.access,
            ),
            home=home,
            settings=conf,
            heap=NAMESRV_JVM,
            options=(*self.spec.settings.name_server_jvm, *self._own(home)),
            reads=(self._guard,),
        )

    def _role(self, broker_name: str, number: int, group: Sequence[str]) -> tuple[str, int, dict[str, str]]:
        """The brokerRole and brokerId that a broker starts with, and what says who elects its master."""
        elects = self.spec.topology.elects
        if elects == "dledger":
            # BrokerStartup gives members the id -1 until one is elected, and takes no slave without an id.
            group_conf = {
                "enableDLegerCommitLog": "true",
                "dLegerGroup": broker_name,
                "dLegerPeers": ";".join(group),
                "dLegerSelfId": f"n{number}",
            }
            return "ASYNC_MASTER", 0, group_conf
        if elects == "controller":
            addresses = ";".join(peer.partition("-")[2] for peer in self._controllers)
            return "SLAVE", -1, {"enableControllerMode": "true", "controllerAddr": addresses}
        role = self.spec.settings.conf.get("brokerRole", "ASYNC_MASTER") if number == 0 else "SLAVE"
        return role, number, {}

    def _broker(self, name: str, broker_name: str, number: int, port: int, group: Sequence[str]) -> Launch:
        home = self._home(name)
        role, broker_id, elected = self._role(broker_name, number, group)
        own = {
            "brokerName": broker_name,
            "brokerClusterName": CLUSTER_NAME,
            "brokerId": str(broker_id),
            "brokerRole": role,
            "listenPort": str(port),
            "haListenPort": str(port + 1),
            "namesrvAddr": ";".join(node.address for node in self.nodes if node.kind == "namesrv"),
            "brokerIP1": HOST,
            "brokerIP2": HOST,
            "storePathRootDir": str(home / "store"),
            "storePathCommitLog": str(home / "store" / "commitlog"),
            **elected,
            **BIND,
        }
        settings = self.spec.settings
        user = admitted(self.spec.user, home)
        conf = {**_as_spelled(LAB_BROKER_CONF, self.spec.release), **user.settings.broker, **settings.conf, **own}
        properties = {**user.settings.broker_jvm, **settings.properties}
        self._note_overrides(UserSettings(broker=conf, broker_jvm=properties), user.changes)
        store = mount_store(self._leases, home / "store", settings, until_s=self._until_s)
        self._stores += [store] if store else []
        if settings.topics_ahead and broker_name == self.spec.topology.broker_names()[0]:
            write_topics_ahead(home / "store", settings.topics_ahead, _registrant(conf, port, self.spec.release))
        stall = self._stall_agent(home) if self.spec.can_stall else _StallAgent()
        return Launch(
            node=Node(
                name=name,
                kind="broker",
                address=f"{HOST}:{port}",
                role="" if elected else role,
                broker_name=broker_name,
                broker_id=-1 if elected else broker_id,
                stall_port=stall.port,
                store=store.mount if store else None,
                access=self.spec.access,
            ),
            home=home,
            settings=conf,
            stock_logging=settings.logging == "stock",
            heap=BROKER_JVM,
            options=(
                *stall.options,
                *(f"-D{key}={value}" for key, value in properties.items()),
                *settings.jvm,
                *self._own(home),
            ),
            classes=stall.classes,
            reads=(*stall.reads, self._guard),
            environment=settings.environment,
            memlock_kb=settings.memlock_kb,
        )

    def _proxy(self, name: str, port: int) -> Launch:
        """A proxy in cluster mode, which finds the brokers by the name servers."""
        home = self._home(name)
        servers = ";".join(node.address for node in self.nodes if node.kind == "namesrv")
        return Launch(
            node=Node(name=name, kind="proxy", address=f"{HOST}:{port}", access=self.spec.access),
            home=home,
            settings={},
            text=proxy_conf(CLUSTER_NAME, HOST, servers, grpc_port=port + 1, remoting_port=port),
            heap=PROXY_JVM,
            options=self._own(home),
            reads=(self._guard,),
            # 5.0.0 asks for its home here alone.
            environment={"RMQ_PROXY_HOME": str(home)},
        )

    def _stall_agent(self, home: Path) -> _StallAgent:
        if not self.spec.own_rules:
            return _StallAgent.at(free_port(), self._java)
        own = home / "own.btm"
        own.write_text(own_rules(self.spec.own_rules, self.spec.release), encoding="utf-8")
        return _StallAgent.at(free_port(), self._java, [own])

    def _own(self, home: Path) -> tuple[str, ...]:
        """JVM options that win over all others."""
        return (f"-Drocketmq.home.dir={home}", f"-Duser.home={home}", *guard_options(home, self._guard))

    def _home(self, name: str) -> Path:
        home = self._folder / "nodes" / name
        for folder in (home / "store", home / "logs"):
            folder.mkdir(parents=True, exist_ok=True)
        return home

    def _note_overrides(self, settings: UserSettings, left_out: Mapping[str, str]) -> None:
        """By ``--set``'s key, of the settings of one broker."""
        used, user = settings.by_prefix(), dataclasses.replace(self.spec.user, client={}).by_prefix()
        changed = {key: f"{value} -> {used[key]}" if key in used else left_out[key] for key, value in user.items()
                   if used.get(key) != value}  # fmt: skip
        self.overrides = {**self.overrides, **changed}

    def keep(self) -> None:
        """Let the stores outlive this process."""
        for store in self._stores:
            store.lease.keep()

    def remove_stores(self) -> None:
        """Unmount and remove what the nodes stored, and their temporary files, once they have ended; conf and logs stay."""
        while self._stores:
            self._stores.pop().unmount()
        for launch in self.launches:
            for name in ("store", TEMPORARY):
                shutil.rmtree(launch.home / name, ignore_errors=True)


def _as_spelled(conf: Mapping[str, str], release: str) -> dict[str, str]:
    """Settings by the names that the release has for them: before 4.5 the files were ``maped``."""
    known = settings_of(release).broker
    return {key if key in known else key.replace("mapped", "maped"): value for key, value in conf.items()}


def _registrant(conf: Mapping[str, str], port: int, release: str) -> Registrant:
    return Registrant(
        broker_name=conf["brokerName"],
        broker_id=int(conf["brokerId"]),
        cluster=conf["brokerClusterName"],
        address=f"{HOST}:{port}",
        ha_address=f"{HOST}:{conf['haListenPort']}",
        has_attributes=has(release, Feature.ATTRIBUTES),
    )


@dataclass(frozen=True, kw_only=True)
class _StallAgent:
    """JVM options with which a broker's appends can be stalled."""

    port: int = 0
    options: tuple[str, ...] = ()
    classes: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()

    @classmethod
    def at(cls, port: int, java: Java, own: Sequence[Path] = ()) -> _StallAgent:
        tools = ensure_jars(TOOLS)
        byteman = next(path for path in tools if path.name.startswith("byteman"))
        rules = [*sorted(RULE_SOURCES.rglob("*.btm")), *own]
        scripts = ",".join(f"script:{path}" for path in rules)
        classes = compiled_classes(RULE_SOURCES, tools, java)
        return cls(
            port=port,
            options=(f"-javaagent:{byteman}={scripts}", f"-Dmqlab.stall.port={port}"),
            classes=(classes,),
            reads=(byteman, *rules, classes),
        )


def require_topology(topology: Topology, release: str) -> None:
    """Raises UsageError: brokers of the release cannot have their master elected like that."""
    if topology.proxies and not has(release, Feature.POP):
        raise UsageError(
            f"RocketMQ {release} has no topology {topology.name}: a proxy asks brokers for PopMessageProcessor, which it lacks",
            advice="Give --release 5.1.4 or a newer one, or another --topology.",
        )
    key = {"dledger": "enableDLegerCommitLog", "controller": "enableControllerMode"}.get(topology.elects)
    if key and key not in settings_of(release).broker:
        having = [one for one in recorded_releases() if key in settings_of(one).broker]
        raise UsageError(
            f"RocketMQ {release} has no topology {topology.name}: its brokers know no {key}",
            advice=f"Give --release with one of {', '.join(having)}, or another --topology.",
        )


def group_of(ports: Sequence[int]) -> tuple[str, ...]:
    """The members of a DLedger group, of brokers or of controllers, as its settings have them: each one port above these."""
    return tuple(f"n{number}-{HOST}:{port + 1}" for number, port in enumerate(ports))


def peers_of(nodes: Iterable[Node]) -> set[str]:
    """``ADDRESS:PORT`` of what nodes of a cluster connect to: a broker's own, the next for its slaves or its DLedger group, and
    two less; of a name server the next for its controller."""
    places = (split_address(node.address) for node in nodes)
    return {f"{host}:{port + more}" for host, port in places for more in (0, 1, -2)}


def last_words(launch: Launch, count: int = 12) -> list[str]:
    """The first exception of what a node wrote last, and the last lines that it wrote to the log it used last, and printed.

    What ends a node stands before the lines of its shutdown. Of a log that an earlier start wrote, too, the end alone is read.
    """
    logs = sorted(launch.home.glob("logs/**/*.log"), key=lambda file: file.stat().st_mtime, reverse=True)
    read = {file: _end_of(file) for file in (launch.stdout, *logs) if file.exists()}
    lines = [f"{file.name}: {line}" for file in (*logs[:1], launch.stdout) for line in read.get(file, [])[-count:]]
    last = lines[-count:]
    for file, written in read.items():
        if thrown := [f"{file.name}: {line}" for line in first_exception(written)]:
            return last if thrown[0] in last else [*thrown, "...", *last]
    return last


def _end_of(file: Path) -> list[str]:
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - END_BYTES))
        return opened.read(END_BYTES).decode(errors="replace").splitlines()


END_BYTES = 64 * 1024
CAUSES_MAX = 3
FRAMES_MAX = 2
_THROWN = re.compile(r"(?:^|[\s:])(?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Exception|Error)\b")
_FRAME = re.compile(r"\s+(?:at |\.\.\. \d+)")


def first_exception(lines: Sequence[str]) -> list[str]:
    """The first exception with a stack: the line that tells of it, its message, where it was thrown, and what caused it."""
    for at, line in enumerate(lines):
        if not _THROWN.search(line) or not any(_FRAME.match(after) for after in lines[at + 1 : at + 3]):
            continue
        before = lines[at - 1 : at] if at and _THROWN.match(line) and not _FRAME.match(lines[at - 1]) else []
        stack = list(itertools.takewhile(_is_of_stack, lines[at + 1 :]))
        frames = list(itertools.takewhile(_FRAME.match, stack))[:FRAMES_MAX]
        return [*before, line, *frames, *[one for one in stack if one.startswith("Caused by:")][-CAUSES_MAX:]]
    return []


def _is_of_stack(line: str) -> bool:
    return bool(_FRAME.match(line)) or line.lstrip().startswith(("Caused by:", "Suppressed:"))
