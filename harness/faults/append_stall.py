"""One append to the commit log takes as long as asked, inside the put lock: a Byteman rule in the broker's own JVM.

The rule is loaded when the broker starts and armed over a loopback connection (``byteman/StallHelper.java``). It ends by
itself and dies with the broker, so that there is nothing that could be left behind. The same rule can only watch, which
is how a stall of another making is measured at the same place.
"""

import contextlib
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.backends.cluster import Node, masters
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.rules import answer_of, asked_rule, rule_of, stamps_of
from harness.model.faults import AppendStall, AppendWatch, CommitStall
from harness.rundir.events import EventLog
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

DELAYED_BEFORE_MS = 800.0


def stall_append(fault: AppendStall, trial: TrialContext, load: LoadSession) -> Injected:
    """Stall appends of the first master, or of each, as the fault says; returns when the last has ended.

    Their own stamps are the fault's.
    """
    brokers = masters(trial.cluster)[: None if fault.every_master else 1]
    asked_ms = float(trial.params["stall_ms"])
    if fault.before_store_ms:
        # Each send is held up in its send thread, before the store, for so long.
        for broker in brokers:
            with rule_of(broker) as connection:
                connection.sendall(f"delay {fault.before_store_ms} {asked_ms + DELAYED_BEFORE_MS}\n".encode())
                answer_of(connection, broker, "delaying")
        # Requests that are taken up from now on are late by it; the stall begins among them.
        trial.stay(DELAYED_BEFORE_MS / 2000)
    armed_ns = mono_ns()

    def stalls_of(broker: Node) -> list[list[int]]:
        found = []
        for after_s in moments(fault, asked_ms / 1000, lambda: f"{trial.record.seed} {broker.name}"):
            if after_s:
                trial.stay(after_s - (mono_ns() - armed_ns) / 1e9)
            found.append(asked_rule(broker, f"stall {asked_ms}", 3))
        return found

    with ThreadPoolExecutor(len(brokers)) as threads:
        by_broker = list(threads.map(stalls_of, brokers))
    for broker, stamps in zip(brokers, by_broker, strict=True):
        for entry_ns, delay_end_ns, exit_ns in stamps:
            trial.events.record(
                "append", node=broker.name, entry_ns=entry_ns, delay_end_ns=delay_end_ns, exit_ns=exit_ns
            )
    return _stalled(brokers, asked_ms, armed_ns, [one for stamps in by_broker for one in stamps])


def moments(fault: AppendStall, stall_s: float, seed: Callable[[], str]) -> list[float]:
    """When one master's stalls begin, in seconds from now; at once where no time is given for them.

    Each set of moments between which a stall has room is as likely as any other.
    """
    if not fault.within_s:
        return [0.0] * fault.times
    draw, free_s = random.Random(seed()), max(0.0, fault.within_s - fault.times * stall_s)
    rests = sorted(draw.uniform(0.0, free_s) for _ in range(fault.times))
    return [rest_s + number * stall_s for number, rest_s in enumerate(rests)]


def stall_commit(fault: CommitStall, trial: TrialContext, load: LoadSession) -> Injected:
    """Let the next commit of the first master's transient store pool to the page cache stand still, until it goes on.

    That is what a page cache that takes no writes does to the pool, without root and without any append being slow: the
    commit runs in a thread of its own, outside of the put lock.
    """
    broker = masters(trial.cluster)[0]
    asked_ms, armed_ns = float(trial.params["stall_ms"]), mono_ns()
    entry_ns, delay_end_ns = asked_rule(broker, f"commit {asked_ms}", 2)
    return _stalled([broker], asked_ms, armed_ns, [(entry_ns, delay_end_ns, delay_end_ns)])


def _stalled(brokers: Sequence[Node], asked_ms: float, armed_ns: int, stamps: Sequence[Sequence[int]]) -> Injected:
    """From the first entry to the last exit; as long as the stall that is farthest from what was asked."""
    entries, delay_ends, exits = zip(*stamps, strict=True)
    lengths_ms = [(exit_ns - entry_ns) / 1e6 for entry_ns, exit_ns in zip(entries, exits, strict=True)]
    return Injected(
        target=", ".join(broker.name for broker in brokers),
        asked_ms=asked_ms,
        achieved_ms=max(lengths_ms, key=lambda length_ms: abs(length_ms - asked_ms)),
        injecting_ns=armed_ns,
        injected_ns=min(entries),
        healing_ns=max(delay_ends),
        healed_ns=max(exits),
    )


@dataclass(frozen=True)
class AppendTally:
    """Appends by the time that each held the lock; ``longest_ns`` of the longest, ``sum_ns`` of all."""

    count: int
    under_1_ms: int
    over_500_ms: int
    sum_ns: int
    longest_ns: int


class WatchedAppends:
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
        return AppendTally(*self._ended_by("tally", 5))

    def _ended_by(self, word: str, count: int) -> list[int]:
        try:
            self._connection.sendall(f"{word}\n".encode())
        except OSError as error:
            raise ClientError(f"the appends of {self._broker.name} are not watched any more: {error}") from error
        return stamps_of(self._connection, self._broker, count)


@contextlib.contextmanager
def watch_appends(broker: Node) -> Iterator[WatchedAppends]:
    """Let the broker's rule stamp appends without delaying them. Raises ClientError when it has no rule."""
    with rule_of(broker) as connection:
        connection.sendall(b"watch\n")
        answer_of(connection, broker, "watching")
        yield WatchedAppends(broker, connection)


def watch(fault: AppendWatch, trial: TrialContext, load: LoadSession) -> Injected:
    """Let the broker stamp appends for the cell's ``watch_ms``, and record what was seen."""
    broker, begun_ns = masters(trial.cluster)[0], mono_ns()
    with watch_appends(broker) as appends:
        trial.stay(float(trial.params["watch_ms"]) / 1000)
        tally = appends.tally()
    record_tally(trial.events, broker.name, tally)
    return Injected(target=broker.name, injecting_ns=begun_ns, injected_ns=begun_ns)


def record_tally(events: EventLog, node: str, tally: AppendTally) -> None:
    """Record how many appends there were, the share below 1 ms, how many above 500 ms, their mean and the longest."""
    events.reading("append_count", tally.count, target=node)
    if tally.count:
        events.reading("append_short_share", tally.under_1_ms / tally.count, target=node)
        events.reading("append_mean_ms", tally.sum_ns / tally.count / 1e6, target=node)
        events.reading("append_over_500_count", tally.over_500_ms, target=node)
        events.reading("append_longest_ms", tally.longest_ns / 1e6, target=node)


INJECTIONS: Injections = {
    AppendWatch: Injection(name="none", inject=watch),
    AppendStall: Injection(name="byteman", inject=stall_append),
    CommitStall: Injection(name="byteman", inject=stall_commit),
}
