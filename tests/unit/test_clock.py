from __future__ import annotations

import time
from collections.abc import Callable

from harness.clock import STEP_NS, Anchor, mono_ns, steps, take_anchor

SECOND_NS = 1_000_000_000


def readings(*values: int) -> Callable[[], int]:
    left = list(values)
    return lambda: left.pop(0)


def test_an_anchor_of_now_agrees_with_both_clocks() -> None:
    before_ns, before_wall_us = mono_ns(), time.time_ns() // 1000
    anchor = take_anchor()
    assert before_ns <= anchor.mono_ns <= mono_ns()
    assert before_wall_us <= anchor.wall_us <= time.time_ns() // 1000


def test_an_anchor_whose_reads_were_torn_apart_is_taken_again() -> None:
    # First the process loses the CPU for 30 ms between the reads, then it reads within 2 us.
    monotonic = readings(0, 30_000_000, 40_000_000, 40_002_000)
    wall = readings(1_000_030_000_000, 1_000_040_001_000)
    anchor = take_anchor(monotonic_ns=monotonic, wall_ns=wall)
    assert anchor == Anchor(mono_ns=40_001_000, wall_us=1_000_040_001)


def test_the_tightest_of_many_loose_readings_is_kept() -> None:
    widths_ns = [90_000, 50_000, *[80_000] * 18]
    monotonic = [value for at, width in enumerate(widths_ns) for value in (at * SECOND_NS, at * SECOND_NS + width)]
    wall = [at * SECOND_NS for at in range(len(widths_ns))]
    anchor = take_anchor(monotonic_ns=readings(*monotonic), wall_ns=readings(*wall))
    assert anchor.mono_ns == SECOND_NS + 25_000


def anchors(*moved_ms: float) -> list[Anchor]:
    """Anchors each 10 s; the wall clock has moved against the monotonic one by so many milliseconds in all."""
    return [
        Anchor(mono_ns=at * 10 * SECOND_NS, wall_us=at * 10_000_000 + int(moved * 1000))
        for at, moved in enumerate(moved_ms)
    ]


def test_a_step_forth_or_back_is_found_where_it_happened() -> None:
    found = steps(anchors(0, 0, 3600_000, 3600_000, 3599_949))
    assert [(step.before.mono_ns // SECOND_NS, step.moved_ns) for step in found] == [
        (10, 3600_000_000_000),
        (30, -51_000_000),
    ]


def test_slewing_is_no_step_even_when_it_adds_up() -> None:
    assert steps(anchors(0, 5, 10, 40, 80, 130)) == []
    assert STEP_NS == 50_000_000


def test_few_anchors_show_no_step() -> None:
    assert steps([]) == []
    assert steps(anchors(12)) == []
