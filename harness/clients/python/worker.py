"""The child process that holds one of Python's own clients; ``harness.clients.worker`` is its twin for Java.

Same commands, same schedule, same records. What these clients cannot do or do not tell is said in each record or
refused when the load begins, never guessed: a send whose queue is not known has none in its record, and a failure of the
native library says little more than that it failed, so that a failed send is unknown. A send that does not return is
given up after its timeout and counts as unknown, so that a client that hangs does not hang its load.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import itertools
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harness.clients.commands import SendSettings
from harness.clients.python.body import make_body
from harness.clients.serve import serve
from harness.clock import ANCHOR_PERIOD_S, mono_ns, take_anchor
from harness.rundir.files import JsonValue
from harness.rundir.lines import RecordLog

IDLE_S = 0.05
GIVE_UP_S = 2.0
"""Beyond its timeout; then a send is unknown whatever its client still does."""
END_S_MAX = 4.0
KEYS_KEPT = 4096


@dataclass(frozen=True, kw_only=True)
class Message:
    """One send as a client is asked for it. ``slot`` selects a queue for ordered sends; None leaves it to the client."""

    key: str
    body: bytes
    slot: int | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a client told. ``status`` is RocketMQ's; a queue is None where the client does not tell it."""

    status: str = "SEND_OK"
    queue: int | None = None
    offset: int | None = None
    msg_id: str = ""


class Client(Protocol):
    """One producer of one thread. What it raises is recorded as an unknown outcome."""

    def send(self, message: Message) -> Answer | None:
        """Send and wait for the answer; None for a send that has none."""

    def send_batch(self, messages: list[Message]) -> Answer:
        """Send all of them as one."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What a client is made with."""

    namesrv: str
    group: str
    instance: str
    sends: SendSettings
    logs: Path


Open = Callable[[Opening], Client]

CLIENTS = {
    "native": "harness.clients.python.native",
    "python2": "harness.clients.python.native",
    "grpc": "harness.clients.python.proxied",
}
"""Where ``open_client`` of each kind is; a process imports one of them, since all own the package ``rocketmq``."""


class Line:
    """When each operation is due: pieces of constant rate, as ``Schedule.java`` has them."""

    def __init__(self, start_ns: int, rate_hz: float) -> None:
        self._pieces = [(start_ns, 0.0, rate_hz)]

    def steer(self, rate_hz: float) -> None:
        """A new rate from now on."""
        start_ns, before, old_hz = self._pieces[-1]
        now_ns = max(mono_ns(), start_ns)
        self._pieces.append((now_ns, before + (now_ns - start_ns) * old_hz / 1e9, rate_hz))

    def due_ns(self, index: int) -> int | None:
        """When the operation is due by what is known now; None while nothing is asked for."""
        pieces = self._pieces
        at = max(bisect.bisect_right(pieces, float(index), key=lambda piece: piece[1]) - 1, 0)
        start_ns, before, rate_hz = pieces[at]
        return None if rate_hz <= 0 else start_ns + int((index - before) * 1e9 / rate_hz)

    def due(self) -> int:
        """How many operations are due by now."""
        start_ns, before, rate_hz = self._pieces[-1]
        return math.ceil(before + max(0, mono_ns() - start_ns) * rate_hz / 1e9)


@dataclass
class Flight:
    """One operation (or batch) on its way in a thread."""

    first: int
    count: int
    key: str
    intended_ns: int
    started_ns: int
    over: bool = False


@dataclass
class Tally:
    """What has ended since it was taken last, and lateness over all."""

    requests: int = 0
    failures: int = 0
    bytes: int = 0
    sum_ms: int = 0
    min_ms: int = 2**31
    max_ms: int = 0
    response_ms: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, latency_ns: int, count: int, error: str) -> None:
        """Count one message."""
        ms = round(latency_ns / 1e6)
        self.requests += 1
        self.bytes += count
        self.sum_ms += ms
        self.min_ms, self.max_ms = min(self.min_ms, ms), max(self.max_ms, ms)
        # As Locust rounds: to two digits above 100 ms.
        self.response_ms[ms if ms < 100 else round(ms, 2 - len(str(ms)))] += 1
        if error:
            self.failures += 1
            self.errors[error] += 1


class Load:
    """Threads, each with a client of its own, that send on a schedule or as fast as they are answered."""

    def __init__(
        self, worker: PythonWorker, opening: Opening, open_client: Open, line: Line | None, operations: int
    ) -> None:
        self._worker = worker
        self._opening = opening
        self._sends = opening.sends
        self._open = open_client
        self._line = line
        self._operations = operations
        self._at_once = 0
        self._skipped_below = self._abandoned = 0
        self._next = itertools.count()
        self._lock = threading.Lock()
        self._tally = Tally()
        self._late_us: list[int] = []
        self._flights: list[Flight | None] = [None] * self._sends.threads
        self.issued = self.ended = 0
        self.stopped = False
        # Every thread asks for every operation's key, at about the same time.
        self._key = functools.lru_cache(KEYS_KEPT)(self._draw_key)
        self._clients = [self._client(thread) for thread in range(self._sends.threads)]
        self._threads = [threading.Thread(target=self._run, args=(t,), daemon=True) for t in range(self._sends.threads)]
        for one in self._threads:
            one.start()

    def _client(self, thread: int) -> Client:
        # A client of its own for each thread: several threads on one producer of the native library fail now and then.
        opening = self._opening
        return self._open(
            Opening(
                namesrv=opening.namesrv,
                group=opening.group,
                instance=f"{opening.instance}-{thread}",
                sends=opening.sends,
                logs=opening.logs,
            )
        )

    def steer(self, to: float) -> None:
        """The rate, or the number of threads that send."""
        if self._line is not None:
            self._line.steer(to)
        self._at_once = round(to)

    def due(self) -> int:
        """Messages that should have been issued by now."""
        if self._line is None or self.stopped:
            return self.issued
        batches = -(-self._line.due() // self._sends.batch)
        return min(batches * self._sends.batch, self._operations) - self._abandoned

    def abandon(self) -> int:
        """Forget what was due and has not been issued; returns how much that is."""
        left = max(0, self.due() - self.issued)
        self._skipped_below = self._line.due() if self._line is not None else 0
        self._abandoned += left
        return left

    @property
    def sending(self) -> bool:
        """Whether more will come."""
        return not self.stopped and any(thread.is_alive() for thread in self._threads)

    def _run(self, thread: int) -> None:
        if self._line is None:
            while not self.stopped:
                if thread < self._at_once:
                    self._send(thread, next(self._next) * self._sends.batch, None)
                else:
                    time.sleep(IDLE_S)
            return
        index = 0
        while index < self._operations and not self.stopped:
            if index < self._skipped_below or not self._is_of(thread, index):
                index += self._sends.batch
                continue
            due_ns = self._line.due_ns(index)
            wait_s = IDLE_S if due_ns is None else (due_ns - mono_ns()) / 1e9
            if due_ns is None or wait_s > 0:
                time.sleep(min(wait_s, IDLE_S))
            else:
                self._send(thread, index, due_ns)
                index += self._sends.batch

    def _is_of(self, thread: int, index: int) -> bool:
        """Whether an operation is one of a thread's: a key that orders stays with one thread, so that its sends do."""
        by = self._key(index) if self._sends.route == "selector" else index // self._sends.batch
        return by % self._sends.threads == thread

    def _send(self, thread: int, index: int, intended_ns: int | None) -> None:
        sends = self._sends
        key = self._key(index)
        started_ns = mono_ns()
        flight = Flight(
            first=index,
            count=sends.batch,
            key=f"{sends.key_prefix}{key}" if sends.keys else "",
            intended_ns=started_ns if intended_ns is None else intended_ns,
            started_ns=started_ns,
        )
        messages = [self._message(flight, i, key) for i in range(sends.batch)]
        with self._lock:
            self.issued += sends.batch
        self._flights[thread] = flight
        answer, error = None, None
        flight.started_ns = mono_ns()
        try:
            client = self._clients[thread]
            answer = client.send_batch(messages) if sends.mode == "batch" else client.send(messages[0])
        except Exception as problem:  # whatever the library raises: the outcome of this send is not known
            error = problem
        self._over(flight, answer, error, [len(message.body) for message in messages])
        self._flights[thread] = None

    def _draw_key(self, index: int) -> int:
        sends = self._sends
        if sends.keys <= 1:
            return 0
        if sends.key_distribution == "cycle":
            return index % sends.keys
        drawn = random.Random(sends.seed * 1_000_003 + index).random()
        match sends.key_distribution:
            case "hot":
                if drawn < sends.key_skew:
                    return 0
                return 1 + int((drawn - sends.key_skew) / (1 - sends.key_skew) * (sends.keys - 1))
            case "zipf":
                return min(bisect.bisect_right(self._zipf, drawn * self._zipf[-1]), sends.keys - 1)
            case _:
                return int(drawn * sends.keys)

    @property
    def _zipf(self) -> list[float]:
        if not hasattr(self, "_zipf_sums"):
            weights = ((rank + 1) ** -self._sends.key_skew for rank in range(self._sends.keys))
            self._zipf_sums = list(itertools.accumulate(weights))
        return self._zipf_sums

    def _message(self, flight: Flight, place: int, key: int) -> Message:
        sends = self._sends
        index = flight.first + place
        size = random.Random(index ^ sends.seed).choices(sends.body_bytes, sends.body_shares)[0]
        return Message(
            key=flight.key,
            body=make_body(sends.run, self._seq(index), flight.intended_ns, size),
            slot=key if sends.route == "selector" else None,
        )

    def _seq(self, index: int) -> int:
        return self._sends.first + index * self._sends.step

    def _over(self, flight: Flight, answer: Answer | None, error: Exception | None, sizes: list[int]) -> None:
        finished_ns = mono_ns()
        with self._lock:
            if flight.over:
                return  # it was given up before; what it says now comes too late
            flight.over = True
        for place in range(flight.count):
            problem = self._record(flight, place, finished_ns, answer, error)
            with self._lock:
                self._tally.add(finished_ns - flight.intended_ns, sizes[place] if sizes else 0, problem)
                self._late_us.append((flight.started_ns - flight.intended_ns) // 1000)
                self.ended += 1

    def _record(
        self, flight: Flight, place: int, finished_ns: int, answer: Answer | None, error: Exception | None
    ) -> str:
        values: dict[str, JsonValue] = {
            "topic": self._sends.topic,
            "seq": self._seq(flight.first + place),
            "intended_ns": flight.intended_ns,
            "started_ns": flight.started_ns,
            "finished_ns": finished_ns,
            "outcome": "ok" if answer is not None and answer.status == "SEND_OK" else "unknown",
        }
        if flight.key:
            values["key"] = flight.key
        problem = ""
        if answer is not None:
            if answer.queue is not None and self._worker.only_broker:
                values |= {"broker": self._worker.only_broker, "queue": answer.queue}
            if answer.offset is not None:
                values["offset"] = answer.offset + place
            values["msg_id"] = answer.msg_id
            if answer.status != "SEND_OK":
                problem = values["remark"] = answer.status
        if error is not None:
            problem = type(error).__name__
            values["remark"] = str(error)[:2000]
        if problem:
            values["error"] = problem
        self._worker.record("send", {"instance": self._opening.instance, **values})
        return problem

    def give_up(self) -> None:
        """Count what has not returned long after its timeout as unknown."""
        limit_ns = int((self._sends.timeout_ms / 1000 + GIVE_UP_S) * 1e9)
        for flight in list(self._flights):
            if flight is not None and not flight.over and mono_ns() - flight.started_ns > limit_ns:
                self._over(flight, None, TimeoutError("the client did not return"), [])

    def take(self) -> dict[str, object]:
        """As ``Tally.java`` tells it."""
        self.give_up()
        with self._lock:
            taken, self._tally = self._tally, Tally()
            late = sorted(self._late_us)
        quantiles = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}
        return {
            **vars(taken),
            "min_ms": taken.min_ms if taken.requests else 0,
            "late_us": {name: late[int(share * (len(late) - 1))] if late else 0 for name, share in quantiles.items()},
        }


class PythonWorker:
    """Commands by name, as ``harness.clients.worker.Worker`` has them."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._process = str(spec["process"])
        self._client = str(spec["client"])
        self.only_broker = str(spec["only_broker"])
        self._module = importlib.import_module(CLIENTS[spec["kind"]])
        self._logs = Path(spec["logs"])
        self._history: RecordLog | None = None
        self._producer: Mapping[str, str] = {}
        self._loads: dict[str, Load] = {}
        threading.Thread(target=self._anchor_forever, daemon=True).start()

    def record(self, kind: str, values: Mapping[str, JsonValue]) -> None:
        """One record of this process's history."""
        if self._history is not None:
            self._history.write(kind, {"process": self._process, "client": self._client, **values})

    def _anchor(self) -> None:
        anchor = take_anchor()
        self.record("anchor", {"mono_ns": anchor.mono_ns, "wall_us": anchor.wall_us})

    def _anchor_forever(self) -> None:
        wake = threading.Event()
        while not wake.wait(ANCHOR_PERIOD_S):
            self._anchor()

    def open_history(self, path: str) -> None:
        """Write to ``path`` from now on."""
        self._history = RecordLog(Path(path))
        self._anchor()

    def close_history(self) -> str:
        """Every record is with the kernel already."""
        if self._history is not None:
            self._anchor()
            self._history.close()
            self._history = None
        return ""

    def start_producer(
        self, instance: str, group: str, namesrv: str, transactional: bool, settings: Mapping[str, Any]
    ) -> None:
        """Producers are made with the load, one for each of its threads."""
        self._producer = {"instance": instance, "group": group, "namesrv": namesrv}

    def start_schedule(
        self, name: str, instance: str, rate_hz: float, start_ns: int, operations: int, settings: Mapping[str, Any]
    ) -> None:
        """An open loop."""
        self._start(name, settings, Line(start_ns, rate_hz), operations)

    def start_saturation(self, name: str, instance: str, settings: Mapping[str, Any]) -> None:
        """A closed loop."""
        self._start(name, settings, None, 0)

    def _start(self, name: str, settings: Mapping[str, Any], line: Line | None, operations: int) -> None:
        sends = SendSettings(**settings)
        opening = Opening(sends=sends, logs=self._logs, **self._producer)
        self._loads[name] = Load(self, opening, self._module.open_client, line, operations)

    def steer(self, name: str, to: float) -> None:
        """Change a load from now on."""
        self._loads[name].steer(to)

    def take(self, name: str) -> dict[str, object]:
        """What has ended since this was asked last."""
        return self._loads[name].take()

    def schedule_state(self, name: str) -> dict[str, int | bool]:
        """How many sends were due, were issued and have ended, and whether more will come."""
        load = self._loads[name]
        load.give_up()
        return {"due": load.due(), "issued": load.issued, "ended": load.ended, "sending": load.sending}

    def abandon(self, name: str) -> int:
        """Forget what was due and has not been issued; returns how much that is."""
        return self._loads[name].abandon()

    def stop_schedule(self, name: str) -> None:
        """No further send is issued."""
        self._loads[name].stopped = True

    def end(self) -> None:
        """What is under way may still be answered and recorded."""
        for load in self._loads.values():
            load.stopped = True
        deadline = time.monotonic() + END_S_MAX
        while any(load.issued != load.ended for load in self._loads.values()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.close_history()


if __name__ == "__main__":
    serve(PythonWorker)
