from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from harness.errors import Interrupted, NodeStartError, WaitTimeout
from harness.wait import NotYet, wait_until


def answers(*values: object) -> Callable[[], object]:
    """A condition that answers (or raises) the values one after another, the last one for ever."""
    left = list(values)

    def condition() -> object:
        value = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(value, Exception):
            raise value
        return value

    return condition


def test_the_conditions_answer_is_returned() -> None:
    assert wait_until("an answer", answers(None, False, "route"), timeout_s=5, poll_s=0.001) == "route"


@pytest.mark.parametrize("answer", [0, "", []])
def test_an_answer_that_is_merely_empty_counts(answer: object) -> None:
    assert wait_until("an answer", answers(None, answer), timeout_s=5, poll_s=0.001) == answer


def test_an_exception_means_not_yet() -> None:
    assert wait_until("a port", answers(ConnectionRefusedError(), OSError(), True), timeout_s=5, poll_s=0.001) is True


def test_a_condition_that_stays_false_times_out_and_says_what_was_waited_for() -> None:
    with pytest.raises(WaitTimeout, match=r"the slaves to be in sync") as caught:
        wait_until("the slaves to be in sync", answers(None), timeout_s=0.1, poll_s=0.01)
    assert caught.value.last_state == ""
    assert 0.1 <= caught.value.waited_s < 1.0


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        (NotYet("broker-a only"), "broker-a only"),
        (ConnectionRefusedError("refused"), "ConnectionRefusedError: refused"),
    ],
)
def test_a_timeout_carries_the_last_state(raised: Exception, state: str) -> None:
    with pytest.raises(WaitTimeout) as caught:
        wait_until("the route", answers(raised), timeout_s=0.05, poll_s=0.01)
    assert caught.value.last_state == state
    assert caught.value.__cause__ is raised


def test_an_error_of_ours_ends_the_wait_at_once() -> None:
    with pytest.raises(NodeStartError):
        wait_until("the broker", answers(NodeStartError("it ended")), timeout_s=60)


def test_a_condition_is_asked_once_even_without_time_and_once_more_at_the_end() -> None:
    assert wait_until("an answer", answers("now"), timeout_s=0) == "now"
    started_s = time.monotonic()
    condition = answers(None, "late")
    # The pause is far longer than the time; it is cut to it, and the condition is asked again.
    assert wait_until("an answer", condition, timeout_s=0.05, poll_s=60) == "late"
    assert time.monotonic() - started_s < 5


def test_a_wait_can_be_cancelled_from_another_thread() -> None:
    cancel = threading.Event()
    threading.Timer(0.05, cancel.set).start()
    started_s = time.monotonic()
    with pytest.raises(Interrupted, match="the drain"):
        wait_until("the drain", answers(None), timeout_s=60, poll_s=30, cancel=cancel)
    assert time.monotonic() - started_s < 5
