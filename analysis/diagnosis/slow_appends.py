"""How long appends held the put lock, as brokers wrote it: each of more than 500 ms, and how many took how long in each minute.

Stores of 4.x and 5.x write both (org.apache.rocketmq.store.CommitLog and StoreStatsService).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Logs, span
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.log_events import Logged

LOGGED_FROM_MS = 500
"""RocketMQ logs an append from this time in the lock on."""
MINUTE_S = 60.0
NO_TIME = phrase("no time")


@dataclass(frozen=True, kw_only=True)
class SlowAppend:
    """One line about an append: ``ms`` in the lock, ``at_s`` in seconds since 1970, UTC."""

    at_s: float | None
    ms: float
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Unreachable:
    """Lines that say that a broker or name server could not be reached, or that its connection broke, and the first of them."""

    lines: int
    from_s: float | None
    to_s: float | None
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class SlowAppends:
    """``appends`` over the threshold, in the order of time, ``by_minute`` how many of them there were, by the minute in UTC.

    ``durations`` are all appends by RocketMQ's own buckets. Around ``unreachable`` some sends are refused for their age by a broker
    that has just started, or is being ended, with no append that is slow.
    """

    threshold_ms: int
    appends: tuple[SlowAppend, ...]
    by_minute: Mapping[str, int]
    durations: Mapping[str, int]
    unreachable: Unreachable | None


def slow_appends(logs: Logs, threshold_ms: int = LOGGED_FROM_MS) -> SlowAppends:
    """What the logs say of them."""
    # The store's warnings are in storeerror.log as well.
    once = {
        (one.node, one.text): one for one in reversed(list(logs.of(Logged.SLOW_APPEND))) if one.most_ms > threshold_ms
    }
    over = sorted(once.values(), key=lambda one: (one.from_s is None, one.from_s or 0.0, one.file, one.line))
    minutes = Counter(None if one.from_s is None else one.from_s // MINUTE_S for one in over)
    durations: Counter[str] = Counter()
    for file in logs.files:
        durations.update(file.durations)
    return SlowAppends(
        threshold_ms=threshold_ms,
        appends=tuple(SlowAppend(at_s=one.from_s, ms=one.most_ms, file=one.file, line=one.line) for one in over),
        by_minute={_minute(at): count for at, count in minutes.items()},
        durations=dict(durations),
        unreachable=_unreachable(list(logs.of(Logged.UNREACHABLE))),
    )


def _minute(minute: float | None) -> str:
    return (words_of(minute * MINUTE_S) if minute is not None else "") or NO_TIME


def _unreachable(events: list[Event]) -> Unreachable | None:
    if not events:
        return None
    from_s, to_s = span(events)
    lines = sum(one.count for one in events)
    return Unreachable(lines=lines, from_s=from_s, to_s=to_s, file=events[0].file, line=events[0].line)
