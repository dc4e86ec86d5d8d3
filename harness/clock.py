"""One clock for all processes: CLOCK_MONOTONIC of the host, with anchors that tie it to the wall clock.

On Linux ``time.monotonic_ns()`` and Java's ``System.nanoTime()`` read the same CLOCK_MONOTONIC, so the nanoseconds of
all processes of one host compare directly. The wall clock is needed for log lines alone; it is converted by anchors,
and a step of it between two anchors makes a trial not count.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

STEP_NS = 50_000_000
"""More than this between two anchors is a step. Slewing moves the clock by at most 500 ppm, 5 ms in the 10 s between
two anchors."""

ANCHOR_PERIOD_S = 10.0
"""Every process renews its anchor this often."""

_TIGHT_NS = 20_000
"""An anchor whose two monotonic reads lie within 20 us is tight; log lines have milliseconds."""

_TRIES_MAX = 20


def mono_ns() -> int:
    """Nanoseconds of CLOCK_MONOTONIC."""
    return time.monotonic_ns()


def wall_us() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """The wall clock's reading at a monotonic time: nanoseconds of CLOCK_MONOTONIC, microseconds since 1970."""

    mono_ns: int
    wall_us: int

    @property
    def offset_ns(self) -> int:
        """Wall minus monotonic, which stays the same until the wall clock is stepped or slewed."""
        return self.wall_us * 1000 - self.mono_ns


def take_anchor(
    *, monotonic_ns: Callable[[], int] = time.monotonic_ns, wall_ns: Callable[[], int] = time.time_ns
) -> Anchor:
    """Read the wall clock between two monotonic reads, a few times, and keep the tightest reading.

    A process that is descheduled between the reads would otherwise be wrong by a whole time slice.
    """
    best: Anchor | None = None
    best_width_ns = 0
    for _ in range(_TRIES_MAX):
        before_ns = monotonic_ns()
        wall = wall_ns()
        after_ns = monotonic_ns()
        width_ns = after_ns - before_ns
        if best is None or width_ns < best_width_ns:
            best = Anchor(mono_ns=before_ns + width_ns // 2, wall_us=wall // 1000)
            best_width_ns = width_ns
        if width_ns <= _TIGHT_NS:
            break
    assert best is not None
    return best


@dataclass(frozen=True, kw_only=True)
class Step:
    """The wall clock moved by ``moved_ns`` against the monotonic one, somewhere between the two anchors."""

    before: Anchor
    after: Anchor

    @property
    def moved_ns(self) -> int:
        """Positive when the wall clock went ahead."""
        return self.after.offset_ns - self.before.offset_ns


def steps(anchors: Sequence[Anchor]) -> list[Step]:
    """The steps of the wall clock between neighbours of one process's anchors, in the order given."""
    found = [Step(before=before, after=after) for before, after in pairwise(anchors)]
    return [step for step in found if abs(step.moved_ns) > STEP_NS]
