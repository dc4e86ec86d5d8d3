"""One append to the commit log takes as long as asked, inside the put lock: a Byteman rule in the broker's own JVM.

The rule is loaded when the broker starts and armed over a loopback connection (``byteman/StallHelper.java``). It ends by
itself and dies with the broker, so that there is nothing that could be left behind. The same rule can only watch, which
is how a stall of another making is measured at the same place.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from harness.backends.cluster import Node, masters
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.rules import answer_of, rule_of, stamps_of
from harness.model.faults import AppendStall
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

DELAYED_BEFORE_MS = 800.0


class StallByByteman(Injection[AppendStall]):
    """Stalls the next append of the first master."""

    name = "byteman"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Arm, and wait until the stalled append has ended; its own stamps are the fault's."""
        broker = masters(trial.cluster)[0]
        asked_ms = float(trial.params["stall_ms"])
        if self.fault.before_store_ms:
            delay_requests(broker, self.fault.before_store_ms, for_ms=asked_ms + DELAYED_BEFORE_MS)
            # Requests that are taken up from now on are late by it; the stall begins among them.
            trial.stay(DELAYED_BEFORE_MS / 2000)
        armed_ns = mono_ns()
        entry_ns, delay_end_ns, exit_ns = stall_next_append(broker, asked_ms)
        trial.events.append(node=broker.name, entry_ns=entry_ns, delay_end_ns=delay_end_ns, exit_ns=exit_ns)
        return Injected(
            target=broker.name,
            asked_ms=asked_ms,
            achieved_ms=(exit_ns - entry_ns) / 1e6,
            injecting_ns=armed_ns,
            injected_ns=entry_ns,
            healing_ns=delay_end_ns,
            healed_ns=exit_ns,
        )


def stall_next_append(broker: Node, stall_ms: float) -> tuple[int, int, int]:
    """Entry, end of the delay and exit of the stalled append, in monotonic nanoseconds.

    Raises:
        ClientError: the broker has no rule, or no append came.
    """
    with rule_of(broker) as connection:
        connection.sendall(f"stall {stall_ms}\n".encode())
        entry_ns, delay_end_ns, exit_ns = stamps_of(connection, broker, 3)
    return entry_ns, delay_end_ns, exit_ns


def stall_next_commit(broker: Node, stall_ms: float) -> tuple[int, int]:
    """Entry and end of the delay of the pool's next commit, in monotonic nanoseconds. Raises ClientError."""
    with rule_of(broker) as connection:
        connection.sendall(f"commit {stall_ms}\n".encode())
        entry_ns, delay_end_ns = stamps_of(connection, broker, 2)
    return entry_ns, delay_end_ns


def delay_requests(broker: Node, delay_ms: float, *, for_ms: float) -> None:
    """Hold every send up for ``delay_ms`` in its send thread, before the store, for so long. Raises ClientError."""
    with rule_of(broker) as connection:
        connection.sendall(f"delay {delay_ms} {for_ms}\n".encode())
        answer_of(connection, broker, "delaying")


@dataclass(frozen=True, kw_only=True)
class AppendTally:
    """Appends by the time that each held the lock; ``longest_ns`` of the longest, ``sum_ns`` of all."""

    count: int
    under_1_ms: int
    over_500_ms: int
    sum_ns: int
    longest_ns: int


class AppendWatch:
    """The broker stamps every append since the watch began; see ``watch_appends``. It is ended by its first answer."""

    def __init__(self, broker: Node, connection: socket.socket) -> None:
        self._broker = broker
        self._connection = connection

    def longest(self) -> tuple[int, int]:
        """End the watch: entry and exit of the longest append, in monotonic nanoseconds.

        One that is under way is waited for. Raises ClientError when there was none.
        """
        entry_ns, exit_ns = self._ended_by("end", 2)
        return entry_ns, exit_ns

    def tally(self) -> AppendTally:
        """End the watch: all appends by their length. Raises ClientError."""
        count, under_1_ms, over_500_ms, sum_ns, longest_ns = self._ended_by("tally", 5)
        return AppendTally(
            count=count, under_1_ms=under_1_ms, over_500_ms=over_500_ms, sum_ns=sum_ns, longest_ns=longest_ns
        )

    def _ended_by(self, word: str, count: int) -> list[int]:
        try:
            self._connection.sendall(f"{word}\n".encode())
        except OSError as error:
            raise ClientError(f"the appends of {self._broker.name} are not watched any more: {error}") from error
        return stamps_of(self._connection, self._broker, count)


@contextlib.contextmanager
def watch_appends(broker: Node) -> Iterator[AppendWatch]:
    """Let the broker's rule stamp appends without delaying them. Raises ClientError when it has no rule."""
    with rule_of(broker) as connection:
        connection.sendall(b"watch\n")
        answer_of(connection, broker, "watching")
        yield AppendWatch(broker, connection)


INJECTIONS: Injections = {AppendStall: StallByByteman}
