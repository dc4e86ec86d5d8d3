"""Name servers and brokers in containers, which compose brings up from ``compose/nodes.yaml`` as a person's clusters are.

The project that is written here extends it: it gives each node its folder of the run directory under the same path, the
conf and JVM options of the blueprint, and the lease's label. Networking is the host's with loopback addresses, so that
clients, faults and measurements are those of the local backend.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.models.containers import Container

from harness.backends.cluster import ClusterSpec
from harness.backends.docker.client_containers import (
    ClientContainers,
    kill_container,
    pause_container,
    processes_of,
    remove_containers,
)
from harness.backends.docker.engine import ENGINE_ERRORS, Compose, Engine
from harness.backends.docker.image import Image
from harness.backends.launched import LaunchedCluster, each
from harness.backends.nodes import Launch
from harness.errors import DockerError
from harness.leases import proc
from harness.leases.container_kinds import CONTAINER, LEASE_LABEL
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import TOKEN_VARIABLE, ProcessId
from harness.leases.store import LeaseValue
from harness.paths import PACKAGES
from harness.protocol.connection import split_address
from harness.releases.java import Java
from harness.wait import wait_until

COMPOSE_FILES = PACKAGES / "compose"
SERVICE_LABEL = "com.docker.compose.service"

UP_S_MAX = 180.0
GONE_S_MAX = 20.0
NODE_MEMORY = "3g"
"""More memory than a node of the lab ever needs, since a container's limit is not measured here."""


@dataclass(frozen=True, kw_only=True)
class Docker:
    """The engine, the compose that drives it, and the image of each release."""

    engine: Engine
    compose: Compose
    images: Mapping[str, Image]


@dataclass(frozen=True, kw_only=True)
class NodeContainer:
    """A container with a running node. What ``LeasedProcess`` is for a process."""

    engine: Engine
    client: docker.DockerClient
    container: Container
    process: ProcessId
    lease: Lease
    """The cluster's."""

    @property
    def pid(self) -> int:
        """The container's first process, as this host numbers it."""
        return self.process.pid

    def processes(self) -> list[ProcessId]:
        """Those of its control group."""
        return processes_of(self.process)

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return None if self.process.is_alive() else exit_code(self.container)

    def kill(self) -> int:
        """SIGKILL by the engine; the monotonic nanoseconds at which the process was seen gone."""
        return kill_container(self.client, str(self.container.id), self.process)

    def terminate(self, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL when it has not ended after ``grace_s``; True when it ended by itself."""
        if not self.process.is_alive():
            return True
        self.container.kill("SIGTERM")
        if not proc.wait_gone([self.process], timeout_s=grace_s):
            return True
        self.kill()
        return False

    def pause(self, leases: Leases, *, until_s: float) -> Lease:
        """Freeze its control group, under a lease that ends that in ``until_s`` seconds at the latest."""
        name, token = str(self.container.name), self.lease.record.id
        return pause_container(leases, self.engine, self.client, name, token, until_s=until_s)

    def keep(self) -> None:
        """Let the cluster outlive this process."""
        self.lease.keep()


class ComposeCluster(LaunchedCluster):
    """The containers of one cluster. Start it with ``start_compose``."""

    def __init__(
        self,
        spec: ClusterSpec,
        folder: Path,
        leases: Leases,
        java: Java,
        docker: Docker,
        until_s: float,
        client_host: ClientContainers,
    ) -> None:
        super().__init__(spec, folder, leases, java, until_s, client_host)
        self._docker = docker
        self._client = docker.engine.client()
        self._lease: Lease | None = None
        self._containers: dict[str, Container] = {}

    def _start(self, launches: Sequence[Launch]) -> None:
        for launch in launches:
            if launch.node.release != self.spec.release:
                raise DockerError(f"{launch.node.name} stays of {self.spec.release}: its container has that image")
            _options_file(launch).write_text("".join(f"{option}\n" for option in launch.jvm))
        if self._lease is None:
            facts: dict[str, LeaseValue] = {
                "name": self.spec.name,
                "socket": str(self._docker.engine.socket),
                "settled": False,
            }
            self._lease = self._leases.hold(CONTAINER, facts, until_s=self._until_s)
            self._compose_up(launches, self._lease.record.id)
            self._lease.update({"settled": True})
        else:
            for launch in launches:
                container = self._containers[launch.node.name]
                wait_until(f"{launch.node.name} to be down", lambda: _is_down(container), timeout_s=GONE_S_MAX)  # noqa: B023
                try:
                    container.start()
                except ENGINE_ERRORS as error:
                    raise DockerError(f"{launch.node.name} could not be started again: {error}") from error
        for launch in launches:
            self._note_running(launch.node.name, self._lease)

    def _compose_up(self, launches: Sequence[Launch], lease_id: str) -> None:
        project = self.folder / "compose.json"
        project.parent.mkdir(parents=True, exist_ok=True)
        tag = self._docker.images[self.spec.release].tag
        project.write_text(json.dumps({"services": _services(launches, tag, lease_id, self._leases.files)}, indent=1))
        compose = self._docker.compose
        command = [
            *compose.command,
            *("--project-name", f"mqlab-{lease_id[:12]}", "--file", str(project)),
            *("up", "--detach", "--no-color", "--no-build"),
            *(("--pull", "never") if compose.is_plugin else ()),
        ]
        environment = {**os.environ, "DOCKER_HOST": self._docker.engine.host}
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
                f"{' '.join(compose.command)} up ended with {code}: {_tail(said)}",
                advice=f"The whole of it is in {said}; what was started is removed.",
            )
        found = self._client.containers.list(all=True, filters={"label": f"{LEASE_LABEL}={lease_id}"})
        self._containers = {container.labels[SERVICE_LABEL]: container for container in found}

    def _note_running(self, name: str, lease: Lease) -> None:
        container = self._containers[name]
        container.reload()
        pid = int(container.attrs["State"]["Pid"])
        process = proc.identify(pid) if pid else None
        if process is None:
            raise self._ended(name, exit_code(container))
        self._running[name] = NodeContainer(
            engine=self._docker.engine, client=self._client, container=container, process=process, lease=lease
        )

    def _end(self) -> None:
        try:
            each(self._blueprint.launches, self._save_output)
        finally:
            if self._lease is not None:
                remove_containers(self._lease)
            self._containers.clear()
            self._client.close()

    def _save_output(self, launch: Launch) -> None:
        if (container := self._containers.get(launch.node.name)) is None:
            return
        try:
            launch.stdout.write_bytes(container.logs())
        except ENGINE_ERRORS as error:
            launch.stdout.write_text(f"what {launch.node.name} printed could not be had: {error}\n")


def exit_code(container: Container) -> int:
    """The code that its process ended with, as the engine has it by now."""
    container.reload()
    return int(container.attrs["State"].get("ExitCode", -1))


def _is_down(container: Container) -> bool:
    container.reload()
    return container.status == "exited"


def _tail(path: Path, count: int = 5) -> str:
    return " / ".join(path.read_text(errors="replace").splitlines()[-count:]) or "it said nothing"


def _options_file(launch: Launch) -> Path:
    """Read whenever the container starts, since its command cannot be changed any more."""
    return launch.home / "jvm.options"


# --- the compose project ----------------------------------------------------------------------------------------------


def _services(launches: Sequence[Launch], tag: str, lease_id: str, leases: Path) -> Mapping[str, object]:
    name_servers = ";".join(launch.node.address for launch in launches if launch.node.kind == "namesrv")
    return {launch.node.name: _service(launch, tag, name_servers, lease_id, leases) for launch in launches}


def _service(launch: Launch, tag: str, name_servers: str, lease_id: str, leases: Path) -> Mapping[str, object]:
    environment = {
        **launch.environment,
        TOKEN_VARIABLE: lease_id,
        "NODE_CONF": str(launch.conf),
        "JVM_OPTIONS": str(_options_file(launch)),
        "GC_LOG": str(launch.gc_log),
        "JVM_HEAP": " ".join(launch.heap),
        "CLASSES": os.pathsep.join(map(str, launch.classes)),
        # For compose/node/mqadmin.sh.
        "CONF_listenPort": str(split_address(launch.node.address)[1]),
        "CONF_namesrvAddr": name_servers,
    }
    return {
        "extends": {"file": _literal(str(COMPOSE_FILES / "nodes.yaml")), "service": launch.node.kind},
        "image": tag,
        # The file asks this process's environment for one.
        "network_mode": "host",
        # What the node writes into the run directory is the caller's.
        "user": f"{os.getuid()}:{os.getgid()}",
        "labels": {LEASE_LABEL: lease_id},
        "environment": {key: _literal(value) for key, value in environment.items()},
        "volumes": [
            _bind(launch.home, read_only=False),
            *(_bind(path, read_only=True) for path in (*launch.reads, leases)),
        ],
        "mem_limit": NODE_MEMORY,
        # A share of the cores would stop a node for up to 100 ms at a time, which trials would measure.
        "cpus": 0,
        **_locked_memory(launch.memlock_kb),
        # Each check starts a process in the container, which trials that measure milliseconds would see. The old
        # docker-compose cannot switch off checks that it extends, so that they come once a day.
        "healthcheck": {"interval": "24h", "start_period": "0s"},
    }


def _locked_memory(memlock_kb: int | None) -> Mapping[str, object]:
    """Root of a container may lock as little as its limit says, unlike this host's."""
    if memlock_kb is None:
        return {"cap_add": ["IPC_LOCK"]}
    return {"ulimits": {"memlock": {"soft": memlock_kb * 1024, "hard": memlock_kb * 1024}}}


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
    """Start a cluster of containers and wait until it can be used; see ``LaunchedCluster.up``.

    Clients of its trials run in containers of their own and write below ``run_folder``.
    """
    clients = ClientContainers(leases, docker.engine, docker.images[spec.release], java, run_folder or folder)
    cluster = ComposeCluster(spec, folder, leases, java, docker, until_s, clients)
    cluster.up(port)
    return cluster
