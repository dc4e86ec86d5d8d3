"""The official Java client of any release, in a child process of its own, driven from here.

The child (``harness.clients.worker``) holds a JVM with the release's jars and our recorder. Everything that is timed
happens in Java; this side only says what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends.logback import client_logging_options
from harness.clients.compile import RECORDER_SOURCES, compiled_classes
from harness.clients.process import ClientHost, ClientProcess
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.releases import MODULE_FLAGS, Java, ensure_jars
from harness.wait import NotYet, wait_until

Setting = bool | int | str

START_S_MAX = 120.0
COMMAND_S_MAX = 90.0
ROUTE_S_MAX = 60.0
ADDRESS_SPACE = "-Xmx256m"

CLIENT_JVM_OPTIONS = ("-Xms32m", ADDRESS_SPACE, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
"""Small and quick to start. The clients of a trial send and receive at most a few thousand messages a second, for
which C1's code does; a benchmark at saturation starts its clients with the JVM's own defaults."""


def gc_log_option(path: Path) -> str:
    """The unified log of collections and safepoints, in UTC, bounded to 16 MB."""
    return f"-Xlog:gc*,safepoint:file={path}:utctime,uptime,level,tags:filecount=2,filesize=8M"


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec:
    """An open-loop schedule: ``operations`` sends, operation i due at ``start_ns`` + i / ``rate_hz`` seconds."""

    name: str
    instance: str
    topic: str
    rate_hz: float
    start_ns: int
    operations: int
    mode: str = "async"
    """``sync``, ``async`` or ``oneway``."""
    route: str = "normal"
    """``normal``, ``selector`` (a queue by the key) or ``fixed`` (a queue that the key was mapped to beforehand)."""
    threads: int = 1
    keys: int = 64
    body_bytes: int = 128
    timeout_ms: int = 3000


@dataclass(frozen=True, kw_only=True)
class ScheduleState:
    """Sends issued and ended so far; ``sending`` until the schedule is through or stopped."""

    issued: int
    ended: int
    sending: bool

    @property
    def is_through(self) -> bool:
        """Nothing more will be issued and everything issued has ended."""
        return not self.sending and self.issued == self.ended


@dataclass(frozen=True, kw_only=True)
class ConsumerSpec:
    """A push consumer with one subscription. ``settings`` are bean properties of DefaultMQPushConsumer by name."""

    instance: str
    group: str
    topic: str
    ordered: bool
    work_ns: int = 0
    settings: Mapping[str, Setting] = field(default_factory=dict)


class JavaClient:
    """A client process. Not safe for threads: one trial drives it.

    Raises:
        ClientError: the process ended, did not answer in time, or the client library refused.
    """

    def __init__(self, process: ClientProcess, name: str, release: str, logs: Path) -> None:
        self._process = process
        self._logs = logs
        self.name = name
        self.release = release

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
    ) -> JavaClient:
        """Start the process and its JVM; logs go to ``folder``. ``properties`` become ``-D`` options."""
        folder.mkdir(parents=True, exist_ok=True)
        jars = ensure_jars(release)
        classes = compiled_classes(RECORDER_SOURCES, jars, java)
        spec = {
            "process": name,
            "client": f"java {release}",
            "jvm_library": str(java.jvm_library),
            "classpath": [str(classes), *map(str, jars)],
            "jvm_options": [
                *jvm_options,
                *MODULE_FLAGS,
                gc_log_option(folder / "gc.log"),
                *client_logging_options(release, folder),
                *(f"-D{key}={value}" for key, value in (properties or {}).items()),
            ],
        }
        with (folder / "stderr.log").open("ab") as stderr:
            process = host.spawn(
                [sys.executable, "-m", "harness.clients.worker"],
                name=f"client {name}",
                until_s=until_s,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        client = cls(process, name, release, folder)
        client._write(spec)
        return client

    def wait_started(self) -> None:
        """Wait until the JVM runs; several clients start in parallel when each is started before the first waits."""
        self._read(START_S_MAX, "start its JVM")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def call(self, command: str, **arguments: object) -> object:
        """One command of ``harness.clients.worker.Worker`` by name, and its result."""
        self._write({"do": command, "with": arguments})
        return self._read(COMMAND_S_MAX, command).get("result")

    def open_history(self, path: Path) -> None:
        """Records go to ``path`` from now on."""
        self.call("open_history", path=str(path))

    def close_history(self) -> None:
        """Close the history; what was recorded is on its way to the disk."""
        if failure := self.call("close_history"):
            raise ClientError(
                f"client {self.name} could not record everything: {failure}",
                advice="Free disk space and run again; what was recorded before is kept.",
            )

    def start_producer(self, instance: str, group: str, namesrv: str, **settings: Setting) -> None:
        """A started DefaultMQProducer; ``settings`` are its bean properties by name."""
        self.call("start_producer", instance=instance, group=group, namesrv=namesrv, settings=settings)

    def wait_for_route(self, instance: str, topic: str, queues: int) -> None:
        """Wait until the producer's own route of the topic has that many queues, which also warms it.

        Raises WaitTimeout.
        """

        def has_route() -> bool:
            try:
                found = self.call("publish_queues", instance=instance, topic=topic)
            except ClientError as error:
                raise NotYet(str(error)) from error
            if found != queues:
                raise NotYet(f"it has {found}")
            return True

        wait_until(f"{queues} queues in the producer's route of {topic}", has_route, timeout_s=ROUTE_S_MAX, poll_s=0.3)

    def start_schedule(self, spec: ScheduleSpec) -> None:
        """Start sending."""
        self.call("start_schedule", **vars(spec))

    def schedule_state(self, name: str) -> ScheduleState:
        """How far a schedule is."""
        state = self.call("schedule_state", name=name)
        assert isinstance(state, dict)
        return ScheduleState(**state)

    def stop_schedule(self, name: str) -> None:
        """Issue nothing more."""
        self.call("stop_schedule", name=name)

    def start_consumer(self, spec: ConsumerSpec, namesrv: str) -> str:
        """A started DefaultMQPushConsumer; returns its client id."""
        return str(self.call("start_consumer", namesrv=namesrv, **vars(spec)))

    def assigned_queues(self) -> dict[str, list[str]]:
        """The queues that each ordered consumer instance has been given and has locked, as ``broker:queue``."""
        assigned = self.call("assigned_queues")
        assert isinstance(assigned, dict)
        return assigned

    def shut_down_consumers(self) -> None:
        """Every consumer's own ``shutdown()``, all at once."""
        self.call("shut_down_consumers")

    def kill(self) -> tuple[int, int]:
        """SIGKILL; monotonic nanoseconds just before the signal and when the process was gone."""
        before_ns = mono_ns()
        return before_ns, self._process.kill()

    def stop(self) -> None:
        """End the process, by its own exit where it still listens."""
        if self.is_running():
            try:
                self._write({"do": "exit"})
                self._process.wait(10.0)
            except (ClientError, subprocess.TimeoutExpired):
                pass
        self._process.release()
        for pipe in (self._process.stdin, self._process.stdout):
            # Closing flushes what a dead process never read, which is of no interest any more.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise ClientError(f"client {self.name} is gone ({error}){self._last_words()}") from error

    def _read(self, timeout_s: float, doing: str) -> dict[str, object]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        if not readable:
            raise ClientError(f"client {self.name} did not {doing} within {timeout_s:.0f} s{self._last_words()}")
        line = self._process.stdout.readline()
        if not line:
            raise ClientError(f"client {self.name} ended while it should {doing}{self._last_words()}")
        answer: dict[str, object] = json.loads(line)
        if not answer.get("ok"):
            raise ClientError(f"client {self.name} could not {doing}: {answer.get('error')}: {answer.get('message')}")
        return answer

    def _last_words(self) -> str:
        try:
            lines = (self._logs / "stderr.log").read_text(errors="replace").splitlines()[-8:]
        except OSError:
            return ""
        return "; it wrote last:\n  " + "\n  ".join(lines) if lines else ""
