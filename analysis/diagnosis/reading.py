"""Log files, read once and line by line: what they say, in which zone, and how many of their lines have no known layout."""

from __future__ import annotations

import codecs
import gzip
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from analysis.diagnosis.events import Collected, Event
from analysis.diagnosis.moments import (
    ASSUMED,
    DAY_S,
    GIVEN,
    NEIGHBOUR,
    STAMPS,
    STATED,
    STOCK,
    STOCK_OFFSET_S,
    Moment,
    Zone,
    moment_of,
    offset_by_stamps,
)
from analysis.logs.files import rotated_name
from harness.errors import ConfigurationError

_LOG_FOLDERS = frozenset({"logs", "log", "rocketmqlogs", "otherdays", "otherDays"})
_GOES_ON = (
    b"\t",
    b" ",
    b"Caused by:",
    b"java.",
    b"javax.",
    b"org.",
    b"io.",
    b"com.",
    b"...",
    b"\r",
    b"\n",
    b"}",
    b"Suppressed:",
)
_STAMP = re.compile(rb"(?:lastUpdateTimestamp|storeTimestamp)=(\d{13})\b")
_SETTING = re.compile(
    rb"(?:- |\] )(brokerName|brokerId|brokerRole|flushDiskType|transientStorePoolEnable|waitTimeMillsInSendQueue"
    rb"|osPageCacheBusyTimeOutMills)=(\S+)\s*$"
)
_SETTING_GATE = (b"broker", b"Enable=", b"Mills", b"flushDiskType=")
_STOCK_LAYOUT = re.compile(rb"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ +[^\s\[]\S* - ")
_NUMBERS = re.compile(r"[0-9a-f]*\d[0-9a-f]*", re.IGNORECASE)
STAMPS_MAX = 200
SHAPES_MAX = 100
SHAPE_LENGTH = 80
LINE_BYTES_MAX = 65_536
"""What has no line ends is read in pieces of this size."""


@dataclass(slots=True)
class Shape:
    """Lines of no known layout that are alike but for their numbers, with the first of them."""

    count: int
    line: int
    sample: str


@dataclass(kw_only=True)
class ReadFile:
    """One file; ``unknown`` counts its lines of no known layout. ``settings`` are those that a broker printed last."""

    path: str
    node: str
    name: str
    lines: int = 0
    unknown: int = 0
    undated: bool = False
    from_s: float | None = None
    to_s: float | None = None
    zone: Zone | None = None
    stock_layout: bool = False
    millis: bool = False
    broken: str = ""
    left_out: int = 0
    shapes: dict[str, Shape] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    families: frozenset[str] = frozenset()
    events: list[Event] = field(default_factory=list)


def log_files(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """The files to read, each with the name of its node: that of the folder it lies in.

    Raises:
        ConfigurationError: a folder has no logs.
    """
    found: dict[Path, str] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(path, _node(path.absolute().parent))
            continue
        inside = [one for one in sorted(path.rglob("*")) if rotated_name(one.name) is not None and one.is_file()]
        if not inside:
            raise ConfigurationError(f"{path} has no logs", advice="Stock logs lie in ~/logs/rocketmqlogs.")
        found.update((one, _node(one.absolute().parent)) for one in inside if one not in found)
    return list(found.items())


def _node(folder: Path) -> str:
    parts = [part for part in folder.parts if part not in _LOG_FOLDERS]
    return parts[-1] if parts else folder.name


def read_files(files: Sequence[tuple[Path, str]], offset_s: float | None = None) -> list[ReadFile]:
    """Read them; ``offset_s`` is the zone of files that say nothing about theirs.

    Raises:
        ConfigurationError: one cannot be read at all.
    """
    read = [read_file(path, node) for path, node in files]
    _set_zones(read, offset_s)
    return read


def read_file(path: Path, node: str) -> ReadFile:
    """One file, plain or gz; times are still those of its clock face.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    result = ReadFile(path=str(path), node=node, name=rotated_name(path.name) or path.name)
    clock = _Clock()
    collected = Collected(result.path)
    stamps: list[float] = []
    offsets: list[float] = []
    try:
        with path.open("rb") as raw:
            for number, line in enumerate(_lines(raw), start=1):
                result.lines = number
                goes_on = line.startswith(_GOES_ON)
                if not goes_on:
                    moment = moment_of(line)
                    if moment is not None:
                        clock.at(moment)
                        collected.begins()
                        if moment.offset_s is not None and len(offsets) < STAMPS_MAX:
                            offsets.append(moment.offset_s)
                        if number < STAMPS_MAX:
                            result.stock_layout = result.stock_layout or _STOCK_LAYOUT.match(line) is not None
                            result.millis = result.millis or moment.millis
                    elif not line.startswith((b"[", b"{")):
                        _count_unknown(result, line, number)
                if b"imestamp=" in line and len(stamps) < STAMPS_MAX and clock.now_s is not None:
                    stamps += (clock.now_s - int(one) / 1000 for one in _STAMP.findall(line))
                if any(gate in line for gate in _SETTING_GATE) and (setting := _SETTING.search(line)):
                    result.settings[setting[1].decode()] = setting[2].decode("utf-8", "replace")
                collected.take(line, number, clock.now_s, goes_on=goes_on)
    except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
        if not result.lines:
            raise ConfigurationError(
                f"{path} cannot be read: {error}", advice="Give log files, or folders with them."
            ) from error
        # What a full disk or a copy in progress cut off is still worth what came before.
        result.broken = f"cannot be read to its end: {error}"
    result.events, result.left_out = collected.events, collected.left_out
    result.families = frozenset(collected.families)
    result.from_s, result.to_s, result.undated = clock.first_s, clock.last_s, clock.undated
    result.zone = _zone_of_file(offsets, stamps)
    return result


@dataclass(slots=True)
class _Clock:
    """The times of a file's lines, as they go on; a time without a date that jumps back is one of the next day."""

    now_s: float | None = None
    first_s: float | None = None
    last_s: float | None = None
    undated: bool = False
    _days: int = 0

    def at(self, moment: Moment) -> None:
        now_s = moment.local_s
        if not moment.dated:
            self.undated = True
            now_s += self._days * DAY_S
            if self.now_s is not None and now_s < self.now_s - DAY_S / 2:
                self._days += 1
                now_s += DAY_S
        self.now_s = now_s
        self.first_s = now_s if self.first_s is None else min(self.first_s, now_s)
        self.last_s = now_s if self.last_s is None else max(self.last_s, now_s)


def _lines(raw: BinaryIO) -> Iterator[bytes]:
    """The lines of a file as UTF-8 or what comes near it: gz by its first bytes, whatever its name, UTF-16 by its mark."""
    start = raw.read(4)
    raw.seek(0)
    stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if start[:2] == b"\x1f\x8b" else raw
    start = stream.read(2)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16-le" if start == codecs.BOM_UTF16_LE else "utf-16-be"
        text = codecs.getreader(encoding)(stream, "replace")
        yield from (line.encode() for line in iter(lambda: text.readline(LINE_BYTES_MAX), ""))
        return
    first = start + stream.readline(LINE_BYTES_MAX)
    lines = iter(lambda: stream.readline(LINE_BYTES_MAX), b"")
    yield from itertools.chain([first.removeprefix(codecs.BOM_UTF8)] if first else [], lines)


def _count_unknown(result: ReadFile, line: bytes, number: int) -> None:
    result.unknown += 1
    text = line[:400].decode("utf-8", "replace").strip()
    shape = _NUMBERS.sub("0", text)[:SHAPE_LENGTH]
    if shape in result.shapes:
        result.shapes[shape].count += 1
    elif len(result.shapes) < SHAPES_MAX:
        result.shapes[shape] = Shape(1, number, text[:200])


# --- zones ------------------------------------------------------------------------------------------------------------


def _zone_of_file(offsets: Sequence[float], stamps: Sequence[float]) -> Zone | None:
    if offsets:
        return Zone(offset_s=max(set(offsets), key=offsets.count), known_by=STATED)
    by_stamps = offset_by_stamps(stamps)
    return None if by_stamps is None else Zone(offset_s=by_stamps, known_by=STAMPS)


def _set_zones(files: Sequence[ReadFile], given_s: float | None) -> None:
    """Give each file its zone, and bring its times to UTC; a time without a date stays on its own clock face."""
    for one in files:
        if one.zone is None:
            alike = [
                other.zone
                for other in files
                if other.zone is not None
                and other.zone.known_by in (STATED, STAMPS)
                # The JVM's own log has the machine's zone, whatever RocketMQ's are written in.
                and other.name != "gc.log"
                and (other.node, other.millis) == (one.node, one.millis)
            ]
            if alike:
                one.zone = Zone(offset_s=alike[0].offset_s, known_by=NEIGHBOUR)
            elif given_s is not None:
                one.zone = Zone(offset_s=given_s, known_by=GIVEN)
            elif one.stock_layout and not one.millis:
                one.zone = Zone(offset_s=STOCK_OFFSET_S, known_by=STOCK)
            else:
                one.zone = Zone(offset_s=0.0, known_by=ASSUMED)
    for one in files:
        shift_s = 0.0 if one.undated or one.zone is None else one.zone.offset_s
        one.from_s, one.to_s = _less(one.from_s, shift_s), _less(one.to_s, shift_s)
        for event in one.events:
            event.node = one.node
            event.from_s, event.to_s = _less(event.from_s, shift_s), _less(event.to_s, shift_s)


def _less(at_s: float | None, shift_s: float) -> float | None:
    return None if at_s is None else at_s - shift_s
