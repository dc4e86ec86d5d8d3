"""Real name servers and brokers as processes on loopback: the embedded default."""

from __future__ import annotations

import os
import random
import shutil
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.backends.base import ClusterSpec, Node, wait_registered
from harness.backends.logback import write_node_logging
from harness.backends.store import LeasedStore, mount_store
from harness.clients.compile import STALL_SOURCES, compiled_classes
from harness.clients.java import gc_log_option
from harness.clients.remoting import split_address
from harness.errors import NodeStartError, PortTakenError
from harness.leases import LeasedProcess, Leases
from harness.releases import MODULE_FLAGS, TOOLS, Java, ensure_jars, is_5x
from harness.wait import wait_until

HOST = "127.0.0.1"
START_S_MAX = 120.0
CLUSTER_NAME = "mqlab"

PORTS_FIRST, PORTS_LAST = 21000, 31999
"""Below Linux's ephemeral ports, so that no outgoing connection takes one between our look and the broker's bind."""
BROKER_PORTS = (-2, 0, 1)
"""A broker also listens two below (fast port) and one above (HA) its listenPort."""

NAMESRV_JVM = ("-Xms64m", "-Xmx128m", "-XX:+UseSerialGC", "-Xss512k", "-XX:TieredStopAtLevel=1")
BROKER_JVM = ("-Xms256m", "-Xmx512m", "-Xmn128m", "-XX:+UseSerialGC", "-Xss512k", "-XX:MaxDirectMemorySize=512m")

LAB_BROKER_CONF: Mapping[str, str] = {
    "brokerClusterName": CLUSTER_NAME,
    "autoCreateTopicEnable": "false",
    "autoCreateSubscriptionGroup": "true",
    "mappedFileSizeCommitLog": str(64 * 1024 * 1024),
    "mappedFileSizeConsumeQueue": str(30_000 * 20),
    "diskMaxUsedSpaceRatio": "95",
    "fileReservedTime": "72",
}
"""Scaled for a laptop's disk: stock commit-log files are 1 GiB. Listed as overrides in every deployment."""

_PORTS = threading.Lock()
_ports_given: set[int] = set()


def free_port(offsets: Sequence[int] = (0,)) -> int:
    """A port of which every offset is free on all interfaces and was not given out by this process before.

    Raises:
        PortTakenError: none is left.
    """
    with _PORTS:
        for _ in range(2000):
            port = random.randint(PORTS_FIRST, PORTS_LAST)
            wanted = {port + offset for offset in offsets}
            if not wanted & _ports_given and all(_is_free(candidate) for candidate in wanted):
                _ports_given.update(wanted)
                return port
    raise PortTakenError(
        f"no free port between {PORTS_FIRST} and {PORTS_LAST}", advice="End what listens there, then run again."
    )


def take_port(port: int, offsets: Sequence[int] = (0,)) -> int:
    """The very port that a user asked for.

    Raises:
        PortTakenError: it, or one that goes with it, is in use.
    """
    for offset in offsets:
        if not _is_free(port + offset):
            raise PortTakenError(
                f"port {port + offset} is taken", advice="Choose another with --port, or end what listens there."
            )
    return port


def _is_free(port: int) -> bool:
    # A broker of 4.6.0 binds every interface whatever is configured, so every interface must be free.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


class LocalCluster:
    """The processes of one cluster. Start it with ``start_local``."""

    def __init__(self, spec: ClusterSpec, folder: Path, leases: Leases, java: Java, until_s: float) -> None:
        self.spec = spec
        self.folder = folder.absolute()
        self.nodes: Sequence[Node] = ()
        self.overrides: Mapping[str, str] = {}
        self._leases = leases
        self._java = java
        self._until_s = until_s
        self._jars = ensure_jars(spec.release)
        self._processes: dict[str, LeasedProcess] = {}
        self._stores: list[LeasedStore] = []

    def start_name_server(self, name: str, port: int) -> None:
        """Start one name server."""
        home = self._home(name)
        conf = {
            "listenPort": str(port),
            "kvConfigPath": str(home / "store" / "kvConfig.json"),
            "configStorePath": str(home / "store" / "namesrv.properties"),
        }
        if is_5x(self.spec.release):
            conf["bindAddress"] = HOST
        self._write_conf(home, "namesrv.conf", conf)
        options = (*NAMESRV_JVM, *write_node_logging(self.spec.release, home=home, logs=home / "logs", stock=False))
        self._spawn(name, home, "org.apache.rocketmq.namesrv.NamesrvStartup", "namesrv.conf", options, {}, ())
        self.nodes = (*self.nodes, Node(name=name, kind="namesrv", address=f"{HOST}:{port}"))

    def start_broker(self, broker_name: str, broker_id: int, port: int) -> None:
        """Start one master (id 0) or slave."""
        name = broker_name if broker_id == 0 else f"{broker_name}-s{broker_id}"
        home = self._home(name)
        role = "ASYNC_MASTER" if broker_id == 0 else "SLAVE"
        own = {
            "brokerName": broker_name,
            "brokerId": str(broker_id),
            "brokerRole": role,
            "listenPort": str(port),
            "haListenPort": str(port + 1),
            "namesrvAddr": ";".join(node.address for node in self.nodes if node.kind == "namesrv"),
            "brokerIP1": HOST,
            "brokerIP2": HOST,
            "storePathRootDir": str(home / "store"),
            "storePathCommitLog": str(home / "store" / "commitlog"),
        }
        if is_5x(self.spec.release):
            own["bindAddress"] = HOST
        conf = {**LAB_BROKER_CONF, **self.spec.user_conf, **self.spec.settings.conf, **own}
        self._note_overrides(conf)
        self._write_conf(home, "broker.conf", conf)
        settings = self.spec.settings
        store = mount_store(self._leases, home / "store", settings, until_s=self._until_s)
        self._stores += [store] if store else []
        stock = settings.logging == "stock"
        stall_port = free_port() if self.spec.can_stall else 0
        agent, classes = self._stall_agent(stall_port) if stall_port else ((), ())
        options = (
            *BROKER_JVM,
            *agent,
            *write_node_logging(self.spec.release, home=home, logs=home / "logs", stock=stock),
            *(f"-D{key}={value}" for key, value in settings.properties.items()),
            *settings.jvm,
        )
        main = "org.apache.rocketmq.broker.BrokerStartup"
        self._spawn(name, home, main, "broker.conf", options, settings.environment, classes)
        broker = Node(
            name=name,
            kind="broker",
            address=f"{HOST}:{port}",
            role=role,
            broker_name=broker_name,
            broker_id=broker_id,
            stall_port=stall_port,
            store=store.mount if store else None,
        )
        self.nodes = (*self.nodes, broker)

    def _stall_agent(self, port: int) -> tuple[tuple[str, ...], tuple[Path, ...]]:
        tools = ensure_jars(TOOLS)
        byteman = next(path for path in tools if path.name.startswith("byteman"))
        rules = STALL_SOURCES / "append_stall.btm"
        classes = compiled_classes(STALL_SOURCES, tools, self._java)
        return (f"-javaagent:{byteman}=script:{rules}", f"-Dmqlab.stall.port={port}"), (classes,)

    def wait_ready(self) -> None:
        """Wait until the cluster can be used (``wait_registered``).

        Raises:
            NodeStartError: a node ended, with the last lines that it wrote.
        """
        for node in self.nodes:
            wait_until(f"{node.name} listening", lambda node=node: self._listens(node), timeout_s=START_S_MAX)  # type: ignore[misc]
        wait_registered(self)

    def _listens(self, node: Node) -> bool:
        self.check_running()
        with socket.create_connection(split_address(node.address), timeout=1.0):
            return True

    def check_running(self) -> None:
        """Raises NodeStartError, with the last lines that it wrote, when a node ended although nobody asked it to."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise NodeStartError(
                    f"{name} of RocketMQ {self.spec.release} ended with code {process.returncode}",
                    advice=f"Its logs are in {self._home(name)}.",
                    log_lines=_last_words(self._home(name)),
                )

    def pid(self, name: str) -> int:
        """A node's process id."""
        return self._processes[name].pid

    def keep(self) -> None:
        """Let the cluster outlive this process."""
        for process in self._processes.values():
            process.keep()
        for store in self._stores:
            store.lease.keep()

    def down(self) -> None:
        """End every node and remove its store; conf and logs stay.

        SIGKILL, since a broker's own shutdown takes 4 to 12 s and what it would save is removed anyway. Stock logging
        of 5.x writes asynchronously, so there SIGTERM comes first.
        """
        grace_s = 15.0 if self.spec.settings.logging == "stock" else 0.0
        threads = [threading.Thread(target=process.terminate, args=(grace_s,)) for process in self._processes.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._processes.clear()
        while self._stores:
            self._stores.pop().unmount()
        for node in self.nodes:
            shutil.rmtree(self._home(node.name) / "store", ignore_errors=True)

    def _home(self, name: str) -> Path:
        home = self.folder / "nodes" / name
        home.mkdir(parents=True, exist_ok=True)
        return home

    @staticmethod
    def _write_conf(home: Path, name: str, conf: Mapping[str, str]) -> None:
        (home / "store").mkdir(exist_ok=True)
        (home / name).write_text("".join(f"{key}={value}\n" for key, value in conf.items()))

    def _note_overrides(self, conf: Mapping[str, str]) -> None:
        changed = {key: f"{value} -> {conf[key]}" for key, value in self.spec.user_conf.items() if conf[key] != value}
        self.overrides = {**self.overrides, **changed}

    def _spawn(
        self,
        name: str,
        home: Path,
        main: str,
        conf: str,
        options: Sequence[str],
        environment: Mapping[str, str],
        classes: Sequence[Path],
    ) -> None:
        (home / "logs").mkdir(exist_ok=True)
        command = [
            str(self._java.executable),
            *MODULE_FLAGS,
            *options,
            gc_log_option(home / "gc.log"),
            f"-Drocketmq.home.dir={home}",
            f"-Duser.home={home}",
            "-cp",
            os.pathsep.join(map(str, (*classes, *self._jars))),
            main,
            "-c",
            str(home / conf),
        ]
        inherited = {key: value for key, value in os.environ.items() if key not in ("NAMESRV_ADDR", "ROCKETMQ_HOME")}
        with (home / "stdout.log").open("ab") as out:
            self._processes[name] = self._leases.spawn(
                command,
                name=f"{name} of {self.spec.name}",
                until_s=self._until_s,
                env={**inherited, **environment},
                cwd=home,
                stdout=out,
                stderr=out,
            )


def _last_words(home: Path, count: int = 12) -> list[str]:
    logs = sorted(home.glob("logs/**/*.log"), key=lambda file: file.stat().st_mtime)
    lines: list[str] = []
    for file in (*logs[-1:], home / "stdout.log"):
        if file.exists():
            lines += [f"{file.name}: {line}" for line in file.read_text(errors="replace").splitlines()[-count:]]
    return lines[-count:]


def start_local(
    spec: ClusterSpec, folder: Path, leases: Leases, java: Java, *, until_s: float, port: int | None = None
) -> LocalCluster:
    """Start a cluster and wait until it can be used; on failure nothing of it is left.

    ``port`` fixes the first name server's port; all others are free ones.

    Raises:
        NodeStartError: a node did not come up.
        PortTakenError: the port that was asked for is in use.
        WaitTimeout: it came up but could not be used in time.
    """
    cluster = LocalCluster(spec, folder, leases, java, until_s)
    try:
        for index in range(spec.topology.name_servers):
            chosen = take_port(port) if port and index == 0 else free_port()
            cluster.start_name_server(f"namesrv-{index + 1}", chosen)
        for broker in spec.topology.broker_names():
            for broker_id in range(spec.topology.slaves_per_master + 1):
                cluster.start_broker(broker, broker_id, free_port(BROKER_PORTS))
        cluster.wait_ready()
    except BaseException:
        cluster.down()
        raise
    return cluster
