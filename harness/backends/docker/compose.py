"""Name servers and brokers in containers, by the compose files that a person uses as well.

The topology's file in ``compose/`` is brought up with a second one that is written here: it gives each node its folder
of the run directory under the same path, the conf and JVM options of the blueprint, and the lease's label. Networking is
the host's with loopback addresses, so that clients, faults and measurements are those of the local backend.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from docker.errors import DockerException
from docker.models.containers import Container

from harness.backends.cluster import ClusterSpec, Node, wait_listening, wait_registered
from harness.backends.docker.client_containers import (
    ClientContainers,
    kill_container,
    pause_container,
    remove_containers,
)
from harness.backends.docker.engine import Compose, Engine
from harness.backends.docker.image import Image
from harness.backends.nodes import Blueprint, Launch, last_words
from harness.clock import mono_ns
from harness.errors import ClientError, DockerError, LeaseError, NodeStartError
from harness.leases import proc
from harness.leases.client_process import ClientHost
from harness.leases.container_kinds import CONTAINER, LEASE_LABEL
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import ProcessId
from harness.leases.store import LeaseValue
from harness.paths import PACKAGES
from harness.protocol.connection import split_address
from harness.releases.java import Java
from harness.wait import wait_until

COMPOSE_FILES = PACKAGES / "compose"
SERVICE_LABEL = "com.docker.compose.service"

UP_S_MAX = 180.0
GONE_S_MAX = 20.0
STOCK_GRACE_S = 15
NODE_MEMORY = "3g"
"""More memory than a node of the lab ever needs, since a container's limit is not measured here."""


@dataclass(frozen=True, kw_only=True)
class Docker:
    """The engine, the compose that drives it, and the image of each release."""

    engine: Engine
    compose: Compose
    images: Mapping[str, Image]


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A container with a running node."""

    container: Container
    process: ProcessId


class ComposeCluster:
    """The containers of one cluster. Start it with ``start_compose``."""

    def __init__(
        self,
        spec: ClusterSpec,
        folder: Path,
        leases: Leases,
        java: Java,
        docker: Docker,
        until_s: float,
        client_host: ClientHost,
    ) -> None:
        self.spec = spec
        self.folder = folder.absolute()
        self.client_host = client_host
        self._leases = leases
        self._docker = docker
        self._until_s = until_s
        self._client = docker.engine.client()
        self._blueprint = Blueprint(spec, folder, leases, java, until_s)
        self._lease: Lease | None = None
        self._containers: dict[str, Container] = {}
        self._running: dict[str, _Running] = {}
        """The nodes that are to run, without those that were killed or stopped on purpose."""
        self._pauses: dict[str, Lease] = {}

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes, name servers first."""
        return self._blueprint.nodes

    @property
    def overrides(self) -> Mapping[str, str]:
        """What of the user's own settings the lab had to change."""
        return self._blueprint.overrides

    def up(self, port: int | None = None) -> None:
        """Start every node and wait until the cluster can be used."""
        self._blueprint.draw(port)
        facts: dict[str, LeaseValue] = {
            "name": self.spec.name,
            "socket": str(self._docker.engine.socket),
            "settled": False,
        }
        self._lease = self._leases.hold(CONTAINER, facts, until_s=self._until_s)
        self._compose_up(self._lease.record.id)
        self._lease.update({"settled": True})
        self._find_containers(self._lease.record.id)
        wait_listening(self, self.nodes)
        wait_registered(self)

    def _compose_up(self, lease_id: str) -> None:
        override = self.folder / "compose.override.json"
        override.parent.mkdir(parents=True, exist_ok=True)
        override.write_text(json.dumps(_override(self._blueprint.launches, lease_id), indent=1))
        image = self._docker.images[self.spec.release]
        repository, _, tag = image.tag.rpartition(":")
        command = [
            *self._docker.compose.command,
            *("--project-name", f"mqlab-{lease_id[:12]}"),
            *("--file", str(COMPOSE_FILES / f"{self.spec.topology.name}.yaml"), "--file", str(override)),
            *("up", "--detach", "--no-color"),
            *(("--pull", "never", "--no-build") if self._docker.compose.is_plugin else ("--no-build",)),
        ]
        environment = {
            **os.environ,
            "DOCKER_HOST": self._docker.engine.host,
            "IMAGE": repository,
            "RELEASE": tag,
            **{_port_variable(node): str(split_address(node.address)[1]) for node in self.nodes},
            "NAMESRV_MEMORY": NODE_MEMORY,
            "BROKER_MEMORY": NODE_MEMORY,
            # A share of the cores would stop a node for up to 100 ms at a time, which trials would measure.
            "NAMESRV_CPUS": "0",
            "BROKER_CPUS": "0",
            # Each check starts a process in the container, which trials that measure milliseconds would see. The old
            # docker-compose cannot switch checks off in a second file, so that they come once a day.
            "HEALTH_INTERVAL": "24h",
            "HEALTH_START": "0s",
        }
        said = self.folder / "compose.log"
        with said.open("ab") as log:
            process = self._leases.spawn(
                command, name=f"compose of {self.spec.name}", until_s=UP_S_MAX, env=environment, stdout=log, stderr=log
            )
            try:
                code = process.wait(UP_S_MAX)
            except subprocess.TimeoutExpired:
                code = -1
            finally:
                process.release()
        if code != 0:
            raise DockerError(
                f"{' '.join(self._docker.compose.command)} up ended with {code}: {_tail(said)}",
                advice=f"The whole of it is in {said}; what was started is removed.",
            )

    def _find_containers(self, lease_id: str) -> None:
        found = self._client.containers.list(all=True, filters={"label": f"{LEASE_LABEL}={lease_id}"})
        self._containers = {container.labels[SERVICE_LABEL]: container for container in found}
        for launch in self._blueprint.launches:
            self._note_running(launch.node.name)

    def _note_running(self, name: str) -> None:
        container = self._containers[name]
        container.reload()
        pid = int(container.attrs["State"]["Pid"])
        process = proc.identify(pid) if pid else None
        if process is None:
            raise self._ended(name)
        self._running[name] = _Running(container=container, process=process)

    def _ended(self, name: str) -> NodeStartError:
        launch = self._launch(name)
        container = self._containers[name]
        container.reload()
        self._save_output(name)
        return NodeStartError(
            f"{name} of RocketMQ {self.spec.release} ended with code {container.attrs['State'].get('ExitCode')}",
            advice=f"Its logs are in {launch.home}.",
            log_lines=last_words(launch),
        )

    def check_running(self) -> None:
        """Raises NodeStartError, with the last lines that it wrote, when a node ended although nobody asked it to."""
        for name, running in list(self._running.items()):
            if not running.process.is_alive():
                raise self._ended(name)

    def pid(self, name: str) -> int | None:
        """A node's process id on this host, None while it is down."""
        running = self._running.get(name)
        return running.process.pid if running else None

    def kill_node(self, name: str) -> tuple[int, int]:
        """SIGKILL by the engine; monotonic nanoseconds just before it was asked for and when the process was gone."""
        running = self._running.pop(name)
        before_ns = mono_ns()
        gone_ns = kill_container(self._client, str(running.container.id), running.process)
        if (pause := self._pauses.pop(name, None)) is not None:
            pause.release()
        return before_ns, gone_ns

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL after ``grace_s``; True when it ended by itself."""
        self.resume_node(name)
        running = self._running.pop(name)
        if not running.process.is_alive():
            return True
        running.container.kill("SIGTERM")
        if not proc.wait_gone([running.process], timeout_s=grace_s):
            return True
        kill_container(self._client, str(running.container.id), running.process)
        return False

    def restart_node(self, name: str) -> None:
        """Start a node that was killed or stopped again, on its store and ports, and wait until it can be used."""
        self.start_node(name)
        wait_registered(self)

    def start_node(self, name: str, *, options: Sequence[str] = ()) -> None:
        """Start a node that was killed or stopped, and wait until it listens.

        Raises:
            ClientError: with options, since a container's command cannot be changed any more.
        """
        if options:
            raise ClientError(f"{name} is a container and cannot get other JVM options", advice="Use --backend local.")
        if name not in self._running:
            container = self._containers[name]
            wait_until(f"{name} to be down", lambda: _is_down(container), timeout_s=GONE_S_MAX)
            container.start()
            self._note_running(name)
        wait_listening(self, [self._launch(name).node])

    def pause_node(self, name: str, *, until_s: float) -> None:
        """Freeze the container's control group, under a lease that ends that in ``until_s`` seconds at the latest."""
        assert self._lease is not None
        name_there = str(self._running[name].container.name)
        self._pauses[name] = pause_container(
            self._leases, self._docker.engine, self._client, name_there, self._lease.record.id, until_s=until_s
        )

    def resume_node(self, name: str) -> None:
        """Resume a paused node."""
        pause = self._pauses.pop(name, None)
        if pause is not None and not (healed := pause.heal()).complete:
            raise LeaseError(f"{healed.what}: {healed.action}")

    def keep(self) -> None:
        """Let the cluster outlive this process."""
        if self._lease is not None:
            self._lease.keep()
        self._blueprint.keep()

    def down(self) -> None:
        """Remove every container and what the nodes stored; conf and logs stay.

        At once, since a broker's own shutdown takes seconds and what it would save is removed anyway. Stock logging of
        5.x writes asynchronously, so there SIGTERM comes first.
        """
        try:
            for name in list(self._pauses):
                self.resume_node(name)
            if self.spec.settings.logging == "stock":
                self._each(self._running, lambda name: self.stop_node(name, grace_s=STOCK_GRACE_S))
            self._each(self._containers, self._save_output)
        finally:
            self._running.clear()
            if self._lease is not None:
                remove_containers(self._lease)
            self._containers.clear()
            self._client.close()
            self._blueprint.remove_stores()

    def _save_output(self, name: str) -> None:
        try:
            self._launch(name).stdout.write_bytes(self._containers[name].logs())
        except DockerException as error:
            self._launch(name).stdout.write_text(f"what {name} printed could not be had: {error}\n")

    @staticmethod
    def _each(names: Iterable[str], act: Callable[[str], object]) -> None:
        todo = list(names)
        if todo:
            with ThreadPoolExecutor(len(todo)) as pool:
                list(pool.map(act, todo))

    def _launch(self, name: str) -> Launch:
        return next(launch for launch in self._blueprint.launches if launch.node.name == name)


def _is_down(container: Container) -> bool:
    container.reload()
    return container.status == "exited"


def _tail(path: Path, count: int = 5) -> str:
    return " / ".join(path.read_text(errors="replace").splitlines()[-count:]) or "it said nothing"


def _port_variable(node: Node) -> str:
    return f"{node.name.upper().replace('-', '_')}_PORT"


# --- the second compose file ------------------------------------------------------------------------------------------


def _override(launches: Sequence[Launch], lease_id: str) -> Mapping[str, object]:
    labels = {LEASE_LABEL: lease_id}
    return {
        "services": {launch.node.name: _service(launch, labels) for launch in launches},
        "volumes": {launch.node.name: {"labels": labels} for launch in launches if launch.node.kind == "broker"},
    }


def _service(launch: Launch, labels: Mapping[str, str]) -> Mapping[str, object]:
    environment = {
        **launch.environment,
        "NODE_CONF": str(launch.conf),
        "GC_LOG": str(launch.gc_log),
        "JVM_HEAP": " ".join(launch.heap),
        "CLASSES": os.pathsep.join(map(str, launch.classes)),
    }
    return {
        **_limits(launch.memlock_kb),
        # What the node writes into the run directory is the caller's.
        "user": f"{os.getuid()}:{os.getgid()}",
        "labels": labels,
        "command": [_literal(option) for option in launch.options],
        "environment": {key: _literal(value) for key, value in environment.items()},
        "volumes": [_bind(launch.home, read_only=False), *(_bind(path, read_only=True) for path in launch.reads)],
    }


def _limits(memlock_kb: int | None) -> Mapping[str, object]:
    """By default a container may not lock more memory than its limit."""
    if memlock_kb is None:
        return {}
    limit = memlock_kb * 1024
    return {"ulimits": {"memlock": {"soft": limit, "hard": limit}}}


def _bind(path: Path, *, read_only: bool) -> Mapping[str, object]:
    return {"type": "bind", "source": _literal(str(path)), "target": _literal(str(path)), "read_only": read_only}


def _literal(text: str) -> str:
    """Compose replaces ``$NAME`` in what it reads."""
    return text.replace("$", "$$")


def start_compose(
    spec: ClusterSpec,
    folder: Path,
    leases: Leases,
    java: Java,
    docker: Docker,
    *,
    until_s: float,
    port: int | None = None,
    run_folder: Path | None = None,
) -> ComposeCluster:
    """Start a cluster of containers and wait until it can be used; on failure nothing of it is left.

    ``port`` fixes the first name server's port; all others are free ones. Clients of its trials run in containers of
    their own and write below ``run_folder``.

    Raises:
        DockerError: compose failed.
        NodeStartError: a node did not come up.
        PortTakenError: the port that was asked for is in use.
        WaitTimeout: it came up but could not be used in time.
    """
    clients = ClientContainers(leases, docker.engine, docker.images[spec.release], java, run_folder or folder)
    cluster = ComposeCluster(spec, folder, leases, java, docker, until_s, clients)
    try:
        cluster.up(port)
    except BaseException:
        cluster.down()
        raise
    return cluster
