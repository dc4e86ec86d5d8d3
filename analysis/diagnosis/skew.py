"""How far the clocks of two nodes are apart, by events that both wrote at one moment.

A registration is told by the broker and, when it is the first one there, by the name server; sends are refused at a
client's while one of the broker's appends is slow. Times of one kind lie beside those of the other at one distance, then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.diagnosis.found import Logs, overlap
from harness.language import phrase
from harness.model.log_events import Logged

SAME_S = 1.5
"""Stock times are whole seconds."""
SAID_S_MIN = 3.0
"""What is nearer is the layout's resolution and the way between the nodes."""
SHARE_MIN = 0.8
TIMES_MAX = 60
"""Of each side: the first ones; every distance between any two is tried."""
REGISTRATIONS_MIN = 2
REGISTERED_S = 65.0
"""A broker registers every 30 s."""
BURSTS_MIN = 3
"""Fewer bursts than this fit beside appends by chance."""


@dataclass(frozen=True, kw_only=True)
class Skew:
    """The clock of ``node`` is ``ahead_s`` seconds ahead of that of ``other``, by so many ``pairs`` of events, namely ``by``."""

    node: str
    other: str
    ahead_s: float
    pairs: int
    by: str


def skews(logs: Logs) -> tuple[Skew, ...]:
    """Of all pairs of nodes whose clocks are apart by more than the layouts can say."""
    return tuple(one for one in (*_of_registrations(logs), *_of_refusals(logs)) if abs(one.ahead_s) >= SAID_S_MIN)


def _of_registrations(logs: Logs) -> Iterator[Skew]:
    addresses = {one.get("address"): one.node for one in logs.of(Logged.BOOTED) if one.get("broker")}
    came: dict[tuple[str, str], list[float]] = {}
    for one in logs.of(Logged.BROKER_CAME):
        broker = addresses.get(one.get("address"))
        if broker is not None and broker != one.node and one.from_s is not None:
            came.setdefault((one.node, broker), []).append(one.from_s)
    for (server, broker), times in came.items():
        starts = list(_first_registrations(logs, broker))
        found = distance(times, starts, least=max(REGISTRATIONS_MIN, min(len(times), len(starts))))
        if found is not None:
            yield Skew(node=server, other=broker, ahead_s=found[0], pairs=found[1], by=phrase("first registrations"))


def _first_registrations(logs: Logs, broker: str) -> Iterator[float]:
    """When a broker registered after each of its starts, by its own lines, which is what was news to a name server.

    Where it has no line of that, it did as it started, unless one says that this failed.
    """
    for start in logs.of(Logged.BOOTED):
        if start.node != broker or start.from_s is None:
            continue
        soon = (start.from_s, start.from_s + REGISTERED_S)
        done = [
            one.from_s
            for one in logs.of(Logged.REGISTERED)
            if one.node == broker and one.from_s is not None and soon[0] - SAME_S <= one.from_s <= soon[1]
        ]
        if done:
            yield min(done)
        elif not any(one.node == broker and overlap(one, *soon) for one in logs.of(Logged.NOT_REGISTERED)):
            yield start.from_s


def _of_refusals(logs: Logs) -> Iterator[Skew]:
    refused = _by_node(logs, (Logged.REFUSED_FOR_AGE, Logged.REFUSED_FOR_CACHE))
    appends = _by_node(logs, (Logged.SLOW_APPEND,))
    for client, bursts in refused.items():
        for broker, slow in appends.items():
            if client != broker:
                found = distance(bursts, slow, least=BURSTS_MIN)
                if found is not None:
                    yield Skew(
                        node=client,
                        other=broker,
                        ahead_s=found[0],
                        pairs=found[1],
                        by=phrase("refused sends and slow appends"),
                    )


def _by_node(logs: Logs, kinds: Iterable[Logged]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for one in logs.of(*kinds):
        if one.to_s is not None:
            times.setdefault(one.node, []).append(one.to_s)
    return times


def distance(times: Sequence[float], others: Sequence[float], *, least: int) -> tuple[float, int] | None:
    """How far ``times`` are ahead of ``others`` and how many of them pair, where one distance pairs most of the fewer ones.

    None where fewer than ``least`` pair, or where another distance pairs as many.
    """
    times, others = sorted(times)[:TIMES_MAX], sorted(others)[:TIMES_MAX]
    if not times or not others or least < 1:
        return None
    scored = sorted(
        ((_pairs(times, others, one - other), one - other) for one in times for other in others),
        key=lambda score: (-score[0], abs(score[1])),
    )
    pairs, best_s = scored[0]
    needed = max(least, SHARE_MIN * min(len(times), len(others)))
    rival = any(count == pairs and abs(ahead_s - best_s) > 2 * SAME_S for count, ahead_s in scored)
    return None if pairs < needed or rival else (best_s, pairs)


def _pairs(times: Sequence[float], others: Sequence[float], ahead_s: float) -> int:
    """How many of both lie beside each other at this distance, in order."""
    pairs = at = 0
    for one in times:
        while at < len(others) and others[at] + ahead_s < one - SAME_S:
            at += 1
        if at < len(others) and others[at] + ahead_s <= one + SAME_S:
            pairs, at = pairs + 1, at + 1
    return pairs
