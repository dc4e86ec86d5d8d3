"""Signals of the terminal and of other programs, handled for a while."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what other programs send to end one."""


@contextlib.contextmanager
def handling(handler: Callable[[], None], *numbers: signal.Signals) -> Iterator[None]:
    """Call ``handler`` at these signals as long as the block lasts; Python allows it in the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, lambda *_: handler()) for number in numbers}
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """As long as the block lasts Ctrl-C and SIGTERM raise KeyboardInterrupt, at its end at the latest.

    What is raised while Python calls back (an import's lock, a finalizer) is printed and forgotten there. Where the shell has let
    Ctrl-C be ignored it stays so.
    """
    was_asked = threading.Event()

    def interrupt() -> None:
        was_asked.set()
        raise KeyboardInterrupt

    heeded = [number for number in INTERRUPTS if signal.getsignal(number) != signal.SIG_IGN]
    with handling(interrupt, *heeded):
        yield
    if was_asked.is_set():
        raise KeyboardInterrupt


@contextlib.contextmanager
def cancelling(cancel: threading.Event, say: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM set ``cancel`` and ``say`` so; a second one ends the program at once."""

    def stop() -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()
        say()

    with handling(stop, *INTERRUPTS):
        yield


@dataclass(frozen=True, kw_only=True)
class EarlyEnd:
    """How a user ends what would end by itself: from then on nothing more is begun, and what was is brought to its end.

    ``is_possible`` once there is something worth to be brought to an end, ``is_asked`` when the user wants it.
    """

    is_possible: threading.Event = field(default_factory=threading.Event)
    is_asked: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def ending_early(early: EarlyEnd, cancel: threading.Event, say: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM asks for the early end where that is possible, and else sets ``cancel``; a second one sets it.

    The next one ends the program at once.
    """

    def stop() -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        if early.is_possible.is_set() and not early.is_asked.is_set():
            early.is_asked.set()
            say("stopping: nothing more is sent, and what was sent is drained and judged; Ctrl-C again ends it at once")
        else:
            cancel.set()
            say("stopping")

    with handling(stop, *INTERRUPTS):
        yield
