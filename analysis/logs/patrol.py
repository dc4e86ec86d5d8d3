"""Which of the known incidents a broker's, a name server's or a client's logs show.

Appends that held the put lock for more than 500 ms are written by 4.x and 5.x alike, by their store's logger
(org.apache.rocketmq.store.CommitLog), and how many appends took how long in each minute (StoreStatsService). Everything
else is a sign that the caller asks for: events of :mod:`harness.model.log_events`. Times are taken as the log has
them, in the zone that it is written in (GMT+8 in stock logging).
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import BinaryIO

from harness.errors import ConfigurationError
from harness.model.log_events import Logged, Sign, words_of
from harness.model.rocketmq import PAGE_CACHE_BUSY_MS, SEND_WAIT_MS

LOGGED_FROM_MS = 500
"""RocketMQ logs an append from this time in the lock on."""

_SLOW = re.compile(rb"putMessages? in lock cost time\(ms\)=(\d+)")
_MINUTE = b"[PAGECACHERT]"
_BUCKET = re.compile(rb"\[([^\]]+)\]:(\d+)")
_TIME = re.compile(rb"^(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{3})?")
_AGED = (Logged.REFUSED_FOR_AGE,)
_PULL = "".join(words_of((Logged.PULL_FAILED,))).encode()
"""What stands below it was answered to a pull, and is no send that was refused."""
NO_TIME = "no time"
AROUND_A_GAP_S = 60.0
"""A broker that has just started, or is being ended, refuses some sends for their age with no append that is slow."""


@dataclass(frozen=True, kw_only=True)
class SlowAppend:
    """One line about an append: ``at`` as the log writes it, ``ms`` in the lock."""

    at: str
    ms: int
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """How often an incident's sign was seen, and when and where first and last; a time is empty where no line had one."""

    incident: str
    lines: int
    first_at: str
    last_at: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """A known incident that what was found is near to, why, and what to try."""

    incident: str
    because: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class Patrol:
    """What the logs say. ``by_minute`` counts appends over the threshold, ``durations`` all appends by RocketMQ's buckets."""

    threshold_ms: int
    files: tuple[str, ...]
    lines: int
    appends: tuple[SlowAppend, ...]
    by_minute: Mapping[str, int]
    durations: Mapping[str, int]
    signs: tuple[Sighting, ...]
    unreachable: Sighting | None = None
    """Brokers or name servers that could not be reached, or whose connection broke."""
    incidents: tuple[Likeness, ...] = field(default=())


def read_logs(paths: Sequence[Path], *, threshold_ms: int, signs: Sequence[Sign] = ()) -> Patrol:
    """Read every log, for slow appends and these signs.

    Raises:
        ConfigurationError: one cannot be read, or a folder has none.
    """
    appends: list[SlowAppend] = []
    durations: Counter[str] = Counter()
    words = [(sign.incident, _any_of(sign.events)) for sign in signs if sign.alone]
    aged, gone = _any_of(_AGED), _any_of((Logged.UNREACHABLE,))
    seen: dict[str, Sighting] = {}
    unreachable: Sighting | None = None
    files = [file for path in paths for file in _files(path)]
    lines = 0
    for file in files:
        refused: dict[str, Sighting] = {}
        gaps: set[str] = set()
        try:
            with _opened(file) as stream:
                at, of_pull = "", False
                for number, line in enumerate(stream, start=1):
                    lines += 1
                    # What an exception says comes in lines of their own, after the one with the time.
                    if started := _time_of(line):
                        at, of_pull = started, _PULL in line
                    if (slow := _slow_append(line, file, number)) is not None and slow.ms > threshold_ms:
                        appends.append(slow)
                    durations.update(_durations(line))
                    if gone.search(line):
                        gaps.add(at)
                        unreachable = _seen_again(unreachable, "", at, file, number)
                    for incident, pattern in words:
                        if not of_pull and pattern.search(line):
                            # Whether a send's age means a stall is known when the whole file is.
                            of = refused if pattern is aged else seen
                            key = at if pattern is aged else incident
                            of[key] = _seen_again(of.get(key), incident, at, file, number)
        except (OSError, EOFError) as error:
            raise ConfigurationError(
                f"{file} cannot be read: {error}", advice="Give log files, or folders with them."
            ) from error
        for at, one in refused.items():
            if not _near(at, gaps):
                seen[one.incident] = _joined(seen.get(one.incident), one)
    appends.sort(key=lambda append: (append.at, append.file, append.line))
    return Patrol(
        threshold_ms=threshold_ms,
        files=tuple(map(str, files)),
        lines=lines,
        appends=tuple(appends),
        by_minute=dict(sorted(Counter(_minute(append.at) for append in appends).items())),
        durations=dict(durations),
        signs=tuple(seen.values()),
        unreachable=unreachable,
        incidents=tuple(_likenesses(appends, signs, seen)),
    )


@cache
def _any_of(events: Sequence[Logged]) -> re.Pattern[bytes]:
    return re.compile("|".join(map(re.escape, words_of(events))).encode())


def _near(at: str, gaps: Collection[str]) -> bool:
    """Whether this time lies around one at which the broker could not be reached; times that no line has are near."""
    when = _seconds(at)
    if when is None:
        return bool(gaps)
    return any(other is None or abs(when - other) <= AROUND_A_GAP_S for other in map(_seconds, gaps))


@lru_cache(maxsize=100_000)
def _seconds(at: str) -> float | None:
    if not at:
        return None
    # A time without a date is one of some day: all of them are of the same here.
    dated = at if at[4] == "-" else f"1970-01-01 {at}"
    try:
        return datetime.fromisoformat(dated.replace(",", ".")).timestamp()
    except ValueError:
        return None


def _minute(at: str) -> str:
    return at.rpartition(":")[0] or NO_TIME


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        # The store's warnings are in its own log as well.
        file
        for file in path.rglob("*.log*")
        if file.is_file() and not file.name.startswith("storeerr")
    )
    if not found:
        raise ConfigurationError(f"{path} has no logs", advice="Stock logs lie in ~/logs/rocketmqlogs.")
    return found


def _seen_again(known: Sighting | None, incident: str, at: str, file: Path, number: int) -> Sighting:
    if known is None:
        return Sighting(incident=incident, lines=1, first_at=at, last_at=at, file=str(file), line=number)
    times = [time for time in (known.first_at, known.last_at, at) if time] or [""]
    return replace(known, lines=known.lines + 1, first_at=min(times), last_at=max(times))


def _joined(known: Sighting | None, other: Sighting) -> Sighting:
    if known is None:
        return other
    times = [time for time in (known.first_at, known.last_at, other.first_at, other.last_at) if time] or [""]
    return replace(known, lines=known.lines + other.lines, first_at=min(times), last_at=max(times))


def _opened(file: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")


def _slow_append(line: bytes, file: Path, number: int) -> SlowAppend | None:
    found = _SLOW.search(line)
    if found is None:
        return None
    return SlowAppend(at=_time_of(line), ms=int(found[1]), file=str(file), line=number)


def _time_of(line: bytes) -> str:
    time = _TIME.match(line)
    return time[0].decode() if time else ""


def _durations(line: bytes) -> dict[str, int]:
    if _MINUTE not in line:
        return {}
    after = line.partition(_MINUTE)[2]
    return {name.decode(): int(count) for name, count in _BUCKET.findall(after)}


def _likenesses(
    appends: Sequence[SlowAppend], signs: Sequence[Sign], found: Mapping[str, Sighting]
) -> Iterator[Likeness]:
    busy = [append for append in appends if append.ms > PAGE_CACHE_BUSY_MS]
    waited = [append for append in appends if SEND_WAIT_MS < append.ms <= PAGE_CACHE_BUSY_MS]
    if busy:
        yield Likeness(
            incident="append-lock-over-1s",
            because=f"{len(busy)} appends held the lock for more than {PAGE_CACHE_BUSY_MS:g} ms, the longest for "
            f"{max(append.ms for append in busy)} ms: with the default osPageCacheBusyTimeOutMills sends were refused "
            "meanwhile ([REJECTREQUEST], [PCBUSY_CLEAN_QUEUE]), and before that those that had waited for 200 ms",
            advice="Look at what the disk did at those times; the transient store pool, or more brokers.",
        )
    if waited:
        yield Likeness(
            incident="append-stall",
            because=f"{len(waited)} appends took {min(append.ms for append in waited)} to "
            f"{max(append.ms for append in waited)} ms: with the default waitTimeMillsInSendQueue whatever had waited for "
            "200 ms was refused ([TIMEOUT_CLEAN_QUEUE])",
            advice="At R sends a second that were about R * (length - 205 ms); a longer waitTimeMillsInSendQueue has fewer.",
        )
    for sign in signs:
        seen = found.get(sign.incident)
        if seen is not None:
            during = f", {seen.first_at} to {seen.last_at}" if seen.first_at else ""
            yield Likeness(
                incident=sign.incident,
                because=f"{seen.lines} lines{during}, first {seen.file}:{seen.line}: {sign.because}",
                advice=sign.advice,
            )
