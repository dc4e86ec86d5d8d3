"""Signals of the terminal and of other programs, handled for a while."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


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
def cancelling(cancel: threading.Event, say: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM set ``cancel`` and ``say`` so; a second one ends the program at once."""

    def stop() -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()
        say()

    with handling(stop, signal.SIGINT, signal.SIGTERM):
        yield
