"""Real name servers and brokers as processes on loopback: the embedded default."""

import os
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

import psutil

from harness.backends.class_archives import KINDS, archived_classes
from harness.backends.cluster import ClusterSpec
from harness.backends.launched import LaunchedCluster, each
from harness.backends.nodes import Launch
from harness.errors import ReleaseError
from harness.host.timers import timer_slack
from harness.leases.leases import Leases
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS, gc_log_option


class LocalCluster(LaunchedCluster):
    """The processes of one cluster. Start it with ``start_local``."""

    def _start(self, launches: Sequence[Launch]) -> None:
        for launch in launches:
            self._spawn(launch)

    def _spawn(self, launch: Launch) -> None:
        has_archive = not launch.classes and launch.node.kind in KINDS
        command = [
            *memlock_prefix(launch.memlock_kb),
            str(self._java.executable),
            *MODULE_FLAGS,
            *launch.heap,
            *launch.jvm,
            # Java refuses an archive of another class path.
            *(archived_classes(launch.node.release, launch.node.kind, self._java) if has_archive else ()),
            gc_log_option(launch.gc_log),
            "-cp",
            os.pathsep.join(map(str, (*launch.classes, *launch.jars))),
            launch.main,
            *launch.words,
        ]
        with launch.stdout.open("ab") as out, timer_slack(self.spec.settings.timer_slack_ms):
            self._running[launch.node.name] = self._leases.spawn(
                command,
                name=f"{launch.node.name} of {self.spec.name}",
                until_s=self._until_s,
                env={**os.environ, **launch.environment},
                cwd=launch.home,
                stdout=out,
                stderr=out,
            )

    def up(self, port: int | None = None) -> None:
        """As ``LaunchedCluster.up``; nodes of a release that no test has held to the border have to be seen to keep it.

        Raises as well ReleaseError: one listens elsewhere than on loopback.
        """
        super().up(port)
        try:
            for node in self.nodes:
                self._require_border(node.name)
        except BaseException:
            self.down()
            raise

    def start_node(
        self, name: str, *, options: Sequence[str] = (), release: str = "", conf: Mapping[str, str] | None = None
    ) -> None:
        """As ``LaunchedCluster.start_node``, and raises ReleaseError as ``up`` does; the node has ended then."""
        super().start_node(name, options=options, release=release, conf=conf)
        try:
            self._require_border(name)
        except ReleaseError:
            self.kill_node(name)
            raise

    def _require_border(self, name: str) -> None:
        require_border(self.pid(name), self._blueprint.launch(name).node.release, name)

    def _save_output(self, launch: Launch) -> None:
        """It goes there by itself."""

    def _end(self) -> None:
        each(self._running.values(), lambda process: process.terminate(0.0))


def require_border(pid: int | None, release: str, name: str) -> None:
    """Raises ReleaseError: a node of a release that no test has held to the border does not keep it. ``pid`` is None of none."""
    if release in recorded_releases() or pid is None:
        return
    if outside := listens_outside(pid):
        raise ReleaseError(
            f"RocketMQ {release} is not run: its {name} listens on {', '.join(outside)}, which the lab's border did not keep",
            advice=f"Take one of {', '.join(recorded_releases())}, which were seen to keep it.",
        )


def listens_outside(pid: int) -> list[str]:
    """Where a process takes connections or datagrams that is no address of loopback, ADDRESS:PORT each."""
    return [
        f"{one.laddr.ip}:{one.laddr.port}"
        for one in psutil.Process(pid).net_connections("inet")
        if one.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
        and not ip_address(one.laddr.ip.removeprefix("::ffff:")).is_loopback
    ]


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
    """Start a cluster and wait until it can be used; see ``LaunchedCluster.up``."""
    cluster = LocalCluster(spec, folder, leases, java, until_s, client_host=leases)
    cluster.up(port)
    return cluster
