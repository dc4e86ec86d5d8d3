"""Timer slack: who gets it, and that it does not stay."""

from __future__ import annotations

import subprocess
import sys

from harness.host.timers import timer_slack

SAY_SLACK = "import ctypes; print(ctypes.CDLL(None).prctl(30, 0, 0, 0, 0))"


def _slack_of_a_child_ns() -> int:
    return int(subprocess.check_output([sys.executable, "-c", SAY_SLACK]))


def test_children_that_are_started_in_the_block_have_it_and_later_ones_do_not() -> None:
    usual_ns = _slack_of_a_child_ns()
    with timer_slack(10.0):
        assert _slack_of_a_child_ns() == 10_000_000
    assert _slack_of_a_child_ns() == usual_ns < 10_000_000


def test_none_changes_nothing() -> None:
    usual_ns = _slack_of_a_child_ns()
    with timer_slack(0.0):
        assert _slack_of_a_child_ns() == usual_ns
