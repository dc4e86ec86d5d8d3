"""Which of the known incidents a broker's, a name server's or a client's logs show.

Appends that held the put lock for more than 500 ms are written by 4.x and 5.x alike, by their store's logger
(org.apache.rocketmq.store.CommitLog), and how many appends took how long in each minute (StoreStatsService). Everything
else is a sign: words that one of the incidents leaves, in the wordings of these releases. Times are taken as the log has
them, in the zone that it is written in (GMT+8 in stock logging).
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from harness.errors import ConfigurationError
from harness.model.rocketmq import (
    OVERLOAD,
    PAGE_CACHE_BUSY_MS,
    PC_SYNCHRONIZED,
    PCBUSY_CLEAN_QUEUE,
    POOL_BUSY,
    REJECTREQUEST,
    SEND_WAIT_MS,
    TIMEOUT_CLEAN_QUEUE,
)

LOGGED_FROM_MS = 500
"""RocketMQ logs an append from this time in the lock on."""

_SLOW = re.compile(rb"putMessages? in lock cost time\(ms\)=(\d+)")
_MINUTE = b"[PAGECACHERT]"
_BUCKET = re.compile(rb"\[([^\]]+)\]:(\d+)")
_TIME = re.compile(rb"^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d)(:\d\d(?:[.,]\d{3})?)")


@dataclass(frozen=True, kw_only=True)
class Sign:
    """Words that an incident leaves in a log; ``because`` and ``advice`` are for the reader."""

    incident: str
    words: re.Pattern[bytes]
    because: str
    advice: str


def _keywords(*words: str) -> re.Pattern[bytes]:
    return re.compile(rb"\[(?:%s)\]" % "|".join(words).encode())


SIGNS: tuple[Sign, ...] = (
    Sign(
        incident="append-stall",
        words=_keywords(TIMEOUT_CLEAN_QUEUE),
        because="sends waited for longer than waitTimeMillsInSendQueue ([TIMEOUT_CLEAN_QUEUE]); it takes no append of a second",
        advice="See in the store log what the appends took; more waitTimeMillsInSendQueue has fewer of them.",
    ),
    Sign(
        incident="append-lock-over-1s",
        words=_keywords(PCBUSY_CLEAN_QUEUE, PC_SYNCHRONIZED, REJECTREQUEST),
        because="sends were refused for the page cache ([PCBUSY_CLEAN_QUEUE], [PC_SYNCHRONIZED], [REJECTREQUEST]): an append held "
        "the lock for longer than osPageCacheBusyTimeOutMills, or the transient store pool was empty",
        advice="Look at what the disk did at those times.",
    ),
    Sign(
        incident="send-queue-full",
        words=re.compile(_keywords(OVERLOAD).pattern + b"|" + POOL_BUSY.encode()),
        because="the send queue was full ([OVERLOAD], sendThreadPoolQueueCapacity)",
        advice="More arrived than the send threads took: look at what they waited for.",
    ),
    Sign(
        incident="pool-exhausted",
        words=re.compile(rb"TransientStorePool (?:only remain|is not enough)"),
        because="the transient store pool ran short; without a free buffer every send is refused ([REJECTREQUEST])",
        advice="A larger transientStorePoolSize; one or two buffers are never enough.",
    ),
    Sign(
        incident="page-cache-stress",
        words=re.compile(rb"create mmap timeout"),
        because="commit-log files were not made within 5 s, while an append waited for them",
        advice="The file system stands still at times: look at the disk and at who else writes to it.",
    ),
    Sign(
        incident="ordered-lock-handover",
        words=re.compile(rb"tryLock\w*[,:] .*locked by other client"),
        because="ordered consumers asked for queues that another client had locked. A few such lines at a rebalance are ordinary; "
        "the same queue for tens of seconds has lost a consumer that was killed",
        advice="Shut consumers down before they are stopped; see its fix and better arms for shorter locks.",
    ),
    Sign(
        incident="retry-topic-flood",
        words=re.compile(rb"Adjusted frame length exceeds"),
        because="a request was longer than the receiver's frame limit (com.rocketmq.remoting.frameMaxLength); to a name server it "
        "is a registration with too many topics, whose broker drops out",
        advice="`mqlab audit --namesrv ...` counts topics by type and predicts the limit.",
    ),
)
"""In the wordings of 4.x and 5.x, as the incidents' own runs left them."""


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
    incidents: tuple[Likeness, ...] = field(default=())


def read_logs(paths: Sequence[Path], *, threshold_ms: int) -> Patrol:
    """Read every log. Raises ConfigurationError when one cannot be read, or a folder has none."""
    appends: list[SlowAppend] = []
    durations: Counter[str] = Counter()
    signs: dict[str, Sighting] = {}
    files = [file for path in paths for file in _files(path)]
    lines = 0
    for file in files:
        try:
            with _opened(file) as stream:
                at = ""
                for number, line in enumerate(stream, start=1):
                    lines += 1
                    # What an exception says comes in lines of their own, after the one with the time.
                    at = _time_of(line) or at
                    if (slow := _slow_append(line, file, number)) is not None and slow.ms > threshold_ms:
                        appends.append(slow)
                    durations.update(_durations(line))
                    for sign in SIGNS:
                        if sign.words.search(line):
                            signs[sign.incident] = _seen_again(
                                signs.get(sign.incident), sign.incident, at, file, number
                            )
        except (OSError, EOFError) as error:
            raise ConfigurationError(
                f"{file} cannot be read: {error}", advice="Give log files, or folders with them."
            ) from error
    appends.sort(key=lambda append: (append.at, append.file, append.line))
    return Patrol(
        threshold_ms=threshold_ms,
        files=tuple(map(str, files)),
        lines=lines,
        appends=tuple(appends),
        by_minute=dict(sorted(Counter(append.at[:16] for append in appends).items())),
        durations=dict(durations),
        signs=tuple(signs.values()),
        incidents=tuple(_likenesses(appends, signs)),
    )


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


def _opened(file: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")


def _slow_append(line: bytes, file: Path, number: int) -> SlowAppend | None:
    found = _SLOW.search(line)
    if found is None:
        return None
    return SlowAppend(at=_time_of(line), ms=int(found[1]), file=str(file), line=number)


def _time_of(line: bytes) -> str:
    time = _TIME.match(line)
    return (time[1] + time[2]).decode() if time else ""


def _durations(line: bytes) -> dict[str, int]:
    if _MINUTE not in line:
        return {}
    after = line.partition(_MINUTE)[2]
    return {name.decode(): int(count) for name, count in _BUCKET.findall(after)}


def _likenesses(appends: Sequence[SlowAppend], signs: Mapping[str, Sighting]) -> Iterator[Likeness]:
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
    for sign in SIGNS:
        seen = signs.get(sign.incident)
        if seen is not None:
            during = f", {seen.first_at} to {seen.last_at}" if seen.first_at else ""
            yield Likeness(
                incident=sign.incident,
                because=f"{seen.lines} lines{during}, first {seen.file}:{seen.line}: {sign.because}",
                advice=sign.advice,
            )
