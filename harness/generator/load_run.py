"""A load by itself: ``mqlab load``. Locust steers, consumers verify, and all of it is a run directory to be judged."""

from __future__ import annotations

import dataclasses
import json
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.clients.java import (
    JAVA_WORKER,
    LOAD_JVM_OPTIONS,
    PUNCTUAL_JVM_OPTIONS,
    ConsumerSpec,
    JavaClient,
    worker_environment,
    worker_spec,
)
from harness.clients.python.install import NAMES, PYTHON_WORKER, ensure_python_client
from harness.clock import mono_ns
from harness.errors import ClientError, Interrupted, LabError, TargetNotAllowedError, WaitTimeout
from harness.generator.options import CLIENT_FAILED, DriverSpec, LoadWish, Role, WheelSpec
from harness.generator.target import Target
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.protocol.connection import split_address
from harness.releases.java import Java
from harness.rundir.events import EventLog
from harness.rundir.files import write_json
from harness.rundir.manifest import TrialRecord
from harness.rundir.run import RunDirectory, TrialDirectory
from harness.wait import NotYet, wait_until

LOAD = "load"
"""The incident, arm's cell, trial and deployment of a load's run directory: there is one of each."""
ARM = "baseline"
GROUP = "mqlab-load-consumers"

WHEEL = "harness.generator.locust_process"
DAY_S = 24 * 3600.0
ROUTE_CHECK_S = 5.0
WHEEL_START_S_MAX = 240.0
WHEEL_END_S_MAX = 150.0
SETTLE_S_MAX = 90.0
DRAIN_S_MAX = 120.0
CONSUME_THREADS = 4
LATE_MS_MAX = 5.0
"""Starts later than this at the 99.9th percentile are said aloud: the latencies hold a part that is the generator's."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How a load stands: users, messages that ended and failed so far, a second, and the worst worker's lateness."""

    users: int
    requests: int
    failures: int
    rate_hz: float
    late_p999_ms: float


@dataclass(frozen=True, kw_only=True)
class LoadRun:
    """Everything that a load needs. ``wait_for`` counts Locust workers, our own and those of other machines."""

    run: RunDirectory
    record: TrialRecord
    target: Target
    wish: LoadWish
    driver: DriverSpec
    leases: Leases
    java: Java
    processes: int = 1
    wait_for: int = 1
    bind: str = "127.0.0.1"
    master_port: int = 0
    web_port: int = 0
    join: str = ""
    """HOST:PORT of a master elsewhere: this machine only brings workers to it."""
    consumers: int = 0
    ordered: bool = False
    say: Callable[[str], None]
    on_progress: Callable[[Progress], None]
    cancel: threading.Event = field(default_factory=threading.Event)


def java_driver(release: str, java: Java, target: Target, *, is_punctual: bool = False) -> DriverSpec:
    """The official Java client of a release, which does not try again by itself: a second try hides the first.

    ``is_punctual`` is for an open loop.
    """
    spec = worker_spec(
        name="producer",
        release=release,
        java=java,
        folder=Path("{folder}"),
        jvm_options=(*LOAD_JVM_OPTIONS, *(PUNCTUAL_JVM_OPTIONS if is_punctual else ())),
        allowed=target.allowed,
    )
    return DriverSpec(
        module=JAVA_WORKER,
        search_path=(),
        first_line=spec,
        namesrv=target.namesrv_list,
        queues=sum(target.queues.values()),
        settings={"retryTimesWhenSendFailed": 0, "retryTimesWhenSendAsyncFailed": 0},
        java_release=release,
    )


def python_driver(kind: str, target: Target, proxy: str = "") -> DriverSpec:
    """One of Python's own clients. A topic on a single broker lets its ordered sends say which queue they took.

    ``proxy`` is whom it speaks to instead of name servers and brokers.
    """
    return DriverSpec(
        module=PYTHON_WORKER,
        search_path=(str(ensure_python_client(kind)),),
        first_line={
            "client": NAMES[kind],
            "kind": kind,
            "logs": "{folder}",
            "only_broker": next(iter(target.brokers)) if len(target.brokers) == 1 else "",
        },
        namesrv=proxy or target.namesrv_list,
        queues=0,
    )


def run_load(load: LoadRun) -> None:
    """Run the load from its start to its drain, and leave a whole trial behind.

    Raises:
        Interrupted: the user stopped it; what was recorded is whole and can be judged.
        TargetNotAllowedError: a name server began to list an address that is not allowed; the load was ended at once.
        ClientError: Locust or a client failed.
    """
    directory = load.run.make_trial(dataclasses.replace(load.record, status="running"))
    status: Literal["complete", "interrupted", "failed"] = "failed"
    error = ""
    try:
        with directory.open_events() as events, ExitStack() as stack:
            probe = NoiseProbe.start(load.leases, load.run.hiccups_path, until_s=DAY_S)
            stack.callback(probe.stop)
            _phases(load, directory, events, probe, stack)
        status = "complete"
    except (Interrupted, KeyboardInterrupt):
        status, error = "interrupted", "stopped by the user"
        raise
    except LabError as problem:
        error = str(problem)
        raise
    finally:
        directory.write(dataclasses.replace(load.record, status=status, error=error))
        load.run.set_status(status)


def _phases(load: LoadRun, directory: TrialDirectory, events: EventLog, probe: NoiseProbe, stack: ExitStack) -> None:
    events.anchor()
    with events.phase("up"):
        consumers = _Consumers(load, directory)
        stack.callback(consumers.stop)
        consumers.start()
        wheel = _Wheel(load, directory)
        stack.callback(wheel.stop)
        wheel.start()
        write_json(directory.path / "processes.json", {**consumers.pids(), **wheel.pids()})
    from_ns = mono_ns()
    with events.phase("hold"):
        wheel.watch()
    until_ns = mono_ns()
    events.anchor()
    with events.phase("drain"):
        left = consumers.drain()
        events.drain(complete=left == 0, remaining=left)
    with events.phase("collect"):
        load.target.record_ends(events, GROUP if load.consumers else None)
        consumers.close()
    events.anchor()
    worst = worst_ms(probe.copy_into(events, from_ns, until_ns)) or 0.0
    load.say(f"the machine itself stood still for {worst:.1f} ms at most (hiccup probe)")


def spawn_wheel(leases: Leases, spec: WheelSpec, name: str, folder: Path, *, heard: bool) -> LeasedProcess:
    """Start a Locust process; what it says on standard output is for us when it is ``heard``, else it is logged."""
    with (folder / "stderr.log").open("ab") as stderr, (folder / "stdout.log").open("ab") as stdout:
        process = leases.spawn(
            [sys.executable, "-m", WHEEL],
            name=name,
            until_s=DAY_S,
            env=worker_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if heard else stdout,
            stderr=stderr,
        )
    assert process.stdin is not None
    process.stdin.write(spec.to_json().encode() + b"\n")
    process.stdin.flush()
    return process


class _Consumers:
    """Consumer processes of one group; they outlive Locust's stop, since what was sent has to be consumed."""

    def __init__(self, load: LoadRun, directory: TrialDirectory) -> None:
        self._load = load
        self._directory = directory
        self._clients: list[JavaClient] = []

    def start(self) -> None:
        load = self._load
        release = load.record.client.split()[-1] if load.record.client.startswith("java") else load.record.release
        for index in range(load.consumers):
            name = f"consumer-{index}"
            self._clients.append(
                JavaClient.start(
                    load.leases,
                    name=name,
                    release=release,
                    java=load.java,
                    folder=self._directory.client_folder(name),
                    until_s=DAY_S,
                    allowed=load.target.allowed,
                )
            )
        for client in self._clients:
            client.wait_started()
            client.open_history(self._directory.history_path(client.name))
            client.wait_consumer_started(self._spec(client.name), load.target.namesrv_list, cancel=load.cancel)
        if load.consumers and load.ordered:
            wait_until("the consumers to hold every queue", self._settled, timeout_s=SETTLE_S_MAX, poll_s=0.5)

    def _spec(self, instance: str) -> ConsumerSpec:
        return ConsumerSpec(
            instance=instance,
            group=GROUP,
            topic=self._load.target.topic,
            ordered=self._load.ordered,
            run=self._load.wish.sends.run,
            settings={"consumeThreadMin": CONSUME_THREADS, "consumeThreadMax": CONSUME_THREADS},
        )

    def _settled(self) -> bool:
        held = sum(len(queues) for client in self._clients for queues in client.assigned_queues().values())
        if held < sum(self._load.target.queues.values()):
            raise NotYet(f"they hold {held}")
        return True

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {client.name: client.pid for client in self._clients}

    def drain(self) -> int:
        """Messages that were not consumed within the time there is; -1 when a broker could not be asked."""
        if not self._clients:
            return 0
        left = -1

        def consumed() -> bool:
            nonlocal left
            left = self._load.target.unconsumed(GROUP)
            if left:
                raise NotYet(f"{left} messages are left")
            return True

        try:
            wait_until("the consumers", consumed, timeout_s=DRAIN_S_MAX, poll_s=0.5, cancel=self._load.cancel)
        except WaitTimeout as error:
            self._load.say(str(error))
        return left

    def close(self) -> None:
        for client in self._clients:
            if client.is_running():
                client.close_history()
            else:
                self._load.say(f"{client.name} did not live to the end; its history is whole up to then")

    def stop(self) -> None:
        for client in self._clients:
            client.stop()


class _Wheel:
    """The Locust processes: one that does everything, or a master and its workers."""

    def __init__(self, load: LoadRun, directory: TrialDirectory) -> None:
        self._load = load
        self._directory = directory
        self._processes: dict[str, LeasedProcess] = {}
        self._steering = "locust"
        self._told: list[Progress] = []

    def start(self) -> None:
        load = self._load
        if load.join:
            self._join()
            return
        if load.processes == 1 and load.wait_for == 1 and not load.master_port:
            self._spawn(self._steering, self._spec("local"))
        else:
            port = load.master_port or free_port()
            self._spawn(self._steering, self._spec("master", port))
            for index in range(load.processes):
                self._spawn(f"locust-worker-{index}", self._spec("worker", port))
            if load.wait_for > load.processes or load.bind != "127.0.0.1":
                load.say(f"waiting for {load.wait_for} workers; Locust's master listens on {load.bind}:{port}")
        for line in self._lines(WHEEL_START_S_MAX):
            if line.get("started"):
                return

    def pids(self) -> dict[str, int]:
        """Process ids of the Locust processes by name; the clients are their children."""
        return {name: process.pid for name, process in self._processes.items()}

    def _join(self) -> None:
        host, port = split_address(self._load.join)
        for index in range(self._load.processes):
            name = f"locust-worker-{index}"
            self._spawn(name, dataclasses.replace(self._spec("worker", port), master_host=host))
            self._steering = name

    def _spec(self, role: Role, port: int = 0) -> WheelSpec:
        load = self._load
        return WheelSpec(
            role=role,
            wish=load.wish,
            driver=load.driver,
            folder=str(self._directory.path.absolute()),
            master_host=load.bind if role == "master" else "127.0.0.1",
            master_port=port,
            workers=load.wait_for,
            web_port=load.web_port if role != "worker" else 0,
        )

    def _spawn(self, name: str, spec: WheelSpec) -> None:
        heard = spec.role != "worker" or bool(self._load.join)
        folder = self._directory.client_folder(name)
        self._processes[name] = spawn_wheel(self._load.leases, spec, name, folder, heard=heard)

    def _lines(self, silence_s_max: float) -> Iterator[Mapping[str, object]]:
        """What the steering process says, until it ends; routes are checked and cancelling is heeded in between."""
        process = self._processes[self._steering]
        assert process.stdout is not None
        checked = heard = time.monotonic()
        buffered = b""
        while True:
            readable, _, _ = select.select([process.stdout], [], [], 0.2)
            now = time.monotonic()
            if readable:
                data = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
                if not data:
                    return
                heard = now
                *lines, buffered = (buffered + data).split(b"\n")
                yield from (json.loads(line) for line in lines if line.startswith(b"{"))
            if now - heard > silence_s_max:
                raise ClientError(f"Locust said nothing for {silence_s_max:g} s{self._last_words()}")
            if now - checked > ROUTE_CHECK_S:
                self._check_routes()
                checked = now
            if self._load.cancel.is_set():
                raise Interrupted("stopped by the user")

    def _check_routes(self) -> None:
        try:
            self._load.target.check()
        except TargetNotAllowedError:
            for one in self._processes.values():
                one.kill()  # at once: what is under way must not go there either
            raise

    def watch(self) -> None:
        """Until Locust ends by itself, or the user ends it."""
        try:
            # Workers that have joined a master elsewhere say nothing until it ends them.
            for line in self._lines(DAY_S if self._load.join else WHEEL_END_S_MAX):
                if "requests" in line:
                    self._tell(line)
        except Interrupted:
            # A load without an end is ended this way: everything is drained and judged as at any other end.
            if self._load.wish.duration_s:
                raise
            self._load.cancel.clear()
            self._end()
        code = self._processes[self._steering].wait(WHEEL_END_S_MAX)
        if code == CLIENT_FAILED:
            # What the others did is whole, and worth to be drained and judged.
            note = f"the client process failed, and the load ended with it{self._last_words()}"
            self._load.say(note)
            self._load.run.add_note(note)
        elif code != 0:
            raise ClientError(f"Locust ended with code {code}{self._last_words()}")
        if self._told and self._told[-1].late_p999_ms > LATE_MS_MAX:
            self._load.say(
                f"the generator itself was late: {self._told[-1].late_p999_ms:.1f} ms at the 99.9th percentile"
            )

    def _tell(self, line: Mapping[str, object]) -> None:
        progress = _progress(line)
        self._told.append(progress)
        self._load.on_progress(progress)

    def _end(self) -> None:
        self._processes[self._steering].terminate(WHEEL_END_S_MAX)

    def stop(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate(10.0)
            process.release()

    def _last_words(self) -> str:
        log = self._directory.client_folder(self._steering) / "stderr.log"
        lines = log.read_text(errors="replace").splitlines()[-8:]
        return "; it wrote last:\n  " + "\n  ".join(lines) if lines else ""


def _progress(line: Mapping[str, object]) -> Progress:
    late = line["late_us"]
    assert isinstance(late, dict)
    workers = [late] if "p999" in late else list(late.values())
    return Progress(
        users=int(str(line["users"])),
        requests=int(str(line["requests"])),
        failures=int(str(line["failures"])),
        rate_hz=float(str(line["rate"])),
        late_p999_ms=max((worker["p999"] for worker in workers if worker), default=0) / 1000,
    )
