"""Real name servers and brokers as processes on loopback: the embedded default."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.backends.cluster import ClusterSpec, Node, NodeKind, wait_listening, wait_registered
from harness.backends.nodes import Blueprint, Launch, last_words
from harness.clock import mono_ns
from harness.errors import LeaseError, NodeStartError
from harness.host.timers import timer_slack
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.paths import cache_home
from harness.releases.jars import ensure_jars
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS, gc_log_option


class LocalCluster:
    """The processes of one cluster. Start it with ``start_local``."""

    def __init__(self, spec: ClusterSpec, folder: Path, leases: Leases, java: Java, until_s: float) -> None:
        self.spec = spec
        self.folder = folder.absolute()
        self.client_host = leases
        self._leases = leases
        self._java = java
        self._until_s = until_s
        self._jars = ensure_jars(spec.release)
        self._blueprint = Blueprint(spec, folder, leases, java, until_s)
        self._processes: dict[str, LeasedProcess] = {}
        """The nodes that are to run, without those that were killed or stopped on purpose."""
        self._pauses: dict[str, Lease] = {}
        self._further: dict[str, tuple[str, ...]] = {}
        """JVM options that a node was given when it was started again."""

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
        for launch in self._blueprint.launches:
            self._spawn(launch)
        wait_listening(self, self.nodes)
        wait_registered(self)

    def check_running(self) -> None:
        """Raises NodeStartError, with the last lines that it wrote, when a node ended although nobody asked it to."""
        for name, process in list(self._processes.items()):
            if process.poll() is not None:
                launch = self._launch(name)
                raise NodeStartError(
                    f"{name} of RocketMQ {self.spec.release} ended with code {process.returncode}",
                    advice=f"Its logs are in {launch.home}.",
                    log_lines=last_words(launch),
                )

    def pid(self, name: str) -> int | None:
        """A node's process id, None while it is down."""
        process = self._processes.get(name)
        return process.pid if process else None

    def kill_node(self, name: str) -> tuple[int, int]:
        """SIGKILL; monotonic nanoseconds just before the signal and when the process was gone."""
        process = self._processes.pop(name)
        before_ns = mono_ns()
        gone_ns = process.kill()
        self._strike_pause(name)
        return before_ns, gone_ns

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL after ``grace_s``; True when it ended by itself."""
        self.resume_node(name)
        return self._processes.pop(name).terminate(grace_s)

    def restart_node(self, name: str) -> None:
        """Start a node that was killed or stopped again, on its store and ports, and wait until it can be used."""
        self.start_node(name)
        wait_registered(self)

    def start_node(self, name: str, *, options: Sequence[str] = ()) -> None:
        """Start a node that was killed or stopped, with further JVM options from now on, and wait until it listens."""
        self._further[name] = (*self._further.get(name, ()), *options)
        launch = self._launch(name)
        if name not in self._processes:
            self._spawn(launch)
        wait_listening(self, [launch.node])

    def pause_node(self, name: str, *, until_s: float) -> None:
        """SIGSTOP, under a lease that continues it in ``until_s`` seconds at the latest."""
        self._pauses[name] = self._processes[name].pause(self._leases, until_s=until_s)

    def resume_node(self, name: str) -> None:
        """SIGCONT to a node that was paused."""
        pause = self._pauses.pop(name, None)
        if pause is not None and not (healed := pause.heal()).complete:
            raise LeaseError(f"{healed.what}: {healed.action}")

    def _strike_pause(self, name: str) -> None:
        if (pause := self._pauses.pop(name, None)) is not None:
            pause.release()

    def keep(self) -> None:
        """Let the cluster outlive this process."""
        for process in self._processes.values():
            process.keep()
        self._blueprint.keep()

    def down(self) -> None:
        """End every node and remove its store; conf and logs stay.

        SIGKILL, since a broker's own shutdown takes 4 to 12 s and what it would save is removed anyway. Stock logging
        of 5.x writes asynchronously, so there SIGTERM comes first.
        """
        for name in list(self._pauses):
            self.resume_node(name)
        grace_s = 15.0 if self.spec.settings.logging == "stock" else 0.0
        threads = [threading.Thread(target=process.terminate, args=(grace_s,)) for process in self._processes.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._processes.clear()
        self._blueprint.remove_stores()

    def _launch(self, name: str) -> Launch:
        return next(launch for launch in self._blueprint.launches if launch.node.name == name)

    def _archived_classes(self, launch: Launch) -> list[str]:
        # Java refuses an archive of another class path.
        archive = class_archive(self.spec.release, launch.node.kind, self._java)
        return [] if launch.classes or not archive.exists() else [f"-XX:SharedArchiveFile={archive}"]

    def _spawn(self, launch: Launch) -> None:
        command = [
            *memlock_prefix(launch.memlock_kb),
            str(self._java.executable),
            *MODULE_FLAGS,
            *launch.heap,
            *launch.options,
            *self._further.get(launch.node.name, ()),
            *self._archived_classes(launch),
            gc_log_option(launch.gc_log),
            "-cp",
            os.pathsep.join(map(str, (*launch.classes, *self._jars))),
            launch.main,
            "-c",
            str(launch.conf),
        ]
        inherited = {key: value for key, value in os.environ.items() if key not in ("NAMESRV_ADDR", "ROCKETMQ_HOME")}
        with launch.stdout.open("ab") as out, timer_slack(self.spec.settings.timer_slack_ms):
            self._processes[launch.node.name] = self._leases.spawn(
                command,
                name=f"{launch.node.name} of {self.spec.name}",
                until_s=self._until_s,
                env={**inherited, **launch.environment},
                cwd=launch.home,
                stdout=out,
                stderr=out,
            )


def class_archive(release: str, kind: NodeKind, java: Java) -> Path:
    """The file of ``harness.backends.class_archives`` for a release's nodes of a kind, this Java and these jars."""
    what = [str(java.home), java.version, *MODULE_FLAGS, *map(str, ensure_jars(release))]
    name = hashlib.sha256("\n".join(what).encode()).hexdigest()[:16]
    return cache_home() / "class-archives" / f"{release}-{kind}-{name}.jsa"


def memlock_prefix(memlock_kb: int | None) -> list[str]:
    """The prefix of a command that may lock at most so much memory, even as root (programs of util-linux)."""
    if memlock_kb is None:
        return []
    limit = memlock_kb * 1024
    privilege = ["setpriv", "--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock"] if os.geteuid() == 0 else []
    return ["prlimit", f"--memlock={limit}:{limit}", *privilege]


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
        cluster.up(port)
    except BaseException:
        cluster.down()
        raise
    return cluster
