"""Client processes each in a container of its own, so that killing a consumer is killing its container.

The container has the image's root, this host's own Python, Java and packages read-only under their own paths, the run
directory to write to, and the host's network. Commands and answers go through the pipes of ``docker run``.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import docker

from harness.backends.docker.engine import ENGINE_ERRORS, Engine, docker_command
from harness.backends.docker.image import Image
from harness.errors import LeaseError
from harness.host.cgroups import frozen_with
from harness.leases import kernel, proc
from harness.leases.container_kinds import CONTAINER, LEASE_LABEL, PAUSE
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import TOKEN_VARIABLE, ProcessId
from harness.leases.process import LeasedProcess
from harness.leases.store import LeaseValue
from harness.leases.with_parent import PARENT_VARIABLE
from harness.paths import PACKAGES, cache_home
from harness.releases.java import Java
from harness.wait import NotYet, wait_until

START_S_MAX = 60.0
GONE_S_MAX = 60.0
REMOVED_S_MAX = 60.0

_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_HARDENED = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pull", "never")


def remove_containers(lease: Lease) -> None:
    """Remove the container of a lease. A busy engine may take a while. Raises WaitTimeout."""

    def removed() -> bool:
        if not (healed := lease.heal()).complete:
            raise NotYet(healed.action)
        return True

    wait_until(f"the containers of {lease.record.data['name']} to be gone", removed, timeout_s=REMOVED_S_MAX)


def kill_container(client: docker.DockerClient, container: str, process: ProcessId) -> int:
    """SIGKILL by the engine; the monotonic nanoseconds at which its first process was seen gone.

    The kernel tells that, while the engine still answers: it takes some 80 ms longer. Raises LeaseError.
    """
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(client.api.kill, container, "SIGKILL")
        left = proc.wait_gone([process], timeout_s=GONE_S_MAX)
        gone_ns = time.monotonic_ns()
        try:
            killing.result()
        except ENGINE_ERRORS as error:
            raise LeaseError(f"{container} could not be killed: {error}") from error
    if left:
        raise LeaseError(f"{container} (pid {process.pid}) is still there {GONE_S_MAX} s after SIGKILL")
    return gone_ns


def pause_container(
    leases: Leases, engine: Engine, client: docker.DockerClient, container: str, token: str | None, *, until_s: float
) -> Lease:
    """Freeze a container's control group under a lease; ``token`` is the lease that the container is labelled with, None for one
    that is the user's.

    Returns once every thread of it stands still. Raises LeaseError.
    """
    facts: dict[str, LeaseValue] = {
        "name": container,
        "socket": str(engine.socket),
        "container": container,
        "token": token,
    }
    lease = leases.hold(PAUSE, facts, until_s=until_s)
    try:
        client.api.pause(container)
    except ENGINE_ERRORS as error:
        lease.heal()
        raise LeaseError(f"{container} could not be paused: {error}") from error
    return lease


def processes_of(first: ProcessId) -> list[ProcessId]:
    """The processes of the container that has this first one: those of its control group, which a pause freezes."""
    found = (proc.identify(pid) for pid in frozen_with(first.pid) if pid != first.pid)
    return [first, *(one for one in found if one is not None)]


class ContainerProcess:
    """A process of ours in a container, driven through ``docker run``. What ``LeasedProcess`` is for a process."""

    def __init__(self, runner: LeasedProcess, lease: Lease, engine: Engine, container: str) -> None:
        self._runner = runner
        self._lease = lease
        self._engine = engine
        self._client = engine.client()
        self._container = container
        self._process: ProcessId | None = None

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input."""
        return self._runner.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its standard output."""
        return self._runner.stdout

    @property
    def pid(self) -> int:
        """The container's first process, as this host numbers it."""
        return self._identify().pid

    def _identify(self) -> ProcessId:
        if self._process is None:
            self._process = wait_until(f"{self._container} to run", self._ask_engine, timeout_s=START_S_MAX)
        return self._process

    def _ask_engine(self) -> ProcessId | None:
        if self._runner.poll() is not None:
            raise LeaseError(f"{self._runner.name} ended with code {self._runner.returncode} before it ran")
        pid = int(self._client.api.inspect_container(self._container)["State"]["Pid"])
        return proc.identify(pid) if pid else None

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._runner.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code. Raises subprocess.TimeoutExpired."""
        return self._runner.wait(timeout)

    def kill(self) -> int:
        """SIGKILL by the engine; the monotonic nanoseconds at which the process was seen gone."""
        gone_ns = kill_container(self._client, self._container, self._identify())
        self.release()
        return gone_ns

    def pause(self, leases: Leases, *, until_s: float) -> Lease:
        """Freeze its control group, under a lease that ends that in ``until_s`` seconds at the latest."""
        self._identify()
        return pause_container(
            leases, self._engine, self._client, self._container, self._lease.record.id, until_s=until_s
        )

    def release(self) -> None:
        """Remove the container and strike off its lease."""
        self._runner.release()
        self._client.close()
        remove_containers(self._lease)


class ClientContainers:
    """Starts processes in containers. ``writable`` is the folder that they write to."""

    def __init__(self, leases: Leases, engine: Engine, image: Image, java: Java, writable: Path) -> None:
        self._leases = leases
        self._engine = engine
        self._image = image
        self._writable = writable.absolute()
        self._readable = list(_outermost(_needed(java)))

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        until_s: float,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> ContainerProcess:
        """Start a process of this host's programs in a container; as ``Leases.spawn``.

        It has the run directory without what is mounted there, but for what is mounted in the folder of ``stderr``.
        """
        facts: dict[str, LeaseValue] = {"name": name, "socket": str(self._engine.socket), "settled": True}
        lease = self._leases.hold(CONTAINER, facts, until_s=until_s)
        container = f"mqlab-{lease.record.id[:12]}"
        environment = dict(os.environ if env is None else env)
        for ours in (TOKEN_VARIABLE, PARENT_VARIABLE):
            environment.pop(ours, None)
        command = [
            *(docker_command(), "--host", self._engine.host, "run", "--interactive", "--network", "host"),
            *("--name", container, "--label", f"{LEASE_LABEL}={lease.record.id}"),
            *("--user", f"{os.getuid()}:{os.getgid()}", *_HARDENED),
            *(word for path in self._readable for word in ("--mount", _mount(path, ",readonly"))),
            *(word for path in (self._writable, *_mounted_in(stderr)) for word in ("--mount", _mount(path))),
            # Without a value docker takes it from its own environment, where no list of processes shows it.
            *(word for key in environment for word in ("--env", key)),
            *("--entrypoint", argv[0], self._image.tag, *argv[1:]),
        ]
        try:
            runner = self._leases.spawn(
                command,
                name=name,
                until_s=until_s,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        except LeaseError:
            lease.release()
            raise
        return ContainerProcess(runner, lease, self._engine, container)


def _mounted_in(stderr: int | IO[bytes] | None) -> Iterator[Path]:
    """What is mounted in the client's own folder, where its standard error goes: the disk that its listeners write to."""
    if stderr is not None and not isinstance(stderr, int):
        own = Path(stderr.name).absolute().parent
        yield from (path for one in kernel.mounts() if own in (path := Path(one.mountpoint)).parents)


def _mount(path: Path, more: str = "") -> str:
    # Without what is mounted below it: a broker's store could not be unmounted while a client has it as well.
    return f"type=bind,source={path},target={path},bind-nonrecursive{more}"


def _needed(java: Java) -> Iterator[Path]:
    yield from map(Path, _SYSTEM)
    yield from (Path(sys.prefix), Path(sys.base_prefix), PACKAGES, cache_home().resolve(), java.home)
    # Debian's Java has its settings elsewhere and links to them.
    for folder, names, files in os.walk(java.home, followlinks=False):
        for name in (*names, *files):
            path = Path(folder) / name
            if path.is_symlink() and path.exists() and not path.resolve().is_relative_to(java.home):
                yield path.resolve().parent if path.resolve().is_file() else path.resolve()


def _outermost(paths: Iterable[Path]) -> Iterator[Path]:
    """The paths, and where they link to, without those that do not exist or lie within another."""
    known = {place for path in paths if path.exists() for place in (path.absolute(), path.resolve())}
    return (path for path in sorted(known) if not any(parent in known for parent in path.parents))
