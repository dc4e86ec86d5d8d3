"""Delayed messages that do not come, are dropped, or come again: one planted fact a trial."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenarios import delayed_message_fails_once
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import OWNER, PRODUCER, Trial

MEASURES = ("undelivered_share", "dropped_count", "delivered_again_count", "delivery_late_s", "delivered_again_share")
HOLD_MS = 16_000.0
DELAY_MS = (0.0, 1_000.0, 5_000.0)
SECONDS = range(-4, 14)
"""A message of each level is sent each second; sequence numbers go through the levels."""


def _seq(second: int, level: int) -> int:
    return (second - SECONDS[0]) * len(DELAY_MS) + level


def _trial(run: Run, name: str, came_ms: Callable[[int, int], tuple[float, ...]], *, drained: bool = True) -> Trial:
    """``came_ms`` says how long after its time a message comes, each time that it does."""
    trial = run.trial(
        name,
        "delayed-message-fails-once",
        "incident",
        fault="delivery-throws",
        hold_ms=HOLD_MS,
        groups=["g0"],
        drained=drained,
    )
    for second in SECONDS:
        for level, delay_ms in enumerate(DELAY_MS):
            seq, due_ms = _seq(second, level), second * 1_000.0
            trial.send(seq, due_ms=due_ms, took_ms=0.0, offset=seq)
            trial.history[PRODUCER][-1]["key"] = f"level{level}"
            for copy, late_ms in enumerate(came_ms(second, level)):
                trial.consume(seq + 1_000 * copy, at_ms=due_ms + delay_ms + late_ms, process=OWNER)
                trial.history[OWNER][-1]["seq"] = seq
    return trial


def _all_come(second: int, level: int) -> tuple[float, ...]:
    return (20.0,)


def _one_is_dropped(second: int, level: int) -> tuple[float, ...]:
    return () if (second, level) == (-1, 2) else (20.0,)


def _level_2_stops(second: int, level: int) -> tuple[float, ...]:
    return () if level == 2 and second >= -5 else (20.0,)


def _level_2_waits(second: int, level: int) -> tuple[float, ...]:
    """What was due in the first 10 s comes at 10 s."""
    due_s = second + 5
    return ((10.0 - due_s) * 1_000.0,) if level == 2 and 0 <= due_s < 10 else (20.0,)


def _some_come_again(second: int, level: int) -> tuple[float, ...]:
    return (20.0, 15_000.0) if level == 1 and second < 0 else (20.0,)


def plant(run: Run) -> Asked:
    _trial(run, "all_come", _all_come)
    _trial(run, "one_is_dropped", _one_is_dropped)
    _trial(run, "level_2_stops", _level_2_stops)
    _trial(run, "level_2_waits", _level_2_waits)
    _trial(run, "some_come_again", _some_come_again)
    _trial(run, "delays_not_drained", _all_come, drained=False)
    return Asked(scenarios=(delayed_message_fails_once.SCENARIO,), measures=MEASURES)


def _missing(seen: Analysis, trial: str, by: str = "hold") -> list[float]:
    return [seen.one("undelivered_share", trial, level=str(level), by=by) for level in range(len(DELAY_MS))]


def test_messages_that_come_in_time_are_neither_missing_nor_dropped_nor_there_twice(seen: Analysis) -> None:
    assert _missing(seen, "all_come") == [0, 0, 0]
    assert [seen.one(measure, "all_come") for measure in ("dropped_count", "delivered_again_count")] == [0, 0]
    assert seen.one("delivery_late_s", "all_come", level="2") == pytest.approx(0.02, abs=0.001)


def test_a_message_is_dropped_when_a_later_one_of_its_level_has_come(seen: Analysis) -> None:
    assert seen.one("dropped_count", "one_is_dropped") == 1
    assert seen.shown_record("dropped_count", "one_is_dropped")["seq"] == _seq(-1, 2)
    assert seen.one("dropped_count", "level_2_stops") == 0


def test_a_level_that_stops_is_told_from_those_that_go_on(seen: Analysis) -> None:
    assert _missing(seen, "level_2_stops") == [0, 0, 1]
    assert _missing(seen, "level_2_stops", by="end") == [0, 0, 1]


def test_what_comes_late_was_not_missing_by_the_holds_end(seen: Analysis) -> None:
    assert _missing(seen, "level_2_waits") == [0, 0, 0]
    assert seen.one("delivery_late_s", "level_2_waits", level="2") == pytest.approx(9.0, abs=0.01)


def test_what_lies_in_its_topic_twice_came_again(seen: Analysis) -> None:
    assert seen.one("delivered_again_count", "some_come_again") == 4


def test_of_what_came_last_before_the_fault_the_share_that_came_again_leaves_out_what_was_not_delayed(
    seen: Analysis,
) -> None:
    # In the last 2.5 s came those of level 1 that were sent at -3 s and -2 s, and none of level 2.
    assert seen.one("delivered_again_share", "some_come_again") == 1
    assert seen.one("delivered_again_share", "all_come") == 0


def test_more_may_come_where_the_load_was_not_drained(seen: Analysis) -> None:
    assert [seen.found(measure, "delays_not_drained") for measure in MEASURES] == [[] for _ in MEASURES]
