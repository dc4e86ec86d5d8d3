"""Log files, read once and line by line: what they say, in which zone, and how many of their lines have no known layout."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind

from analysis.diagnosis.blocks import PackedBadlyError, blocks
from analysis.diagnosis.cores import each_of
from analysis.diagnosis.durations import MARK, count_durations
from analysis.diagnosis.events import Collected, Event
from analysis.diagnosis.lines import Layouts, Lines, Words, goes_on
from analysis.diagnosis.moments import (
    ASSUMED,
    DAY_S,
    GIVEN,
    NEIGHBOUR,
    STAMPS,
    STATED,
    STOCK,
    STOCK_OFFSET_S,
    STOCK_TIME_BYTES,
    Moment,
    Zone,
    moment_of,
    offset_by_stamps,
    stock_time_of,
)
from analysis.diagnosis.wrapped import Unwrapping
from analysis.logs.files import NO_LOGS_ADVICE, rotated_name
from harness.errors import ConfigurationError
from harness.language import phrase
from harness.model.log_events import WORDINGS, Logged

_LOG_FOLDERS = frozenset({"logs", "log", "rocketmqlogs", "otherdays", "otherDays"})
_STAMP = re.compile(rb"(?:lastUpdateTimestamp|storeTimestamp)=(\d{13})\b")
_SETTINGS = (
    "brokerName", "brokerId", "brokerRole", "flushDiskType", "transientStorePoolEnable", "waitTimeMillsInSendQueue",
    "osPageCacheBusyTimeOutMills", "inSyncReplicas",
)  # fmt: skip
_SETTING = re.compile(rf"(?:- |\] )({'|'.join(_SETTINGS)})=(\S{{1,100}})\s*$".encode())
_LEVELS = (b"WARN", b"ERRO", b"[warning]", b"[error]")
"""In layouts of Java, Go and C++ clients."""
_SEVERE = BytesAhoCorasick(_LEVELS, matchkind=MatchKind.LeftmostFirst)
"""By themselves they are found ten times as fast as among the other words."""
_LEVEL = re.compile(rb"(?:^|[\s\[])(WARN|ERROR|ERRO|warning|error)(?:[\s\]]|\[\d+\])")
_LEVEL_BYTES = 160
"""In so many bytes of a line its level stands; behind them it is a word of the message."""
_BEFORE_TEXT = re.compile(rb".{0,100}? (?:-|:) ")
_EXCEPTION = re.compile(rb"(?:[\w.]+: )?((?:[a-z]\w*\.)+\w+(?:Exception|Error)\b.*)")
EXCEPTION_LINES = 3
"""Below a warning its exception begins within so many lines."""
WARNED_MAX = 20_000
"""Warnings of a file whose shapes are looked at."""
ASKED = (
    *(one.words.encode() for one in WORDINGS),
    *(f"{before} {name}=".encode() for name in _SETTINGS for before in "-]"),
    MARK,
    b"lastUpdateTimestamp=",
    b"storeTimestamp=",
)
"""What a line has that is looked at; the others are counted, and give their times."""
_STAMPED_FROM = len(ASKED) - 2
_DURATIONS = _STAMPED_FROM - 1
_WORDS = Words(ASKED)
_STOCK_LAYOUT = re.compile(rb"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+ +[^\s\[]\S* - ")
_BEFORE_MESSAGE = re.compile(rb"\S+ \S+ +[A-Z]+ +\S+ - ")
"""In stock layouts: date, time, level and thread."""
_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_NUMBERS = re.compile(r"[0-9a-f]*\d[0-9a-f]*", re.IGNORECASE)
STAMPS_MAX = 200
BEGINNING = 40
"""Lines of a file by which its layout is known."""
SHAPES_MAX = 100
TRACE_LINES_MAX = 10_000
"""So many lines an exception may go on for."""
UNKNOWN_MAX = 1_000_000
"""Lines of a file of no known layout that are looked at one by one; those beyond are counted alone, unless they have a word."""
_VALUES = attrgetter(*(one.name for one in fields(Event)))
SHAPE_LENGTH = 80
SAMPLE_BYTES = 300


@dataclass(slots=True)
class Shape:
    """Lines of no known layout that are alike but for their numbers, with the first of them."""

    count: int
    line: int
    sample: str


@dataclass(slots=True)
class Warned:
    """Warnings or errors that are alike but for their numbers: the first of them, and the exception below it."""

    level: str
    line: int
    sample: str
    exception: str
    from_s: float | None
    to_s: float | None
    count: int = 1


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
    written_by: frozenset[tuple[str, str]] = frozenset()
    events: list[Event] = field(default_factory=list)
    warned: dict[str, Warned] = field(default_factory=dict)
    warned_in_part: bool = False
    """Whether there were more warnings and errors than are looked at, or more shapes of them."""
    durations: dict[str, int] = field(default_factory=dict)
    """How many appends took how long, by RocketMQ's own buckets."""

    def __getstate__(self) -> dict[str, object]:
        """For another process: events as columns, which are a third of the work of as many objects."""
        return {**self.__dict__, "events": list(zip(*map(_VALUES, self.events), strict=True))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "events": list(map(Event, *state["events"])) if state["events"] else []}


class ToRead(NamedTuple):
    """A file to read, the name of its node (its own name, else that of its folder), and how it is named in what is said of it."""

    path: Path
    node: str
    file: str


def log_files(paths: Iterable[Path]) -> list[ToRead]:
    """The files to read.

    Raises:
        ConfigurationError: a folder has no logs.
    """
    found: dict[Path, ToRead] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(path, _to_read(path))
            continue
        inside = [one for one in sorted(path.rglob("*")) if rotated_name(one.name) is not None and one.is_file()]
        if not inside:
            raise ConfigurationError(f"{path} has no logs", advice=NO_LOGS_ADVICE)
        found.update((one, _to_read(one)) for one in inside if one not in found)
    return list(found.values())


def log_copies(copies: Mapping[str, Path]) -> list[ToRead]:
    """The same of copies of files that lie elsewhere, by their URLs."""
    return [
        ToRead(copy, _node_of_stem(PurePosixPath(url).name) or _node(PurePosixPath(url).parent), url)
        for url, copy in copies.items()
    ]


def left_out(paths: Iterable[Path], files: Sequence[ToRead]) -> list[str]:
    """The files of these folders that are no logs by their names, and are not read."""
    taken = {one.path for one in files}
    return [
        str(one)
        for path in paths
        if path.is_dir()
        for one in sorted(path.rglob("*"))
        if one.is_file() and one not in taken
    ]


def _to_read(path: Path) -> ToRead:
    return ToRead(path, _node_of_stem(path.name) or _node(path.absolute().parent), str(path))


def _node_of_stem(name: str) -> str:
    """The node that a file is named for, such as kiwi-a of kiwi-a.log; empty for names of logs, which have neither - nor digits."""
    stem = (rotated_name(name) or name).rpartition(".")[0].removesuffix("-json")
    is_named = re.search(r"[-0-9]", stem) and not re.search(r"gc|stdout|stderr|^rocketmq", stem)
    return stem if is_named else ""


def _node(folder: PurePath) -> str:
    parts = [part for part in folder.parts if part not in _LOG_FOLDERS]
    return parts[-1] if parts else folder.name


def read_files(files: Sequence[ToRead], offset_s: float | None = None) -> list[ReadFile]:
    """Read them, many at once where they are large; ``offset_s`` is the zone of files that say nothing about theirs.

    Raises:
        ConfigurationError: one cannot be read at all.
    """
    read = [one for of_file in each_of(read_file, files, size_of=lambda one: _size(one[0])) for one in of_file]
    if read and all(one.broken and not one.lines for one in read):
        raise ConfigurationError(f"{read[0].path} {read[0].broken}", advice="Give log files, or folders with them.")
    _tell_brokers_apart(read)
    _set_zones(read, offset_s)
    return read


_NAMING = frozenset({Logged.BOOTED, Logged.LOCK_TAKEN, Logged.LOCK_WAITED})
"""What a broker alone writes, with its name."""


def _tell_brokers_apart(files: Sequence[ReadFile]) -> None:
    """Make several nodes of a folder with the files of several brokers: by what a file says of itself, then by its name."""
    by_node: dict[str, list[ReadFile]] = {}
    for one in files:
        by_node.setdefault(one.node, []).append(one)
    for node, group in by_node.items():
        own = [_brokers_of(one) for one in group]
        every = sorted(set().union(*own), key=len, reverse=True)
        if len(every) < 2:
            continue
        for one, names in zip(group, own, strict=True):
            name = next(iter(names)) if len(names) == 1 else "" if names else _named_in(one.path, every)
            one.node = f"{node}/{name}" if name else node


def _brokers_of(file: ReadFile) -> set[str]:
    names = {one.get("broker") for one in file.events if one.kind in _NAMING} | {file.settings.get("brokerName", "")}
    return names - {""}


def _named_in(path: str, names: Sequence[str]) -> str:
    return next((one for one in names if one in PurePosixPath(path).name), "")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # why it cannot be read is said where it is opened


def read_file(path: Path, node: str, file: str = "") -> list[ReadFile]:
    """One file, plain or packed, of each node that it has lines of; times are still those of its clock face.

    ``file`` is what it is named, where not by its path.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    name = PurePosixPath(file or path).name
    shown, name = file or str(path), rotated_name(name) or name
    scans: dict[str, _Scan] = {}
    unwrapping, broken = Unwrapping(), ""
    try:
        with path.open("rb") as raw:
            for block in blocks(raw):
                for part in unwrapping.parts(block):
                    of = part.node or node
                    if of not in scans:
                        scans[of] = _Scan(ReadFile(path=shown, node=of, name=name))
                    scans[of].take(part.block, part.numbers)
    except (OSError, EOFError, zlib.error) as error:
        if not scans and not isinstance(error, PackedBadlyError):
            raise ConfigurationError(
                f"{shown} cannot be read: {error}", advice="Give log files, or folders with them."
            ) from error
        # What a full disk or a copy in progress cut off is still worth what came before.
        broken = phrase("cannot be read to its end: {error}", error=str(error))
    if not scans:
        scans[node] = _Scan(ReadFile(path=shown, node=node, name=name))
    for scan in scans.values():
        scan.end()
        scan.result.broken = broken
    return [scan.result for scan in scans.values()]


class _Scan:
    """One pass over a file. Looked at are lines with a word that is asked for, and those that do not begin as others do."""

    def __init__(self, result: ReadFile) -> None:
        self.result = result
        self.clock = _Clock()
        self.collected = Collected(result.path)
        self.layouts = Layouts()
        self.stamps: list[float] = []
        self.offsets: list[float] = []
        self._timed = 0
        """The number of the last line that the clock was set by."""
        self._stock_time: bytes | None = None
        """How that line began, where a stock layout's time is all of it."""
        self._head = (0, b"")
        """The last line that did not go on from another one, with its number."""
        self._searched = 0
        """Before this line of the block it was looked for already."""
        self._warned = 0
        self._numbers: Sequence[int] | None = None
        """Those of the block's lines in the file, where other nodes' lines are between them."""

    def take(self, block: bytes, numbers: Sequence[int] | None = None) -> None:
        """The next lines, and their numbers where they do not follow each other from the last ones on."""
        result = self.result
        lines = Lines(block)
        self._numbers = numbers
        at_ends = {0, len(lines) - 1}
        if not result.lines:
            at_ends.update(range(min(BEGINNING, len(lines))))
            for at in sorted(at_ends):
                self.layouts.learn(lines[at])
        irregular, asked = lines.irregular(self.layouts), _WORDS.found(lines)
        # A block may begin or end with a stack trace.
        at_ends.update(np.flatnonzero(lines.regular)[[0, -1]].tolist() if lines.regular.any() else ())
        for at in sorted(at_ends):
            if lines.regular[at]:
                self._see(lines[at])
        if result.unknown >= UNKNOWN_MAX:
            result.unknown += len(irregular) - len(asked.keys() & set(irregular))
            irregular = []
        warned = set(self._warnings(lines))
        chosen = sorted({*asked, *irregular, *warned})
        for at, begins, ends, regular in zip(
            chosen, *(of_all[chosen].tolist() for of_all in (lines.starts, lines.ends, lines.regular)), strict=True
        ):
            line, words = block[begins:ends], asked.get(at)
            if regular and line[:STOCK_TIME_BYTES] == self._stock_time:
                if words is not None:
                    self._ask(line, self._number(at), words, None)
            else:
                self._look(lines, at, line, regular, words)
            if at in warned:
                self._warn(lines, at, line)
        self._head_of(lines, len(lines))
        self._searched = 0
        result.lines += len(lines)

    def end(self) -> None:
        """Leave what was found in the result."""
        result, clock = self.result, self.clock
        self.collected.end()
        result.events, result.left_out = self.collected.events, self.collected.left_out
        result.written_by = frozenset(self.collected.written_by)
        result.from_s, result.to_s, result.undated = clock.first_s, clock.last_s, clock.undated
        result.zone = _zone_of_file(self.offsets, self.stamps)

    def _see(self, line: bytes) -> None:
        """What a line that begins with a date says of its file's layout."""
        moment = moment_of(line)
        if moment is not None:
            self.clock.sees(moment.local_s)
            self._stated(moment)
            self.result.stock_layout = self.result.stock_layout or _STOCK_LAYOUT.match(line) is not None
            self.result.millis = self.result.millis or moment.millis

    def _stated(self, moment: Moment) -> None:
        if moment.offset_s is not None and len(self.offsets) < STAMPS_MAX:
            self.offsets.append(moment.offset_s)

    def _number(self, at: int) -> int:
        return self.result.lines + at + 1 if self._numbers is None else self._numbers[at]

    def _look(self, lines: Lines, at: int, line: bytes, regular: bool, asked: Sequence[int] | None) -> None:
        number, head = self._number(at), None
        timed = number
        if not regular and goes_on(line):
            self._alone(lines, at, line, number)
            if asked is None:
                return
            timed, above = self._head_of(lines, at)
            head, moment = timed, moment_of(above)
        else:
            moment = moment_of(line)
            if moment is not None:
                self._stated(moment)
            elif not line.startswith((b"[", b"{")) and (asked is None or asked[0] >= len(WORDINGS)):
                _count_unknown(self.result, line, number)
        # Of times without a date only the order tells of midnight.
        if moment is not None and (moment.dated or timed > self._timed):
            self.clock.at(moment)
            self._timed = timed
            self._stock_time = stock_time_of(line)
        if asked is not None:
            self._ask(line, number, asked, head)

    def _ask(self, line: bytes, number: int, asked: Sequence[int], head: int | None) -> None:
        """``asked`` are the words that it has, in their order."""
        first = asked[0]
        if asked[-1] >= _STAMPED_FROM and len(self.stamps) < STAMPS_MAX and self.clock.now_s is not None:
            self.stamps += (self.clock.now_s - int(one) / 1000 for one in _STAMP.findall(line))
        if first < len(WORDINGS):
            before = _BEFORE_MESSAGE.match(line) if head is None else None
            self.collected.take(line, number, self.clock.now_s, first, before.end() if before else 0, head)
        elif first == _DURATIONS:
            count_durations(self.result.durations, line)
        elif setting := _SETTING.search(line):
            self.result.settings[setting[1].decode()] = setting[2].decode("utf-8", "replace")

    def _alone(self, lines: Lines, at: int, line: bytes, number: int) -> None:
        """Keep an exception that is below no warning and no error: the one that ended a broker's start, or one that was printed."""
        found = _EXCEPTION.match(line)
        if found is None or len(self.result.warned) >= SHAPES_MAX:
            return
        if self.clock.first_s is not None and _LEVEL.search(self._head_of(lines, at)[1], 0, _LEVEL_BYTES):
            return
        sample = line[:SAMPLE_BYTES].decode("utf-8", "replace").strip()
        known = self.result.warned.setdefault(sample, Warned("ERROR", number, sample, "", None, None, 0))
        known.count += 1

    def _warnings(self, lines: Lines) -> list[int]:
        """The lines that may be a warning or an error, while there are not too many of them."""
        if self._warned >= WARNED_MAX:
            return []
        places = [start for _, start, _ in _SEVERE.find_matches_as_indexes(lines.block)]
        return np.searchsorted(lines.ends, places).tolist()  # type: ignore[no-any-return]

    def _warn(self, lines: Lines, at: int, line: bytes) -> None:
        """Count a warning or an error by its shape."""
        level = _LEVEL.search(line, 0, _LEVEL_BYTES)
        if level is None or goes_on(line):
            return
        result, now_s = self.result, self.clock.now_s
        self._warned += 1
        before = _BEFORE_TEXT.match(line, level.end() - 1)
        shape = _shape(line[before.end() if before else level.end() :][:200].translate(_ALIKE))
        known = result.warned.get(shape)
        if known is not None:
            known.count, known.to_s = known.count + 1, now_s
        elif len(result.warned) < SHAPES_MAX:
            sample = line[:SAMPLE_BYTES].decode("utf-8", "replace").strip()
            name = "WARN" if level[1][:1] in b"Ww" else "ERROR"
            result.warned[shape] = Warned(name, self._number(at), sample, _exception_below(lines, at), now_s, now_s)
        result.warned_in_part = self._warned >= WARNED_MAX or len(result.warned) >= SHAPES_MAX

    def _head_of(self, lines: Lines, end: int) -> tuple[int, bytes]:
        """The last line before this one that does not go on from another. Of a block it is asked from its beginning to its end."""
        for at in range(end - 1, max(self._searched, end - TRACE_LINES_MAX) - 1, -1):
            if not goes_on(line := lines[at]) and moment_of(line) is not None:
                self._head = (self._number(at), line)
                break
        self._searched = end
        return self._head


@dataclass(slots=True)
class _Clock:
    """The times of a file's lines, as they go on; a time without a date that jumps back is one of the next day."""

    now_s: float | None = None
    first_s: float | None = None
    last_s: float | None = None
    undated: bool = False
    _days: int = 0

    def at(self, moment: Moment) -> None:
        """The next line is of this moment."""
        now_s = moment.local_s
        if not moment.dated:
            self.undated = True
            now_s += self._days * DAY_S
            if self.now_s is not None and now_s < self.now_s - DAY_S / 2:
                self._days += 1
                now_s += DAY_S
        self.now_s = now_s
        self.sees(now_s)

    def sees(self, now_s: float) -> None:
        """A line of this time is in the file."""
        self.first_s = now_s if self.first_s is None else min(self.first_s, now_s)
        self.last_s = now_s if self.last_s is None else max(self.last_s, now_s)


def _exception_below(lines: Lines, at: int) -> str:
    for below in range(at + 1, min(at + 1 + EXCEPTION_LINES, len(lines))):
        line = lines[below]
        if not goes_on(line):
            return ""
        if found := _EXCEPTION.match(line):
            return found[1][:SAMPLE_BYTES].decode("utf-8", "replace").strip()
    return ""


def _count_unknown(result: ReadFile, line: bytes, number: int) -> None:
    result.unknown += 1
    shape = _shape(line[:400].translate(_ALIKE))
    if shape in result.shapes:
        result.shapes[shape].count += 1
    elif len(result.shapes) < SHAPES_MAX:
        result.shapes[shape] = Shape(1, number, line[:400].decode("utf-8", "replace").strip()[:200])


@lru_cache(maxsize=10_000)
def _shape(start: bytes) -> str:
    return _NUMBERS.sub("0", start.decode("utf-8", "replace").strip())[:SHAPE_LENGTH]


# --- zones ------------------------------------------------------------------------------------------------------------


def _zone_of_file(offsets: Sequence[float], stamps: Sequence[float]) -> Zone | None:
    if offsets:
        return Zone(offset_s=max(set(offsets), key=offsets.count), known_by=STATED)
    by_stamps = offset_by_stamps(stamps)
    return None if by_stamps is None else Zone(offset_s=by_stamps, known_by=STAMPS)


def _set_zones(files: Sequence[ReadFile], given_s: float | None) -> None:
    """Give each file its zone, and bring its times to UTC; a time without a date stays on its own clock face."""
    known: dict[tuple[str, bool], Zone] = {}
    for one in files:
        # The JVM's own log has the machine's zone, whatever RocketMQ's are written in.
        if one.zone is not None and one.name != "gc.log":
            known.setdefault((one.node, one.millis), one.zone)
    for one in files:
        if one.zone is None:
            neighbour = known.get((one.node, one.millis))
            if neighbour is not None:
                one.zone = Zone(offset_s=neighbour.offset_s, known_by=NEIGHBOUR)
            elif given_s is not None:
                one.zone = Zone(offset_s=given_s, known_by=GIVEN)
            elif one.stock_layout and not one.millis:
                one.zone = Zone(offset_s=STOCK_OFFSET_S, known_by=STOCK)
            else:
                one.zone = Zone(offset_s=0.0, known_by=ASSUMED)
    for one in files:
        shift(one, 0.0 if one.undated or one.zone is None else one.zone.offset_s)
        for event in one.events:
            event.node = one.node


def shift(file: ReadFile, shift_s: float) -> None:
    """Take this from all times of a file."""
    file.from_s, file.to_s = _less(file.from_s, shift_s), _less(file.to_s, shift_s)
    for event in file.events:
        event.from_s, event.to_s = _less(event.from_s, shift_s), _less(event.to_s, shift_s)
    for seen in file.warned.values():
        seen.from_s, seen.to_s = _less(seen.from_s, shift_s), _less(seen.to_s, shift_s)


def _less(at_s: float | None, shift_s: float) -> float | None:
    return None if at_s is None else at_s - shift_s
