"""Since when a log has every line that was written into it: one that is not there, or begins too late, does not lack a line.

A log is taken with its rotated files. What its end lacks is no matter here: a quiet log and a killed node have none. Of its
beginning three things are known.

- A rotation's numbers have no gap: logback makes 1, 2 and so on, the JVM 0 and 1. Where one is missing, or the file that is
  written to, somebody took it away, and the log counts as not there.
- With a rotated file beside it a log may have lost older ones: the rotation itself drops them, and nothing tells that from a
  deletion. It is known to be whole from its oldest line on.
- Without one it is whole from the start, since a rotation leaves files behind. So a lock.log without a line, or whose first one
  came long after the fault, had nothing to say before. That holds for no log in which its process writes as it starts: those of
  broker, store, name server and client begin with that in every release, and the JVM's with the moment at which it was started.
  Empty they were never written, and one that begins late was cut.

A file in whose first megabyte no line has a time, such as one of zero bytes that a power cut left, counts as not there.
"""

from __future__ import annotations

import dataclasses
import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from analysis.logs.files import LogFile, rotation_of

FROM_THE_START = 0
"""``since_us`` of a log of which nothing can be missing before its first line."""

OPENED = frozenset({"broker.log", "store.log", "namesrv.log", "rocketmq_client.log", "gc.log"})
"""Logs in which their process writes as it starts."""

HEAD_BYTES = 1 << 20
JVM_START_S = 2.0
"""The JVM's age at the first line of a log that begins with it. On two busy cores it was 0.1 s at most."""

_SECOND_US = 1_000_000
_TIME = re.compile(
    rb"^\[?(?P<day>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<millis>\d{3}))?"
    rb"(?:(?P<zone>[+-]\d{4})\])?(?:\[(?P<uptime>\d+\.\d+)s\])?",
    re.MULTILINE,
)
_ZONE = re.compile(r"^(?:UTC|GMT([+-]\d{1,2})?)$")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _FirstLine:
    """The first line of a file that has a time: when it was written at the earliest, and its JVM's age where it tells."""

    wall_us: int
    uptime_s: float | None


def with_spans(files: Iterable[LogFile]) -> tuple[LogFile, ...]:
    """The same files, each with its log's ``since_us``."""
    logs: dict[tuple[str, ...], list[LogFile]] = defaultdict(list)
    for file in files:
        logs[file.deployment, file.node, file.trial, file.process, file.name].append(file)
    spanned: list[LogFile] = []
    for parts in logs.values():
        since_us = _since_us(parts)
        spanned += [dataclasses.replace(file, since_us=since_us) for file in parts]
    return tuple(spanned)


def _since_us(parts: Sequence[LogFile]) -> int | None:
    """Of one log, from all of its files; None where it is not there as a whole."""
    name, is_jvm = parts[0].name, parts[0].kind == "gc"
    numbers = {rotation_of(part.path.name) for part in parts}
    rotated = sorted(number for number in numbers if number is not None)
    lowest = 0 if is_jvm else 1
    if None not in numbers or rotated != list(range(lowest, lowest + len(rotated))):
        return None
    written = [part for part in parts if not part.is_empty]
    first_lines = [line for part in written if (line := _first_line(part)) is not None]
    if len(first_lines) < len(written) or (not written and name in OPENED):
        return None
    if not written or (not rotated and (name not in OPENED or _is_start_of_jvm(first_lines[0]))):
        return FROM_THE_START
    return min(line.wall_us for line in first_lines)


def _is_start_of_jvm(line: _FirstLine) -> bool:
    return line.uptime_s is not None and line.uptime_s <= JVM_START_S


def _first_line(file: LogFile) -> _FirstLine | None:
    try:
        with (gzip.open if file.path.suffix == ".gz" else open)(file.path, "rb") as opened:
            match = _TIME.search(opened.read(HEAD_BYTES))
        if match is None:
            return None
        part = {name: (value or b"").decode() for name, value in match.groupdict().items()}
        # A JVM writes its own zone with each line.
        second = datetime.fromisoformat(f"{part['day']}T{part['time']}{part['zone'] or _offset(file.zone)}")
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    # A client of 4.x writes its seconds once more where the milliseconds should be.
    millis = 0 if file.kind == "client" else int(part["millis"] or 0)
    return _FirstLine(
        wall_us=int(second.timestamp()) * _SECOND_US + millis * 1_000,
        uptime_s=float(part["uptime"]) if part["uptime"] else None,
    )


def _offset(zone: str) -> str:
    """``+08:00`` for GMT+8, as stock logging names it. ValueError for a zone that no logging of the lab writes."""
    match = _ZONE.match(zone)
    if match is None:
        raise ValueError(f"no zone of the lab's: {zone}")
    return f"{int(match[1] or 0):+03d}:00"
