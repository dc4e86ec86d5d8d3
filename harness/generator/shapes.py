"""How a load's rate goes over time, as shares of the rate that is asked for. No Locust here."""

from __future__ import annotations

import bisect
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.bounded import lines_of, opened, why
from harness.errors import UsageError
from harness.printable import printable

SPIKE_FROM, SPIKE_TO, SPIKE_BASE = 0.4, 0.5, 0.2
"""A spike takes a tenth of the load's time, in its middle, at five times the rate before and after."""

SECONDS_MAX, RATE_HZ_MAX = 86_400, 1_000_000
"""Of a replay, as of ``--duration`` and ``--rate``."""
LINE_BYTES_MAX = 2**20
"""A record of a history has some hundred bytes."""
SAID_MAX = 200

Shape = Sequence[tuple[float, float]]
"""(seconds from the start, share of the rate from then on), by time."""

SHAPES = ("constant", "step", "ramp", "spike")


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A recorded rate: the share of ``rate_hz`` in each second, and ``rate_hz``, the largest rate of all."""

    seconds: Shape
    rate_hz: float

    @property
    def duration_s(self) -> float:
        """How long the recording is."""
        return self.seconds[-1][0] + 1.0


def shape_named(name: str, duration_s: float) -> Shape:
    """A shape that fills the time: ``step`` goes up by quarters, ``ramp`` from a twentieth up, every second anew.

    Raises:
        UsageError: there is no such shape.
    """
    match name:
        case "constant":
            return ((0.0, 1.0),)
        case "step":
            return tuple((quarter * duration_s / 4, (quarter + 1) / 4) for quarter in range(4))
        case "ramp":
            seconds = max(1, int(duration_s))
            return tuple((float(second), max(0.05, (second + 1) / seconds)) for second in range(seconds))
        case "spike":
            return ((0.0, SPIKE_BASE), (SPIKE_FROM * duration_s, 1.0), (SPIKE_TO * duration_s, SPIKE_BASE))
        case _:
            raise UsageError.unknown("shape", name, SHAPES)


def share_at(shape: Shape, at_s: float) -> float:
    """The share of the rate at a time. Before the first piece it is that of the first piece."""
    place = bisect.bisect_right([start for start, _ in shape], at_s) - 1
    return shape[max(place, 0)][1]


def read_replay(path: Path) -> Replay:
    """The rate by second at which the sends of a history were due. Any producer's history of a run will do.

    Raises:
        UsageError: the file has no sends, or some that no load of a day may have.
    """
    try:
        with opened(path) as file:
            counts = Counter(_seconds_of(file))
    except (OSError, ValueError, RecursionError) as error:
        raise _no_replay(path, printable(why(error)[:SAID_MAX]) or "it cannot be read") from error
    if not counts:
        raise _no_replay(path, "it holds no sends")
    first, last, most = min(counts), max(counts), max(counts.values())
    if last - first >= SECONDS_MAX:
        raise _no_replay(
            path, f"its sends are spread over {last - first + 1:,} s, and a load has {SECONDS_MAX:,} at most"
        )
    if most > RATE_HZ_MAX:
        raise _no_replay(path, f"{most:,} of its sends are due in one second, and a load has {RATE_HZ_MAX:,} at most")
    seconds = tuple((float(second - first), counts[second] / most) for second in range(first, last + 1))
    return Replay(seconds=seconds, rate_hz=float(most))


def _seconds_of(file: BinaryIO) -> Iterator[int]:
    """The second of each send. Raises OSError, ValueError and RecursionError."""
    for number, line in enumerate(lines_of(file, LINE_BYTES_MAX), start=1):
        if b'"type":"send"' in line:
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number:,} is no record of a history") from error
            due = record.get("intended_ns") if isinstance(record, dict) else None
            if type(due) is not int or not 0 <= due < 2**63:
                raise ValueError(f"line {number:,} has no time in nanoseconds as intended_ns")
            yield due // 1_000_000_000


def _no_replay(path: Path, why: str) -> UsageError:
    return UsageError(f"--replay {path}: {why}", advice="Give a producer's history/*.jsonl of a recorded run.")
