"""The client process of a Locust worker: it follows the number of users, and tells what has ended.

This module runs inside Locust's patched processes. The client is a process of its own, which that patching does not touch:
a child of the worker's, or one that a trial has started and lets be steered through a socket.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.clients.commands import CommandedClient, ScheduleState, temporary_below
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.generator.options import SEQUENCE_STEP, LocustSpec
from harness.leases.with_parent import PARENT_VARIABLE
from harness.paths import PACKAGES
from harness.releases.node_logging import client_logging_options
from harness.wait import NotYet, wait_until

LOAD = "load"
ROUTE_S_MAX = 60.0
ANSWER_S = 5.0
"""How long after its timeout a send may take to end."""
OPERATIONS_MAX = 2**62


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What has ended since this was asked last. ``response_ms`` counts messages by rounded response time, ``errors`` by
    text; ``late_us`` has quantiles of how late sends started, over the whole load."""

    requests: int
    failures: int
    bytes: int
    sum_ms: int
    min_ms: int
    max_ms: int
    response_ms: Mapping[str, int]
    errors: Mapping[str, int]
    late_us: Mapping[str, int]

    @classmethod
    def of(cls, answer: object) -> Taken:
        """Read a client's answer."""
        assert isinstance(answer, dict)
        return cls(**answer)


class Driver:
    """One client process with one load, whose rate follows the number of users."""

    def __init__(self, spec: LocustSpec, index: int) -> None:
        self._spec = spec
        self._name = f"producer-{index}"
        self._sends = dataclasses.replace(
            spec.options.sends,
            first=index,
            step=1 if spec.role == "local" else SEQUENCE_STEP,
            seed=spec.options.sends.seed + index,
            key_prefix=spec.options.sends.key_prefix if spec.role == "local" else f"k{index}-",
        )
        self._users: set[int] = set()
        self._changed = threading.Event()
        self._client = self._connect()

    def _connect(self) -> CommandedClient:
        """The client, which may still be starting."""
        return self._spawn()

    def _spawn(self) -> CommandedClient:
        driver = self._spec.driver
        folder = Path(self._spec.folder) / "clients" / self._name
        folder.mkdir(parents=True, exist_ok=True)
        temporary = temporary_below(folder)
        search = [*driver.search_path, str(PACKAGES)]
        with (folder / "stderr.log").open("ab") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", driver.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(search),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "TMPDIR": str(temporary.absolute()),
                    PARENT_VARIABLE: str(os.getpid()),
                    "HOME": str(folder) if driver.search_path else os.environ.get("HOME", str(folder)),
                },
            )
        client = CommandedClient(process, self._name, folder, temporary)
        first = {name: _filled(value, str(folder)) for name, value in driver.first_line.items()}
        if driver.java_release:
            options = first["jvm_options"]
            assert isinstance(options, list)
            first["jvm_options"] = [*options, *client_logging_options(driver.java_release, folder)]
        client.write({**first, "process": self._name})
        return client

    @property
    def pid(self) -> int:
        """Process id of the client."""
        return self._client.pid

    def start(self) -> None:
        """Wait for the client, open its history, and begin a load with a rate of 0."""
        spec, client = self._spec, self._client
        client.wait_started()
        history = Path(spec.folder) / "history" / f"{self._name}.jsonl"
        client.call("open_history", path=str(history) if spec.history else "")
        client.call(
            "start_producer",
            instance=self._name,
            group=f"{spec.options.sends.topic}-producers",
            namesrv=spec.driver.namesrv,
            transactional=spec.options.sends.mode == "transaction",
            settings=spec.driver.settings,
        )
        if spec.driver.queues:
            self._wait_for_route(spec.driver.queues)
        if spec.options.closed:
            client.call("start_saturation", name=LOAD, instance=self._name, settings=self._sends.to_worker())
        else:
            client.call(
                "start_schedule",
                name=LOAD,
                instance=self._name,
                rate_hz=0.0,
                start_ns=mono_ns(),
                operations=OPERATIONS_MAX,
                settings=self._sends.to_worker(),
            )
        self._follow_users()

    def _follow_users(self) -> None:
        threading.Thread(target=self._steer_forever, daemon=True).start()

    def _wait_for_route(self, queues: int) -> None:
        def has_route() -> bool:
            try:
                found = self._client.call("publish_queues", instance=self._name, topic=self._sends.topic)
            except ClientError as error:
                raise NotYet(str(error)) from error
            if found != queues:
                raise NotYet(f"it has {found}")
            return True

        what = f"{queues} queues of {self._sends.topic} in the route of {self._name}"
        wait_until(what, has_route, timeout_s=ROUTE_S_MAX, poll_s=0.3)

    def join(self, user: int) -> None:
        """Count a user."""
        self._users.add(user)
        self._changed.set()

    def leave(self, user: int) -> None:
        """Count a user no longer."""
        self._users.discard(user)
        self._changed.set()

    @property
    def users(self) -> int:
        """The number of users."""
        return len(self._users)

    def _steer_forever(self) -> None:
        # Users come and go in bursts: one change for all that have come or gone until it is made.
        while True:
            self._changed.wait()
            self._changed.clear()
            try:
                self._steer()
            except ClientError:
                return  # whoever takes what has ended meets the same error and says so

    def _steer(self) -> None:
        self._client.call("steer", name=LOAD, to=self.users * self._spec.options.per_user)

    def take(self) -> Taken:
        """What has ended since this was asked last."""
        return Taken.of(self._client.call("take", name=LOAD))

    def drain(self) -> int:
        """With no user left: wait until everything that was due has been sent and has ended.

        A client that is far behind its schedule need not catch up: what is due and not sent ``ANSWER_S`` after a send's
        timeout is forgotten. Returns how many messages were not sent or have not ended.
        """
        # The thread that follows the users may not have come to the last one that left: between two sends nothing is due.
        self._steer()
        if self._wait(lambda state: state.due <= state.issued == state.ended):
            return 0
        left = int(str(self._client.call("abandon", name=LOAD)))
        self._wait(lambda state: state.issued == state.ended)
        state = self._state()
        return left + state.issued - state.ended

    def _wait(self, is_over: Callable[[ScheduleState], bool]) -> bool:
        """Whether it is over at two looks in a row before a send's timeout and ``ANSWER_S`` have passed."""
        deadline = time.monotonic() + self._sends.timeout_ms / 1000 + ANSWER_S
        agreed = 0
        while agreed < 2 and time.monotonic() < deadline:
            agreed = agreed + 1 if is_over(self._state()) else 0
            time.sleep(0.02)
        return agreed == 2

    def _state(self) -> ScheduleState:
        return ScheduleState.of(self._client.call("schedule_state", name=LOAD))

    def end(self) -> None:
        """Close the history and end the client."""
        try:
            self._client.call("stop_schedule", name=LOAD)
            self._client.close_history()
        finally:
            self._client.end()


class DriverOfTrial(Driver):
    """A driver of schedules that a trial has begun at a rate of 0, in a client that is the trial's."""

    def _connect(self) -> CommandedClient:
        return CommandedClient(SocketEnd(self._spec.driver.socket), self._name, Path(self._spec.folder))

    def start(self) -> None:
        """Follow the number of users."""
        self._follow_users()

    def end(self) -> None:
        """Nothing of the client is this worker's to close."""


class SocketEnd:
    """The socket of a trial's client, as what ``CommandedClient`` speaks to."""

    pid = 0

    def __init__(self, name: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect("\0" + name)
        self.stdin: IO[bytes] | None = self._socket.makefile("wb")
        self.stdout: IO[bytes] | None = self._socket.makefile("rb")

    def poll(self) -> int | None:
        """Whether the process runs is the trial's to know."""
        return None

    def wait(self, timeout: float | None = None) -> int:
        """It is not this side that ends it."""
        return 0


def driver_of(spec: LocustSpec, index: int) -> Driver:
    """The driver of one worker."""
    return DriverOfTrial(spec, index) if spec.driver.socket else Driver(spec, index)


def _filled(value: object, folder: str) -> object:
    if isinstance(value, str):
        return value.replace("{folder}", folder)
    return [_filled(item, folder) for item in value] if isinstance(value, list | tuple) else value
