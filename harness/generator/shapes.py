"""How a load's rate goes over time, as shares of the rate that is asked for. No Locust here."""

from __future__ import annotations

import bisect
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError

SPIKE_FROM, SPIKE_TO, SPIKE_BASE = 0.4, 0.5, 0.2
"""A spike takes a tenth of the load's time, in its middle, at five times the rate before and after."""

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
        UsageError: the file has no sends.
    """
    counts: dict[int, int] = {}
    try:
        with path.open("rb") as lines:
            for line in lines:
                if b'"type":"send"' in line:
                    second = int(json.loads(line)["intended_ns"]) // 1_000_000_000
                    counts[second] = counts.get(second, 0) + 1
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"--replay {path}: {error}", advice="Give a history/*.jsonl of a recorded run.") from error
    if not counts:
        raise UsageError(f"--replay {path}: it holds no sends", advice="Give a producer's history of a recorded run.")
    first, most = min(counts), max(counts.values())
    seconds = tuple((float(second - first), counts.get(second, 0) / most) for second in range(first, max(counts) + 1))
    return Replay(seconds=seconds, rate_hz=float(most))
