"""Which lines of a log are kept for the tests, where all of them would be too many.

Kept are all lines of a time around the fault, and before and after it the lines that ``mqlab diagnose`` looks at, each with its
stack trace. The time becomes shorter until the packed logs are small enough.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.diagnosis.lines import Lines, Words, goes_on
from analysis.diagnosis.moments import moment_of
from analysis.diagnosis.reading import ASKED

Span = tuple[float, float]
"""From and to, in seconds since 1970."""
AROUND_S = (300.0, 120.0, 60.0, 30.0, 10.0, 2.0)
"""What is kept whole before and after the fault: the most of these that fits."""
_LOOKED_AT = Words(ASKED)


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A line with those that go on from it: its clock face's time, and whether a diagnosis looks at one of them."""

    text: bytes
    at_s: float | None
    looked_at: bool


def pack(texts: Mapping[Path, bytes], fault: Span | None, bytes_max: int) -> tuple[dict[Path, bytes], float | None]:
    """The files packed, and how many seconds before and after the fault are whole; None where nothing is left out.

    0 where no time of the fault is whole. No files where they are too large even so.
    """
    packed = _packed(texts)
    if _size(packed) <= bytes_max:
        return packed, None
    entries = {name: _entries(text) for name, text in texts.items()}
    for around_s in AROUND_S if fault else ():
        packed = _packed({name: _around(of_file, fault, around_s) for name, of_file in entries.items()})
        if _size(packed) <= bytes_max:
            return packed, around_s
    packed = _packed({name: _around(of_file, None, 0.0) for name, of_file in entries.items()})
    return (packed, 0.0) if _size(packed) <= bytes_max else ({}, 0.0)


def _around(entries: Sequence[_Entry], fault: Span | None, around_s: float) -> bytes:
    """The lines of this time, and of the others those that a diagnosis looks at."""
    return b"".join(
        one.text
        for one in entries
        if one.looked_at
        or (fault is not None and one.at_s is not None and fault[0] - around_s <= one.at_s <= fault[1] + around_s)
    )


def fault_of(events: Path) -> Span | None:
    """From when the fault of a trial was there until it was healed, by its events.jsonl; None without one."""
    times: list[int] = []
    ahead_ns: list[int] = []
    for line in events.read_text(encoding="utf-8").splitlines() if events.exists() else ():
        if '"anchor"' not in line and '"fault"' not in line:
            continue
        one = json.loads(line)
        if one["type"] == "anchor":
            ahead_ns.append(one["wall_us"] * 1000 - one["mono_ns"])
        elif one["type"] == "fault" and one["state"] not in ("asked", "injecting"):
            times.append(one["at_ns"])
    return ((times[0] + ahead_ns[0]) / 1e9, (times[-1] + ahead_ns[0]) / 1e9) if times and ahead_ns else None


def _entries(text: bytes) -> list[_Entry]:
    lines = Lines(text)
    looked_at = _LOOKED_AT.found(lines)
    starts = [at for at in range(len(lines)) if at == 0 or not goes_on(lines[at])]
    found: list[_Entry] = []
    now_s: float | None = None
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        moment = moment_of(lines[start])
        now_s = moment.local_s if moment is not None and moment.dated else now_s
        whole = text[lines.starts[start] : lines.ends[end - 1] + 1]
        found.append(_Entry(text=whole, at_s=now_s, looked_at=any(at in looked_at for at in range(start, end))))
    return found


def _packed(texts: Mapping[Path, bytes]) -> dict[Path, bytes]:
    return {name: gzip.compress(text, mtime=0) for name, text in texts.items() if text}


def _size(packed: Mapping[Path, bytes]) -> int:
    return sum(map(len, packed.values()))
