"""Locust's users make the rate of schedules that a trial's own client sends.

The client stays the trial's, with its producers, its history and whatever a fault does to it. What a Locust process says
to the client of a load goes through a socket here: the rate of its users is shared among the schedules, and what has ended
in all of them is what Locust counts and shows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import socket
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from harness.clients.commands import remove_temporary
from harness.clients.java import JavaClient
from harness.clients.leased import ScheduleSpec
from harness.errors import ClientError
from harness.generator.locust_processes import LOCUST_END_S_MAX, LOCUST_START_S_MAX, spawn_locust
from harness.generator.options import DriverSpec, LoadOptions, LocustSpec, Role
from harness.host.ports import free_port
from harness.leases.process import LeasedProcess
from harness.model.loads import LocustUsers
from harness.trial import TrialContext
from harness.wait import wait_until

POLL_S = 0.02


class LocustRate:
    """Locust's processes for some schedules of one client, whose rate they make from ``begin`` to ``end``."""

    def __init__(
        self, trial: TrialContext, users: LocustUsers, client: JavaClient, specs: Sequence[ScheduleSpec]
    ) -> None:
        self._trial = trial
        self._users = users
        self._client = client
        self._rates = {spec.name: spec.rate_hz for spec in specs}
        self._sends = specs[0].sends
        self._shares: dict[int, float] = {}
        """Messages a second that the users of each connection make."""
        self._turn = threading.Lock()
        self._begun = threading.Event()
        self._name = f"mqlab-{secrets.token_hex(8)}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind("\0" + self._name)
        self._processes: list[LeasedProcess] = []
        self._folders: list[Path] = []
        for spec in specs:
            client.start_schedule(dataclasses.replace(spec, rate_hz=0.0))

    def begin(self) -> None:
        """Start the processes; returns when the first of them has begun to send. Raises WaitTimeout, ClientError."""
        workers = self._users.workers
        self._listener.listen(workers)
        threading.Thread(target=self._accept, args=(workers,), daemon=True).start()
        if workers == 1:
            self._spawn("locust", "local")
        else:
            port = free_port()
            self._spawn("locust", "master", port)
            for index in range(workers):
                self._spawn(f"locust-worker-{index}", "worker", port)
        threading.Thread(target=self._listen, daemon=True).start()

        def sends() -> bool:
            if self._processes[0].poll() is not None:
                raise ClientError(f"Locust ended at its start; what it wrote is in {self._trial.directory.path}")
            return self._begun.is_set() and bool(self._shares)

        wait_until("Locust", sends, timeout_s=LOCUST_START_S_MAX, poll_s=POLL_S, cancel=self._trial.cancel)

    def _spawn(self, name: str, role: Role, port: int = 0) -> None:
        folder = self._trial.directory.client_folder(name)
        self._folders.append(folder)
        spec = LocustSpec(
            role=role,
            options=LoadOptions(
                users=self._users.users,
                per_user=sum(self._rates.values()) / self._users.users,
                closed=False,
                duration_s=0.0,
                shape=self._users.shape,
                sends=self._sends,
            ),
            driver=DriverSpec(
                module="",
                search_path=(),
                first_line={"client": self._trial.record.client},
                namesrv="",
                queues=0,
                socket=self._name,
            ),
            folder=str(self._trial.directory.path.absolute()),
            master_port=port,
            workers=self._users.workers,
        )
        self._processes.append(spawn_locust(self._trial.leases, spec, name, folder, heard=role != "worker"))

    def _listen(self) -> None:
        """Read what the process that steers prints, lest its pipe fill up; its first line says that the load has begun."""
        lines = self._processes[0].stdout
        assert lines is not None
        with contextlib.suppress(ValueError):  # closed meanwhile
            for line in lines:
                if line.startswith(b'{"started"'):
                    self._begun.set()

    def _accept(self, workers: int) -> None:
        with contextlib.suppress(OSError):  # closed before all of them came
            for number in range(workers):
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(number, connection), daemon=True).start()

    def _serve(self, number: int, connection: socket.socket) -> None:
        """Answer one worker's commands until it goes; its users go with it."""
        with connection, contextlib.suppress(OSError):
            for line in connection.makefile("rb"):
                asked = json.loads(line)
                if asked["do"] == "exit":
                    break
                connection.sendall(
                    json.dumps({"number": asked["number"], **self._answer(number, asked)}).encode() + b"\n"
                )
        with contextlib.suppress(ClientError):
            self._steer(number, 0.0)

    def _answer(self, number: int, asked: Mapping[str, object]) -> Mapping[str, object]:
        arguments = asked["with"]
        assert isinstance(arguments, dict)
        try:
            match asked["do"]:
                case "steer":
                    self._steer(number, arguments["to"])
                    return {"ok": True}
                case "take":
                    return {"ok": True, "result": merged(_with_requests(self._all("take")))}
                case "schedule_state":
                    return {"ok": True, "result": merged(self._all("schedule_state"))}
                case "abandon":
                    return {"ok": True, "result": sum(int(str(count)) for count in self._all("abandon"))}
        except ClientError as error:
            return {"ok": False, "error": "ClientError", "message": str(error)}
        return {"ok": False, "error": "ClientError", "message": f"a trial's client is not asked to {asked['do']}"}

    def _steer(self, number: int, to: float) -> None:
        with self._turn:
            self._shares[number] = to
            share = sum(self._shares.values()) / sum(self._rates.values())
            for name, rate_hz in self._rates.items():
                self._client.steer(name, share * rate_hz)

    def _all(self, command: Literal["take", "schedule_state", "abandon"]) -> Sequence[object]:
        return [self._client.call(command, name=name) for name in self._rates]

    def end(self) -> None:
        """End Locust's test: its users go, and what was due is sent and has ended before its process does."""
        with contextlib.suppress(OSError):  # it may not listen yet
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        while self._processes:
            # The first one steers, and lets its workers end when they have drained.
            self._processes.pop(0).terminate(LOCUST_END_S_MAX)
        while self._folders:
            remove_temporary(self._folders.pop())


def _with_requests(taken: Sequence[object]) -> Sequence[object]:
    """Without those of which nothing has ended, whose shortest response is 0; one is left if that is true of all."""
    return [one for one in taken if isinstance(one, dict) and one["requests"]] or taken[:1]


def merged(answers: Sequence[object]) -> Mapping[str, object]:
    """What several schedules answered, as one: counts are added up, extremes and quantiles are the outermost of all."""
    result: dict[str, object] = {}
    for answer in answers:
        assert isinstance(answer, dict)
        for name, value in answer.items():
            result[name] = _both(name, result[name], value) if name in result else value
    return result


def _both(name: str, one: object, other: object) -> object:
    match one, other:
        case dict(), dict() if name == "late_us":
            return {key: max(one.get(key, 0), other.get(key, 0)) for key in {*one, *other}}
        case dict(), dict():
            return dict(Counter(one) + Counter(other))
        case bool(), bool():
            return one or other
        case int(), int() if name == "min_ms":
            return min(one, other)
        case int(), int() if name == "max_ms":
            return max(one, other)
        case int(), int():
            return one + other
    raise ClientError(f"{name} is {one!r} of one schedule and {other!r} of another")
