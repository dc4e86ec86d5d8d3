"""``mqlab patrol``: slow appends in any store log, when they came, and which known incident they are nearest to.

What it looks for is written by 4.6.0, 4.9.7 and 5.3.3 alike, by their store's logger: an append that held the put lock for
more than 500 ms (org.apache.rocketmq.store.CommitLog), how many appends took how long in each minute (StoreStatsService),
a transient store pool that runs short (TransientStorePool, AllocateMappedFileService), and a commit-log file that the file
system did not make in time (AllocateMappedFileService). Times are taken as the log has them, in the zone that it is
written in (GMT+8 in stock logging).
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from rich.console import Console

from harness.errors import EXIT_OK, ConfigurationError

EXIT_FOUND = 1
LOGGED_FROM_MS = 500
WAIT_MS, BUSY_MS = 200, 1000
SHOWN = 10
BAR = 40

DESCRIPTION = (
    "Slow appends in store logs (files, folders, *.gz): how many, how long, when, and the nearest known incident. "
    "RocketMQ itself logs appends above 500 ms."
)
EPILOG = "Exit codes: 0 done; with --strict 1 when an append is over the threshold; 3 a log cannot be read."

_SLOW = re.compile(rb"putMessages? in lock cost time\(ms\)=(\d+)")
_MINUTE = b"[PAGECACHERT]"
_BUCKET = re.compile(rb"\[([^\]]+)\]:(\d+)")
_TIME = re.compile(rb"^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d)(:\d\d(?:[.,]\d{3})?)")
_SIGNS: Mapping[str, tuple[bytes, ...]] = {
    "pool": (b"TransientStorePool only remain", b"TransientStorePool is not enough"),
    "file": (b"create mmap timeout",),
}


@dataclass(frozen=True, kw_only=True)
class SlowAppend:
    """One line about an append: ``at`` as the log writes it, ``ms`` in the lock."""

    at: str
    ms: int
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
    signs: Mapping[str, int]
    incidents: tuple[Likeness, ...] = field(default=())


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of ``mqlab patrol``."""
    command.description = DESCRIPTION
    command.epilog = EPILOG
    command.add_argument(
        "logs", nargs="+", type=Path, metavar="LOG", help="store.log, or a folder with it; *.gz as well"
    )
    command.add_argument(
        "--threshold", type=int, default=LOGGED_FROM_MS, metavar="MS", help="count appends above; default: %(default)s"
    )
    command.add_argument("--strict", action="store_true", help="exit 1 when an append is over the threshold")
    command.add_argument("--json", action="store_true", help="machine-readable")


def patrol(options: argparse.Namespace, console: Console) -> int:
    """Read, and print what was found."""
    found = read_logs(options.logs, threshold_ms=options.threshold)
    if options.json:
        print(json.dumps(asdict(found), indent=1))
    else:
        print("\n".join(report(found)))
    return EXIT_FOUND if options.strict and found.appends else EXIT_OK


def read_logs(paths: Sequence[Path], *, threshold_ms: int) -> Patrol:
    """Read every log. Raises ConfigurationError when one cannot be read, or a folder has none."""
    appends: list[SlowAppend] = []
    durations: Counter[str] = Counter()
    signs: Counter[str] = Counter()
    files = [file for path in paths for file in _files(path)]
    lines = 0
    for file in files:
        try:
            with _opened(file) as stream:
                for number, line in enumerate(stream, start=1):
                    lines += 1
                    if (slow := _slow_append(line, file, number)) is not None and slow.ms > threshold_ms:
                        appends.append(slow)
                    durations.update(_durations(line))
                    signs.update(name for name, texts in _SIGNS.items() if any(text in line for text in texts))
        except (OSError, EOFError) as error:
            raise ConfigurationError(f"{file} cannot be read: {error}", advice="Give store logs.") from error
    appends.sort(key=lambda append: (append.at, append.file, append.line))
    return Patrol(
        threshold_ms=threshold_ms,
        files=tuple(map(str, files)),
        lines=lines,
        appends=tuple(appends),
        by_minute=dict(sorted(Counter(append.at[:16] for append in appends).items())),
        durations=dict(durations),
        signs=dict(signs),
        incidents=tuple(_likenesses(appends, signs)),
    )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file for file in path.rglob("store*.log*") if file.is_file() and not file.name.startswith("storeerr")
    )
    if not found:
        raise ConfigurationError(f"{path} has no store.log", advice="Stock logs lie in ~/logs/rocketmqlogs.")
    return found


def _opened(file: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")


def _slow_append(line: bytes, file: Path, number: int) -> SlowAppend | None:
    found = _SLOW.search(line)
    if found is None:
        return None
    time = _TIME.match(line)
    at = (time[1] + time[2]).decode() if time else ""
    return SlowAppend(at=at, ms=int(found[1]), file=str(file), line=number)


def _durations(line: bytes) -> dict[str, int]:
    if _MINUTE not in line:
        return {}
    after = line.partition(_MINUTE)[2]
    return {name.decode(): int(count) for name, count in _BUCKET.findall(after)}


def _likenesses(appends: Sequence[SlowAppend], signs: Mapping[str, int]) -> Iterator[Likeness]:
    busy = [append for append in appends if append.ms > BUSY_MS]
    waited = [append for append in appends if WAIT_MS < append.ms <= BUSY_MS]
    if busy:
        yield Likeness(
            incident="append-lock-over-1s",
            because=f"{len(busy)} appends held the lock for more than {BUSY_MS} ms, the longest for "
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
    if signs.get("pool"):
        yield Likeness(
            incident="pool-exhausted",
            because=f"{signs['pool']} lines say that the transient store pool ran short; without a free buffer every send is "
            "refused ([REJECTREQUEST])",
            advice="A larger transientStorePoolSize; one or two buffers are never enough.",
        )
    if signs.get("file"):
        yield Likeness(
            incident="page-cache-stress",
            because=f"{signs['file']} commit-log files were not made within 5 s, while an append waited for them",
            advice="The file system stands still at times: look at the disk and at who else writes to it.",
        )


def report(found: Patrol) -> list[str]:
    """What was found, as lines of text."""
    lines = [
        f"{len(found.appends)} appends of more than {found.threshold_ms} ms in {len(found.files)} files, {found.lines} lines"
    ]
    if found.threshold_ms < LOGGED_FROM_MS:
        lines.append(
            f"RocketMQ logs an append from {LOGGED_FROM_MS} ms on: shorter ones are in the counts by minute only"
        )
    lines += [f"  {append.at}  {append.ms} ms  {append.file}:{append.line}" for append in _longest(found.appends)]
    lines += _bars("appends over the threshold, by minute", found.by_minute)
    lines += _bars("all appends, by duration", {name: count for name, count in found.durations.items() if count})
    for one in found.incidents:
        lines += ["", f"nearest incident: {one.incident}", f"  {one.because}.", f"  {one.advice}"]
    return lines


def _longest(appends: Sequence[SlowAppend]) -> list[SlowAppend]:
    return sorted(appends, key=lambda append: -append.ms)[:SHOWN]


def _bars(title: str, counts: Mapping[str, int]) -> Iterable[str]:
    if not counts:
        return []
    most = max(counts.values())
    width = max(map(len, counts))
    return [
        "",
        title,
        *(f"  {name:{width}}  {count:>9}  {'#' * max(1, BAR * count // most)}" for name, count in counts.items()),
    ]
