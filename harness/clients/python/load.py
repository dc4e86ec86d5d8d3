"""One load of a Python client: threads that send, and a record of what became of each send.

What a client cannot tell is left out of the record, never guessed: a send whose queue is not known has none, and a
failure of the native library says little more than that it failed, so that a failed send is unknown. A send that does
not return is given up after its timeout and counts as unknown, so that a client that hangs does not hang its load.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from harness.clients.python.body import make_body
from harness.clients.python.client import Answer, Client, Message, Opening
from harness.clients.python.draws import Draws
from harness.clients.python.schedule import Schedule
from harness.clients.python.tally import Tally
from harness.clock import mono_ns
from harness.rundir.files import JsonValue

IDLE_S = 0.05
ROOM_S = 0.001
"""How soon an asynchronous send whose answer has come makes room for the next."""
GIVE_UP_S = 2.0
"""How long after its timeout a send that did not return counts as unknown, whatever its client still does; by default."""
SHUTDOWN_S_MAX = 3.0
"""The native library's shutdown may hang."""


class Records(Protocol):
    """Where a load's records go.

    ``only_broker`` is the topic's one broker, empty when it has several; ``client`` is the client's name and release.
    """

    only_broker: str
    client: str

    def record(self, kind: str, values: Mapping[str, JsonValue]) -> None:
        """Write one record."""


@dataclass(eq=False, kw_only=True)
class Flight:
    """One operation (or batch) on its way. ``sizes`` are its messages' in bytes, ``started_ns`` is when it left."""

    first: int
    key: str
    intended_ns: int
    started_ns: int
    sizes: tuple[int, ...] = ()


class Load:
    """Threads, each with its own client, that send on a schedule, or as fast as they are answered."""

    def __init__(
        self,
        records: Records,
        opening: Opening,
        open_client: Callable[[Opening], Client],
        schedule: Schedule | None,
        operations: int,
        give_up_s: float = GIVE_UP_S,
    ) -> None:
        self._records = records
        self._opening = opening
        self._sends = opening.sends
        self._schedule = schedule
        self._operations = operations
        self._give_up_s = give_up_s
        self._at_once = 0
        self._skipped_below = self._abandoned = 0
        self._next = itertools.count()
        self._lock = threading.Lock()
        self._tally = Tally()
        self._late_us: list[int] = []
        self._flights: set[Flight] = set()
        self.issued = self.ended = 0
        self.stopped = False
        self._draws = Draws(opening.sends)
        # A client of its own for each thread: several threads on one producer of the native library fail now and then.
        self._clients = [
            open_client(replace(opening, instance=f"{opening.instance}-{thread}"))
            for thread in range(self._sends.threads)
        ]
        self._threads = [threading.Thread(target=self._run, args=(t,), daemon=True) for t in range(self._sends.threads)]
        for one in self._threads:
            one.start()

    def steer(self, to: float) -> None:
        """Set the rate, or the number of threads that send."""
        if self._schedule is not None:
            self._schedule.steer(to)
        self._at_once = round(to)

    def due(self) -> int:
        """Messages that should have been issued by now."""
        if self._schedule is None or self.stopped:
            return self.issued
        batches = -(-self._schedule.due() // self._sends.batch)
        return min(batches * self._sends.batch, self._operations) - self._abandoned

    def abandon(self) -> int:
        """Forget what was due and has not been issued; returns how much that is."""
        left = max(0, self.due() - self.issued)
        self._skipped_below = self._schedule.due() if self._schedule is not None else 0
        self._abandoned += left
        return left

    @property
    def sending(self) -> bool:
        """Whether more sends will come."""
        return not self.stopped and any(thread.is_alive() for thread in self._threads)

    def _run(self, thread: int) -> None:
        if self._schedule is None:
            while not self.stopped:
                # A thread that waits for answers has one message on its way; one that does not, all of them.
                waits = self._sends.mode != "async"
                if (thread if waits else self.issued - self.ended) < self._at_once:
                    self._send(thread, next(self._next) * self._sends.batch, None)
                else:
                    time.sleep(IDLE_S if waits else ROOM_S)
            return
        index = 0
        while index < self._operations and not self.stopped:
            if index < self._skipped_below or not self._is_of(thread, index):
                index += self._sends.batch
                continue
            due_ns = self._schedule.due_ns(index)
            wait_s = IDLE_S if due_ns is None else (due_ns - mono_ns()) / 1e9
            if due_ns is None or wait_s > 0:
                time.sleep(min(wait_s, IDLE_S))
            else:
                self._send(thread, index, due_ns)
                index += self._sends.batch

    def _is_of(self, thread: int, index: int) -> bool:
        """Whether a thread sends the operation. A key that orders stays with one thread, so that its sends stay in
        order."""
        by = self._draws.key(index) if self._sends.route == "selector" else index // self._sends.batch
        return by % self._sends.threads == thread

    def _send(self, thread: int, index: int, intended_ns: int | None) -> None:
        sends = self._sends
        key = self._draws.key(index)
        started_ns = mono_ns()
        flight = Flight(
            first=index,
            key=f"{sends.key_prefix}{key}" if sends.keys else "",
            intended_ns=started_ns if intended_ns is None else intended_ns,
            started_ns=started_ns,
        )
        messages = [self._message(flight, place, key) for place in range(sends.batch)]
        flight.sizes = tuple(len(message.body) for message in messages)

        def answered(answer: Answer | None, error: Exception | None) -> None:
            self._over(flight, answer, error)

        with self._lock:
            self.issued += sends.batch
            self._flights.add(flight)
        flight.started_ns = mono_ns()
        try:
            client, answer = self._clients[thread], None
            match sends.mode:
                case "async":
                    client.send_async(messages[0], answered)
                    return
                case "oneway":
                    client.send_oneway(messages[0])
                case "batch":
                    answer = client.send_batch(messages)
                case _:
                    answer = client.send(messages[0])
        except Exception as problem:  # whatever the library raises: the outcome of this send is not known
            answered(None, problem)
        else:
            answered(answer, None)

    def _message(self, flight: Flight, place: int, key: int) -> Message:
        sends = self._sends
        index = flight.first + place
        seq = self._seq(index)
        return Message(
            key=flight.key,
            body=make_body(sends.run, seq, flight.intended_ns, self._draws.body_bytes(index)),
            slot=key if sends.route == "selector" else None,
            tag=str(seq) if self._opening.traced else "",
        )

    def _seq(self, index: int) -> int:
        return self._sends.first + index * self._sends.step

    def _over(self, flight: Flight, answer: Answer | None, error: Exception | None) -> None:
        finished_ns = mono_ns()
        with self._lock:
            if flight not in self._flights:
                return  # It was given up before, or the client speaks twice of it.
            self._flights.remove(flight)
        for place, size in enumerate(flight.sizes):
            problem = self._record(flight, place, finished_ns, answer, error)
            with self._lock:
                self._tally.add(finished_ns - flight.intended_ns, size, problem)
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
            if answer.queue is not None and self._records.only_broker:
                values |= {"broker": self._records.only_broker, "queue": answer.queue}
            if answer.offset is not None:
                values["offset"] = answer.offset + place
            values["msg_id"] = answer.msg_id
            if answer.status != "SEND_OK":
                problem = values["remark"] = values["status"] = answer.status
        if error is not None:
            problem = type(error).__name__
            values["remark"] = str(error)[:2000]
        if problem:
            values["error"] = problem
        self._records.record("send", {"instance": self._opening.instance, "client": self._records.client, **values})
        return problem

    def give_up(self) -> None:
        """Record sends that did not return so long after their timeout as unknown."""
        limit_ns = int((self._sends.timeout_ms / 1000 + self._give_up_s) * 1e9)
        with self._lock:
            late = [flight for flight in self._flights if mono_ns() - flight.started_ns > limit_ns]
        for flight in late:
            self._over(flight, None, TimeoutError("the client did not return"))

    def shut_down(self) -> None:
        """Let every client leave the cluster, for ``SHUTDOWN_S_MAX`` at most."""
        leaving = [threading.Thread(target=client.shutdown, daemon=True) for client in self._clients]
        for thread in leaving:
            thread.start()
        deadline = time.monotonic() + SHUTDOWN_S_MAX
        for thread in leaving:
            thread.join(max(0.0, deadline - time.monotonic()))

    def take(self) -> dict[str, object]:
        """What has ended since this was asked last, in the form of ``Tally.java``."""
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
