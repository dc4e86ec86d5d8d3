"""Locust's processes, as the run sees them: started, watched, ended."""

from __future__ import annotations

import dataclasses
import json
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path

from harness.clients.commands import remove_temporary, temporary_below
from harness.clients.java import worker_environment
from harness.errors import ClientError, Interrupted, TargetNotAllowedError, UsageError
from harness.generator.load_run import DAY_S, LoadRun, Progress
from harness.generator.options import CLIENT_FAILED, LocustSpec, Role
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.protocol.connection import split_address
from harness.rundir.files import require_room
from harness.rundir.manifest import STOPPED
from harness.rundir.writing import TrialDirectory

LOCUST_PROCESS = "harness.generator.locust_process"
SAME_OPTIONS = "Give all parts of a load the same options; per_user is --rate by --users, run is --run-name."
NO_PART = "this is no part of the load at"
ROUTE_CHECK_S = 5.0
LOCUST_START_S_MAX = 240.0
LOCUST_END_S_MAX = 150.0
SPACE_CHECK_S = 1.0
LATE_MS_MAX = 5.0
"""If the 99.9th percentile of late starts is above this, the user is told: the generator has a part in the latencies.
"""


def spawn_locust(leases: Leases, spec: LocustSpec, name: str, folder: Path, *, heard: bool) -> LeasedProcess:
    """Start a Locust process. Its standard output is a pipe if it is to be ``heard``, else a log file."""
    with (folder / "stderr.log").open("ab") as stderr, (folder / "stdout.log").open("ab") as stdout:
        process = leases.spawn(
            [sys.executable, "-m", LOCUST_PROCESS],
            name=name,
            until_s=DAY_S,
            env=worker_environment(temporary_below(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if heard else stdout,
            stderr=stderr,
        )
    assert process.stdin is not None
    process.stdin.write(spec.to_json().encode() + b"\n")
    process.stdin.flush()
    return process


class LocustProcesses:
    """The Locust processes: one that does everything, or a master and its workers."""

    def __init__(self, load: LoadRun, directory: TrialDirectory) -> None:
        self._load = load
        self._directory = directory
        self._processes: dict[str, LeasedProcess] = {}
        self._steering = "locust"
        self._told: list[Progress] = []
        self._ended_early_s: float | None = None
        """When the user ended it before its time."""

    def start(self) -> None:
        """Start them, and wait until the one that steers says that the load has begun."""
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
        for line in self._lines(LOCUST_START_S_MAX):
            if line.get("started"):
                return

    def pids(self) -> dict[str, int]:
        """Process ids of the Locust processes by name; the clients are their children."""
        return {name: process.pid for name, process in self._processes.items()}

    @property
    def _near(self) -> str:
        """Where workers of this machine find the master."""
        return "127.0.0.1" if ip_address(self._load.bind).is_unspecified else self._load.bind

    def _join(self) -> None:
        host, port = split_address(self._load.join)
        for index in range(self._load.processes):
            name = f"locust-worker-{index}"
            self._spawn(name, dataclasses.replace(self._spec("worker", port), master_host=host))
            self._steering = name

    def _spec(self, role: Role, port: int = 0) -> LocustSpec:
        load = self._load
        return LocustSpec(
            role=role,
            options=load.options,
            driver=load.driver,
            folder=str(self._directory.path.absolute()),
            master_host=load.bind if role == "master" else self._near,
            master_port=port,
            workers=load.wait_for,
            web_port=load.web_port if role != "worker" else 0,
        )

    def _spawn(self, name: str, spec: LocustSpec) -> None:
        heard = spec.role != "worker" or bool(self._load.join)
        folder = self._directory.client_folder(name)
        self._processes[name] = spawn_locust(self._load.leases, spec, name, folder, heard=heard)

    def _lines(self, silence_s_max: float) -> Iterator[Mapping[str, object]]:
        """What the steering process prints, until it ends. In between routes and the disk's room are checked, and it is heeded
        what the user wants."""
        process = self._processes[self._steering]
        assert process.stdout is not None
        checked = measured = heard = time.monotonic()
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
            if now - measured > SPACE_CHECK_S:
                require_room(self._directory.path)
                measured = now
            if self._load.cancel.is_set():
                raise Interrupted("stopped by the user")
            if self._load.early_end.is_asked.is_set() and self._ended_early_s is None:
                self._ended_early_s = now
                process.send_signal(signal.SIGTERM)

    def _check_routes(self) -> None:
        try:
            self._load.target.check()
        except TargetNotAllowedError:
            for one in self._processes.values():
                one.kill()  # at once: what is under way must not go there either
            raise

    def watch(self) -> None:
        """Report progress until Locust ends by itself or the user ends it: then all is drained and judged, as at any other end.

        Raises:
            ClientError: Locust failed.
            DiskFullError: the run's disk has no room left.
            UsageError: the options are not those of the load that it is a part of.
            Interrupted: it is to end at once.
        """
        began = time.monotonic()
        # Workers that have joined a master elsewhere say nothing until it ends them.
        for line in self._lines(DAY_S if self._load.join else LOCUST_END_S_MAX):
            if "requests" in line:
                self._tell(line)
            elif "differs" in line:
                raise UsageError(f"{NO_PART} {self._load.join}: {line['differs']}", advice=SAME_OPTIONS)
        asked_s = self._load.options.duration_s
        if self._ended_early_s is not None and asked_s:
            self._load.note(f"{STOPPED}after {self._ended_early_s - began:.1f} of {asked_s:g} s")
        require_room(self._directory.path)
        code = self._processes[self._steering].wait(LOCUST_END_S_MAX)
        if code == CLIENT_FAILED:
            # What the others did is whole, and worth to be drained and judged.
            note = f"the client process failed, and the load ended with it{self._last_words()}"
            self._load.note(note)
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

    def end_early(self) -> None:
        """End the load before its time; everything is drained and judged as at any other end."""
        self._processes[self._steering].terminate(LOCUST_END_S_MAX)

    def stop(self) -> None:
        """End every process that still runs."""
        for process in self._processes.values():
            if process.poll() is None:
                process.terminate(10.0)
            process.release()
        for name in self._processes:
            remove_temporary(self._directory.client_folder(name))

    def _last_words(self) -> str:
        log = self._directory.client_folder(self._steering) / "stderr.log"
        lines = log.read_text(errors="replace").splitlines()[-8:]
        return "; it wrote last:\n  " + "\n  ".join(lines) if lines else ""


def _progress(line: Mapping[str, object]) -> Progress:
    late = line["late_us"]
    assert isinstance(late, dict)
    workers = [late] if "p999" in late else list(late.values())
    errors = line.get("errors", {})
    assert isinstance(errors, dict)
    return Progress(
        users=int(str(line["users"])),
        requests=int(str(line["requests"])),
        failures=int(str(line["failures"])),
        rate_hz=float(str(line["rate"])),
        late_p999_ms=max((worker["p999"] for worker in workers if worker), default=0) / 1000,
        errors={str(name): int(str(count)) for name, count in errors.items()},
    )
