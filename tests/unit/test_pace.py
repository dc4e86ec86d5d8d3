"""A run that takes longer than its plan said says so, with when it will be over, and why, once in a while."""

from __future__ import annotations

import os

import pytest

from harness.run import pace
from harness.run.pace import Pace, why_slow
from mqlab.tune.sweeping import _late

TRIALS = {f"t{number}": 20.0 for number in range(10)}
BUSY = "the host is busy"


def test_a_run_on_time_says_nothing() -> None:
    run = Pace(217.0, TRIALS)
    for number in range(9):
        run.ended(f"t{number}")
        assert run.words(21.0 * (number + 1), BUSY) == ""


def test_one_that_lasts_six_times_as_long_says_so_early_and_again_now_and_then() -> None:
    run = Pace(217.0, TRIALS)
    said: list[tuple[int, str]] = []
    for second in range(0, 1230, 5):
        if second and second // 123 > (second - 5) // 123:
            run.ended(f"t{second // 123 - 1}")
        if words := run.words(second, BUSY):
            said.append((second, words))
    assert said[0] == (
        255,
        "this takes longer than the 3 min 37 s that were expected: 4 min 15 s so far, about 17 min 00 s left; the host is busy",
    )
    assert 2 <= len(said) <= 6, "once in a while"


def test_where_nothing_has_ended_no_time_is_foreseen() -> None:
    assert Pace(20.0, {"t": 10.0}).words(50.0, BUSY) == (
        "this takes longer than the 20 s that were expected: 50 s so far, and nothing has ended yet; the host is busy"
    )


def test_when_all_has_ended_nothing_is_late() -> None:
    run = Pace(20.0, {"t": 10.0})
    run.ended("t")
    assert run.words(500.0, BUSY) == ""
    assert Pace(20.0, {}).words(500.0, BUSY) == ""


def test_it_is_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "usable_cores", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (6.8, 0.0, 0.0))
    assert why_slow() == "the host is busy (load average 6.8 on 2 cores)"
    monkeypatch.setattr(os, "getloadavg", lambda: (1.2, 0.0, 0.0))
    assert "the next plan goes by these" in why_slow()


def test_a_sweep_says_between_its_rounds_that_it_takes_longer_than_it_was_to_take_at_most() -> None:
    assert _late(100.0, 217.0, 60.0) == ""
    assert _late(600.0, 217.0, 90.0).startswith(
        "the sweep takes longer than the 3 min 37 s that it was to take at most: 10 min 00 s so far, and about 1 min 30 s for "
        "what is undecided still; "
    )
