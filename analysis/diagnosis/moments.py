"""When a log's line was written: its time in whatever layout, and the zone that its file is written in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from statistics import median_low
from typing import NamedTuple

from harness.language import phrase

_TIME = re.compile(
    rb"(?<!\d)(?:(\d{4})[-/.](\d\d)[-/.](\d\d)[ T])?(\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)?(?!\d)"
)
_MINUTE = re.compile(rb"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):")
_SINCE_START = re.compile(rb"(?:TRAC|DEBU|INFO|WARN|ERRO|FATA)\[(\d{4,9})\] ")
"""As logrus of Go clients begins a line where it writes no date: seconds since the process began."""
_SEARCHED_BYTES = 120
"""A custom pattern, or a wrapper of a container's log, may put something before the time."""
DAY_S = 86_400.0
STOCK_OFFSET_S = 8 * 3600
"""Brokers and name servers log in GMT+8 with the logging that their release ships, 4.x and 5.x alike."""
QUARTER_S = 900.0
ZONE_S_MAX = 14 * 3600
"""No zone is farther from UTC."""
STAMP_LATE_S = 150.0
"""A client's last heartbeat is at most two minutes older than the line that tells of it (clientChannelMaxIdleTimeSeconds)."""


class Moment(NamedTuple):
    """``local_s`` is in seconds since 1970 as the log's own clock face shows them, of 1970-01-01 when it has no date.

    ``offset_s`` is the zone where the line states it.
    """

    local_s: float
    dated: bool
    offset_s: float | None
    millis: bool


@dataclass(frozen=True, kw_only=True)
class Zone:
    """How far a file's clock face is ahead of UTC, in seconds, and how that is known."""

    offset_s: float
    known_by: str

    @property
    def name(self) -> str:
        """Such as UTC+08:00."""
        minutes = round(abs(self.offset_s) / 60)
        return f"UTC{'-' if self.offset_s < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" if minutes else "UTC"


def offset_of(name: str) -> float:
    """How far a zone of that name, such as UTC+08:00, is ahead of UTC, in seconds."""
    found = re.fullmatch(r"UTC([+-])(\d\d):(\d\d)", name)
    return 0.0 if found is None else (-1 if found[1] == "-" else 1) * (int(found[2]) * 3600.0 + int(found[3]) * 60.0)


STATED, STAMPS, NEIGHBOUR, GIVEN, STOCK, ASSUMED = (
    phrase("its lines state it"),
    phrase("by time stamps in its lines"),
    phrase("as other files of its node"),
    phrase("given"),
    phrase("as in stock logging"),
    phrase("assumed"),
)


def column_of(line: bytes) -> tuple[int, bool] | None:
    """How many bytes stand before a line's time, and whether it has a date; None without a time."""
    found = _TIME.search(line, 0, _SEARCHED_BYTES)
    return None if found is None else (found.start(), found[1] is not None)


STOCK_TIME_BYTES = 24
"""In stock layouts the date, the time in whole seconds, a space and four letters of the level."""


def stock_time_of(line: bytes) -> bytes | None:
    """How a line begins that has its time as in stock layouts, so that others that begin so are of the same moment."""
    start = line[:STOCK_TIME_BYTES]
    return start if start[19:20] == b" " and start[20:].isalpha() and _MINUTE.match(start) else None


def moment_of(line: bytes) -> Moment | None:
    """The time that a line begins with, or has near its beginning; None without one, or when there is no such time."""
    # In stock layouts a level follows the seconds, and many lines are of the same minute.
    if (
        line[20:24].isalpha()
        and (start := _minute_at(line[:17])) is not None
        and (line[17:19].isdigit() and line[17:19] <= b"60")
    ):
        return Moment(start + int(line[17:19]), True, None, False)
    return _moment(line)


@lru_cache(maxsize=10_000)
def _minute_at(start: bytes) -> float | None:
    found = _MINUTE.fullmatch(start)
    return _minute_s(*found.groups()) if found else None


def _moment(line: bytes) -> Moment | None:
    found = _TIME.search(line, 0, _SEARCHED_BYTES)
    if found is None:
        since = _SINCE_START.match(line)
        return None if since is None else Moment(float(since[1]), False, None, False)
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    start = _minute_s(year or b"1970", month or b"01", day or b"01", hour, minute)
    if start is None or int(second) > 60:
        return None
    part = float(b"0." + fraction) if fraction else 0.0
    return Moment(start + int(second) + part, year is not None, _offset_s(zone), fraction is not None)


@lru_cache(maxsize=100_000)
def _minute_s(year: bytes, month: bytes, day: bytes, hour: bytes, minute: bytes) -> float | None:
    try:
        return datetime(*map(int, (year, month, day, hour, minute)), tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def _offset_s(zone: bytes | None) -> float | None:
    if zone is None:
        return None
    if zone[:1] not in b"+-":
        return 0.0
    digits = zone[1:].replace(b":", b"")
    offset_s = int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0
    return None if offset_s > ZONE_S_MAX else -offset_s if zone[:1] == b"-" else offset_s


def offset_by_stamps(differences_s: Iterable[float]) -> float | None:
    """The zone by how far the clock face was ahead of the milliseconds since 1970 in the same lines; None when they differ.

    A stamp is at most ``STAMP_LATE_S`` older than its line; zones are whole quarters of an hour.
    """
    offsets = [
        QUARTER_S * ((one + 5) // QUARTER_S) for one in differences_s if -5 <= (one + 5) % QUARTER_S - 5 <= STAMP_LATE_S
    ]
    if not offsets:
        return None
    middle = median_low(offsets)
    agreeing = sum(one == middle for one in offsets)
    return middle if agreeing * 2 > len(offsets) and abs(middle) <= ZONE_S_MAX else None


def words_of(at_s: float | None) -> str:
    """A time in UTC for the reader; of one without a date the clock alone."""
    if at_s is None:
        return ""
    try:
        # Rounded first: what is shown has whole milliseconds.
        at = datetime.fromtimestamp(round(at_s, 3), UTC)
    except (ValueError, OverflowError):
        # A garbled year, such as 9999, that its zone takes beyond the calendar.
        return ""
    millis = f".{at.microsecond // 1000:03}" if at.microsecond else ""
    if -DAY_S < at_s < 30 * DAY_S:
        return f"{at:%H:%M:%S}{millis}"
    return f"{at:%Y-%m-%d %H:%M:%S}{millis}Z"


_IN_UTC = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)((?:\.\d{1,6})?)Z")


def in_zone(text: str, offset_s: float) -> str:
    """A sentence with its times of UTC as the clock of a zone shows them, each with the zone: 2026-11-23 16:46:02+08:00."""
    if not offset_s:
        return text
    name = Zone(offset_s=offset_s, known_by="").name.removeprefix("UTC")

    def local(found: re.Match[str]) -> str:
        try:
            at = datetime.fromisoformat(found[1]) + timedelta(seconds=offset_s)
        except (ValueError, OverflowError):
            return found[0]
        return f"{at:%Y-%m-%d %H:%M:%S}{found[2]}{name}"

    return _IN_UTC.sub(local, text)
