"""The nodes of a blueprint once they run: what is the same for processes of this host and for containers."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from harness.backends.cluster import ClusterSpec, Node, wait_listening, wait_registered
from harness.backends.nodes import Blueprint, Launch, last_words
from harness.clock import mono_ns
from harness.errors import NodeStartError
from harness.leases.client_process import ClientHost
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import ProcessId
from harness.limits import met_limit
from harness.releases.java import Java

STOCK_GRACE_S = 15.0


class NodeProcess(Protocol):
    """A node that runs. ``harness.leases.process.LeasedProcess`` is one; a container's is in ``docker.compose``."""

    @property
    def pid(self) -> int:
        """Its process id on this host."""

    def processes(self) -> Sequence[ProcessId]:
        """Those that a pause makes stand still."""

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""

    def kill(self) -> int:
        """SIGKILL; the monotonic nanoseconds at which it was seen gone."""

    def terminate(self, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL when it has not ended after ``grace_s``; True when it ended by itself."""

    def pause(self, leases: Leases, *, until_s: float) -> Lease:
        """Let every thread stand still, under a lease that is healed to let them go on."""

    def keep(self) -> None:
        """Let it outlive this program."""


class LaunchedCluster(abc.ABC):
    """A cluster by its blueprint. A backend says how nodes are started and ended; see ``harness.backends.cluster``."""

    def __init__(
        self, spec: ClusterSpec, folder: Path, leases: Leases, java: Java, until_s: float, client_host: ClientHost
    ) -> None:
        self.spec = spec
        self.folder = folder.absolute()
        self.client_host = client_host
        self._leases = leases
        self._java = java
        self._until_s = until_s
        self._blueprint = Blueprint(spec, folder, leases, java, until_s)
        self._running: dict[str, NodeProcess] = {}
        """The nodes that are to run, without those that were killed or stopped on purpose."""
        self._pauses: dict[str, Lease] = {}

    @abc.abstractmethod
    def _start(self, launches: Sequence[Launch]) -> None:
        """Start these nodes and note them as running."""

    @abc.abstractmethod
    def _end(self) -> None:
        """End what runs still, at once, and whatever a node leaves besides its store."""

    @abc.abstractmethod
    def _save_output(self, launch: Launch) -> None:
        """Write what the node printed to its file, where it is not there already."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes, name servers first."""
        return self._blueprint.nodes

    @property
    def overrides(self) -> dict[str, str]:
        """What of the user's own settings the lab had to change."""
        return dict(self._blueprint.overrides)

    def up(self, port: int | None = None) -> None:
        """Start every node and wait until the cluster can be used; on failure nothing of it is left.

        ``port`` fixes the first name server's port; all others are free ones.

        Raises:
            DockerError: compose failed.
            NodeStartError: a node did not come up.
            PortTakenError: the port that was asked for is in use.
            WaitTimeout: it came up but could not be used in time.
        """
        try:
            self._blueprint.draw(port)
            self._start(self._blueprint.launches)
            wait_listening(self, self.nodes)
            wait_registered(self)
        except BaseException:
            self.down()
            raise

    def check_running(self) -> None:
        """Raises NodeStartError, with the last lines that it wrote, when a node ended although nobody asked it to."""
        for name, process in list(self._running.items()):
            if (code := process.poll()) is not None:
                raise self._ended(name, code)

    def _ended(self, name: str, code: int) -> NodeStartError:
        launch = self._blueprint.launch(name)
        self._save_output(launch)
        lines = last_words(launch)
        return NodeStartError(
            f"{name} of RocketMQ {launch.node.release} ended with code {code}",
            advice=" ".join(filter(None, [met_limit("\n".join(lines)), f"Its logs are in {launch.home}."])),
            log_lines=lines,
        )

    def pid(self, name: str) -> int | None:
        """A node's process id on this host, None while it is down."""
        process = self._running.get(name)
        return process.pid if process else None

    def kill_node(self, name: str) -> tuple[int, int]:
        """SIGKILL; monotonic nanoseconds just before it was asked for and when the process was gone."""
        process = self._running.pop(name)
        before_ns = mono_ns()
        gone_ns = process.kill()
        if (pause := self._pauses.pop(name, None)) is not None:
            pause.release()
        return before_ns, gone_ns

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL after ``grace_s``; True when it ended by itself."""
        self.resume_node(name)
        return self._running.pop(name).terminate(grace_s)

    def restart_node(self, name: str, *, release: str = "") -> None:
        """Start a node that was killed or stopped again, on its store and ports, and wait until it can be used."""
        self.start_node(name, release=release)
        wait_registered(self)

    def start_node(
        self, name: str, *, options: Sequence[str] = (), release: str = "", conf: Mapping[str, str] | None = None
    ) -> None:
        """Start a node that was killed or stopped, and wait until it listens; see ``Cluster``."""
        if conf is None:
            launch = self._blueprint.launch(name, options, release)
        else:
            launch = self._blueprint.launch_once(name, options, conf)
        if name not in self._running:
            self._start([launch])
        wait_listening(self, [launch.node])

    def pause_node(self, name: str, *, until_s: float) -> Sequence[ProcessId]:
        """Pause every thread of a node, under a lease that ends that in ``until_s`` seconds at the latest; its processes."""
        process = self._running[name]
        self._pauses[name] = process.pause(self._leases, until_s=until_s)
        return process.processes()

    def resume_node(self, name: str) -> None:
        """Resume a paused node."""
        if (pause := self._pauses.pop(name, None)) is not None:
            pause.end()

    def keep(self) -> None:
        """Let the cluster outlive this process."""
        for process in self._running.values():
            process.keep()
        self._blueprint.keep()

    def down(self) -> None:
        """End every node and remove its store; conf and logs stay.

        At once, since a broker's own shutdown takes 4 to 12 s and what it would save is removed anyway. Stock logging
        of 5.x writes asynchronously, so there SIGTERM comes first.
        """
        try:
            for name in list(self._pauses):
                self.resume_node(name)
            if self.spec.settings.logging == "stock":
                each(list(self._running), lambda name: self.stop_node(name, grace_s=STOCK_GRACE_S))
        finally:
            self._end()
            self._running.clear()
            self._blueprint.remove_stores()


T = TypeVar("T")


def each(todo: Iterable[T], act: Callable[[T], Any]) -> None:
    """Do it to all of them at once."""
    if todo := list(todo):
        with ThreadPoolExecutor(len(todo)) as pool:
            list(pool.map(act, todo))
