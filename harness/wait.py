"""Waiting for a condition: bounded, by the monotonic clock, and able to say what it waited for."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_delay

from harness.errors import ClientError, Interrupted, LabError, WaitTimeout

T = TypeVar("T")


class NotYet(Exception):  # noqa: N818 - it is a state, not an error
    """Raised by a condition that is not true yet and can say how far it is; the text ends up in ``WaitTimeout``."""


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """For a condition: a node on a busy machine may not answer yet, or not in time. The wait goes on then."""
    try:
        yield
    except ClientError as error:
        raise NotYet(str(error)) from error


def wait_until(
    what: str,
    condition: Callable[[], T | None],
    *,
    timeout_s: float,
    poll_s: float = 0.05,
    cancel: threading.Event | None = None,
) -> T:
    """Ask ``condition`` every ``poll_s`` seconds until it answers, and return its answer.

    None and False mean "not yet", and so does any exception other than a ``LabError``: what is waited for is often not
    even reachable at first. A ``LabError`` (the node died, the user interrupted) ends the wait at once. The condition
    is asked at least once, and for the last time when ``timeout_s`` is over.

    Raises WaitTimeout with the last state or exception, Interrupted once ``cancel`` is set.
    """
    started_s = time.monotonic()

    def ask() -> T | None:
        if cancel is not None and cancel.is_set():
            raise Interrupted(f"stopped while waiting for {what}")
        return condition()

    def pause_s(_: RetryCallState) -> float:
        # The last pause is cut, so that the condition is asked once more when the time is over and not long after.
        return max(0.0, min(poll_s, started_s + timeout_s - time.monotonic()))

    def pause(seconds: float) -> None:
        (cancel or threading.Event()).wait(seconds)

    def give_up(state: RetryCallState) -> T | None:
        waited_s = time.monotonic() - started_s
        outcome = state.outcome
        error = outcome.exception() if outcome is not None else None
        raise WaitTimeout(what, waited_s=waited_s, last_state=_state(error)) from error

    retrying = Retrying(
        stop=stop_after_delay(timeout_s),
        wait=pause_s,
        sleep=pause,
        retry=retry_if_exception(lambda error: isinstance(error, Exception) and not isinstance(error, LabError))
        | retry_if_result(lambda answer: answer is None or answer is False),
        retry_error_callback=give_up,
    )
    answer: T | None = retrying(ask)
    assert answer is not None  # retry_if_result lets no None through, and give_up never returns.
    return answer


def _state(error: BaseException | None) -> str:
    if error is None:
        return ""
    if isinstance(error, NotYet):
        return str(error)
    return f"{type(error).__name__}: {error}"
