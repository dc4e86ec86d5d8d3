"""What Locust's processes of a trial drive in a test: a client that keeps the books by the clock, and what they need of a trial."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.clients.commands import SendSettings
from harness.clients.leased import ScheduleSpec
from harness.leases.leases import Leases
from harness.load.locust_rate import LocustRate
from harness.model.loads import LocustUsers


class CountingClient:
    """Sends exactly what is due, and every send ends at once. Made with the schedules' rates by name."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        self.asked = rates
        self._lock = threading.Lock()
        self._since = time.monotonic()
        self._sent = dict.fromkeys(self.asked, 0.0)
        self._taken = dict.fromkeys(self.asked, 0)
        self.rates = dict.fromkeys(self.asked, 0.0)
        self.started: list[ScheduleSpec] = []
        self.seen: list[float] = []

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self.started.append(spec)

    def _pass(self) -> None:
        now = time.monotonic()
        for name, rate_hz in self.rates.items():
            self._sent[name] += (now - self._since) * rate_hz
        self._since = now

    def steer(self, name: str, rate_hz: float) -> None:
        with self._lock:
            self._pass()
            self.rates[name] = rate_hz
            if name == list(self.asked)[-1]:
                self.seen.append(sum(self.rates.values()))

    def call(self, command: str, *, name: str) -> object:
        with self._lock:
            self._pass()
            sent = int(self._sent[name])
            if command == "schedule_state":
                return {"due": sent, "issued": sent, "ended": sent, "sending": True}
            assert command == "take"
            new, self._taken[name] = sent - self._taken[name], sent
            zero = dict.fromkeys(("failures", "bytes"), 0)
            late = {"p50": 1, "p99": 2, "p999": 3, "max": 4}
            return {
                "requests": new, "sum_ms": 5 * new, "min_ms": 5, "max_ms": 5, "response_ms": {"5": new}, "errors": {},
                "late_us": late, **zero,
            }  # fmt: skip

    def sent(self) -> int:
        with self._lock:
            self._pass()
            return sum(int(one) for one in self._sent.values())


def locust_trial(folder: Path, leases: Leases) -> Any:
    """A trial in a folder."""

    def client_folder(name: str) -> Path:
        made = folder / "clients" / name
        made.mkdir(parents=True)
        return made

    return SimpleNamespace(
        record=SimpleNamespace(client="java 5.5.0"),
        leases=leases,
        cancel=threading.Event(),
        directory=SimpleNamespace(path=folder, client_folder=client_folder),
    )


def locust_rate_of(trial: Any, client: CountingClient, users: LocustUsers) -> LocustRate:
    """Locust's processes for the client's schedules."""
    specs = [
        ScheduleSpec(
            name=name, instance=name, rate_hz=rate_hz, start_ns=0, operations=10_000, sends=SendSettings(topic="orders")
        )
        for name, rate_hz in client.asked.items()
    ]
    return LocustRate(trial, users, client, specs)  # type: ignore[arg-type]
