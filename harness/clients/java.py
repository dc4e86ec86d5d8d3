"""The official Java client of any release, in a child process of its own, driven from here.

The child (``harness.clients.worker``) holds a JVM with the release's jars and our recorder. Everything that is timed
happens in Java; this side only says what to do.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, cast

from harness.clients.commands import temporary_below
from harness.clients.leased import LeasedClient
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.leases.client_process import ClientHost, ClientProcess
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.paths import PACKAGES
from harness.protocol.access import OPEN, Access
from harness.protocol.targets import LOOPBACK, Network
from harness.releases.compile import RECORDER_SOURCES, compiled_classes
from harness.releases.jars import ensure_jars
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS, gc_log_option
from harness.releases.node_logging import client_logging_options
from harness.wait import NotYet, patience, wait_until

Setting = bool | int | str | list[int]

JAVA_WORKER = "harness.clients.worker"

ROUTE_S_MAX = 60.0

CONSUMER_START_S_MAX = 60.0

ADDRESS_SPACE = "-Xmx256m"

CLIENT_JVM_OPTIONS = (
    "-Xms32m",
    ADDRESS_SPACE,
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-Xss512k",
)
"""For clients of a trial: small, and quick to start. They send and receive at most a few thousand messages a second,
for which the code of C1 is fast enough. Verifying classes would take up to a quarter of a start, and the jars'
checksums have been compared already."""

LOAD_JVM_OPTIONS = ("-Xms512m", "-Xmx512m", "-Xmn256m", "-XX:+UseSerialGC", "-Xss512k")
"""For clients that have to reach saturation: both compilers, and a young generation that is seldom full."""

PUNCTUAL_JVM_OPTIONS = (
    "-XX:+AlwaysPreTouch",
    "-XX:+DisableExplicitGC",
    *(("-XX:ThreadPriorityPolicy=1",) if os.geteuid() == 0 else ()),
)
"""For open-loop clients, which must send on time. AlwaysPreTouch: otherwise the first 30 s at 1,000 sends/s pay a page
fault for every new heap page. DisableExplicitGC: JPype asks for a full collection of 13 ms after every young one.
ThreadPriorityPolicy: the threads of a schedule are woken first, which the kernel grants to root."""


@dataclass(frozen=True, kw_only=True)
class ConsumerSpec:
    """A push consumer with one subscription. ``settings`` are bean properties of DefaultMQPushConsumer by name."""

    instance: str
    group: str
    topic: str
    ordered: bool
    work_ns: int = 0
    takes_lock: bool = False
    """Its listener holds, while it works, a lock that all such listeners of its process share."""
    writes_to: str = ""
    """The path with which its listener's files begin, one of each queue, to which it writes ``writes_bytes`` for each message and
    forces them to disk; empty: it does not."""
    writes_bytes: int = 0
    broadcasting: bool = False
    fail_every: int = 0
    """Messages whose sequence number is a multiple of this fail at each consumption; 0 lets none fail."""
    fail_ns: int = 0
    """They do so by taking that long, after which the listener succeeds; 0: by its answer, at once."""
    run: str = ""
    """Bodies of another run are recorded as failed; an empty text accepts all."""
    tags: str = "*"
    """The subscription's expression: ``*``, or tags with ``||`` between them."""
    client_name: str = ""
    """The instance name of its client, which members of one process may share; empty: ``instance``. ``IN_A_CONTAINER``: what
    the release calls a client by itself in a container, where a process has the id 1."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    begins: Literal["first", "last"] = "first"
    """Its consumeFromWhere, which counts while the group has no offset: CONSUME_FROM_FIRST_OFFSET or CONSUME_FROM_LAST_OFFSET."""


class JavaClient(LeasedClient):
    """A client process of a trial. Not safe for threads: one trial drives it."""

    def __init__(
        self,
        process: ClientProcess,
        name: str,
        release: str,
        logs: Path,
        temporary: Path,
        user: Mapping[str, str],
        overrides: dict[str, str],
    ) -> None:
        super().__init__(process, name, logs, temporary)
        self._user = user
        self._overrides = overrides
        self.release = release
        self._pause: Lease | None = None
        self._paused_ns = 0

    @classmethod
    def start(
        cls,
        host: ClientHost,
        *,
        name: str,
        release: str,
        java: Java,
        folder: Path,
        until_s: float,
        properties: Mapping[str, str] | None = None,
        jvm_options: Sequence[str] = CLIENT_JVM_OPTIONS,
        allowed: Sequence[Network] = LOOPBACK,
        user: Mapping[str, str] | None = None,
        overrides: dict[str, str] | None = None,
        access: Access = OPEN,
    ) -> Self:
        """Start the process and its JVM; logs go to ``folder``. ``properties`` become ``-D`` options.

        ``user`` are the user's own settings (``UserSettings.client``), which the others win over; ``overrides`` is told which.
        """
        folder.mkdir(parents=True, exist_ok=True)
        options = [
            *jvm_options,
            *jvm_properties({**(user or {}), **(properties or {})}),
            *client_logging_options(release, folder),
        ]
        spec = worker_spec(
            name=name, release=release, java=java, folder=folder, jvm_options=options, allowed=allowed, user=user,
            access=access,
        )  # fmt: skip
        temporary = temporary_below(folder)
        with (folder / "stderr.log").open("ab") as stderr:
            process = host.spawn(
                [sys.executable, "-m", JAVA_WORKER],
                name=f"client {name}",
                until_s=until_s,
                env=worker_environment(temporary),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        client = cls(process, name, release, folder, temporary, user or {}, overrides if overrides is not None else {})
        client.note_overrides(properties or {})
        client.write(spec)
        return client

    def start_producer(
        self, instance: str, group: str, namesrv: str, *, transactional: bool = False, **settings: Setting
    ) -> None:
        """A started DefaultMQProducer; ``settings`` are its bean properties by name."""
        self.call(
            "start_producer",
            instance=instance,
            group=group,
            namesrv=namesrv,
            transactional=transactional,
            settings=settings,
        )
        self.note_overrides(settings)

    def change_producer(self, instance: str, **settings: Setting) -> None:
        """Change bean properties of a producer that runs, by name; those that it copied when it started stay."""
        self.call("change_producer", instance=instance, settings=settings)
        self.note_overrides(settings)

    def note_overrides(self, settings: Mapping[str, Setting]) -> None:
        """Note which of the user's settings these win over."""
        for key, value in settings.items():
            used = str(value).lower() if isinstance(value, bool) else str(value)
            if self._user.get(key, used) != used:
                self._overrides[f"client.{key}"] = f"{self._user[key]} -> {used}"

    def record_attempts(self, instance: str) -> None:
        """Record each attempt of the producer's sends, not only how a send ended."""
        self.call("record_attempts", instance=instance)

    def wait_for_route(self, instance: str, topic: str, queues: int) -> None:
        """Wait until the producer's own route of the topic has that many queues, which also warms it.

        Raises WaitTimeout.
        """

        def has_route() -> bool:
            with patience():
                found = self.call("publish_queues", instance=instance, topic=topic)
            if found != queues:
                raise NotYet(f"it has {found}")
            return True

        wait_until(f"{queues} queues in the producer's route of {topic}", has_route, timeout_s=ROUTE_S_MAX, poll_s=0.3)

    def start_consumer(self, spec: ConsumerSpec, namesrv: str) -> str:
        """A started DefaultMQPushConsumer; returns its client id."""
        self.note_overrides(spec.settings)
        return str(self.call("start_consumer", namesrv=namesrv, **vars(spec)))

    def wait_consumer_started(self, spec: ConsumerSpec, namesrv: str, *, cancel: threading.Event | None = None) -> str:
        """``start_consumer``, tried again while a broker is too busy to say whether it accepts the consumer. Raises
        WaitTimeout."""

        def start() -> str:
            try:
                return self.start_consumer(spec, namesrv)
            except ClientError as error:
                if "RemotingTimeoutException" in str(error) or "RemotingSendRequestException" in str(error):
                    raise NotYet(str(error)) from error
                raise

        return wait_until(f"{spec.instance} to start", start, timeout_s=CONSUMER_START_S_MAX, cancel=cancel)

    def assigned_queues(self) -> dict[str, list[str]]:
        """The queues that each ordered consumer instance has been given and has locked, as ``broker:queue``."""
        assigned = self.call("assigned_queues")
        assert isinstance(assigned, dict)
        return assigned

    def queue_counts(self, topic: str) -> dict[str, int]:
        """How many of a topic's queues each consumer instance has been given, locked or not."""
        counts = self.call("queue_counts", topic=topic)
        assert isinstance(counts, dict)
        return counts

    def suspend_consumer(self, instance: str) -> None:
        """Have a consumer ask for no message until it is resumed."""
        self.call("suspend_consumer", instance=instance)

    def resume_consumer(self, instance: str) -> None:
        """Let it go on from the offsets that it has."""
        self.call("resume_consumer", instance=instance)

    def shut_down_consumers(self, first_s: float = 0.0) -> None:
        """Call every consumer's ``shutdown()``, all at once; returns when every call has.

        With ``first_s`` the client is only told to stop: it calls them so many seconds later, and this returns at once.
        """
        if first_s:
            self.call("begin_stop", first_s=first_s)
        else:
            self.call("shut_down_consumers")

    def grow_live_set(self, stop_ms: float) -> tuple[int, int, bool]:
        """One step: keep more objects, or have the heap collected.

        Returns when it began and ended, in monotonic nanoseconds, and whether it was the last one: a full collection took that
        long, or the heap is full.
        """
        began_ns, ended_ns, is_all = cast("list[int]", self.call("grow_live_set", stop_ms=stop_ms))
        return began_ns, ended_ns, bool(is_all)

    def clear_live_set(self) -> None:
        """Keep nothing of it any more."""
        self.call("clear_live_set")

    def hold_lock(self) -> None:
        """Another thread of the process takes the lock that listeners share, and keeps it."""
        self.call("hold_lock")

    def let_lock_go(self) -> int:
        """Let it go; how many listeners waited for it."""
        return cast("int", self.call("let_lock_go"))

    def kill(self) -> tuple[int, int]:
        """SIGKILL; monotonic nanoseconds just before the signal and when the process was gone."""
        before_ns = mono_ns()
        return before_ns, self._leased.kill()

    def pause(self, leases: Leases, *, until_s: float) -> None:
        """Pause the process, under a lease that resumes it in ``until_s`` seconds at the latest."""
        self._pause = self._leased.pause(leases, until_s=until_s)
        self._paused_ns = mono_ns()

    def resume(self) -> float:
        """Resume the process; returns for how many milliseconds it stood still."""
        assert self._pause is not None
        paused_ms = (mono_ns() - self._paused_ns) / 1e6
        self._pause.end()
        return paused_ms


def jvm_properties(settings: Mapping[str, str]) -> list[str]:
    """Options for the settings whose keys have a dot: those are system properties of a client's JVM."""
    return [f"-D{key}={value}" for key, value in settings.items() if "." in key]


def worker_spec(
    *,
    name: str,
    release: str,
    java: Java,
    folder: Path,
    jvm_options: Sequence[str],
    allowed: Sequence[Network] = LOOPBACK,
    user: Mapping[str, str] | None = None,
    access: Access = OPEN,
) -> dict[str, object]:
    """The first line for ``harness.clients.worker``: how its JVM starts, and which addresses it may ask.

    ``folder`` need not exist yet. Whoever makes it adds the options of the client's log (``client_logging_options``).
    """
    jars = ensure_jars(release)
    classes = compiled_classes(RECORDER_SOURCES, jars, java)
    return {
        "process": name,
        "client": f"java {release}",
        "jvm_library": str(java.jvm_library),
        "classpath": [str(classes), *map(str, jars)],
        "jvm_options": [
            *jvm_options,
            *access.jvm_options(),
            *MODULE_FLAGS,
            # Its counters would lie in the machine's temporary folder, and stay there where it is killed.
            "-XX:-UsePerfData",
            gc_log_option(folder / "gc.log"),
        ],
        "allowed": [str(network) for network in allowed],
        "credentials": str(access.credentials.absolute()) if access.credentials else "",
        "user": dict(user or {}),
    }


def worker_environment(temporary: Path) -> dict[str, str]:
    """The environment of a client process: this process's own, this repository's packages, and a temporary folder of its own."""
    ours = {"PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(temporary.absolute())}
    return {**os.environ, **ours}
