"""Processes of ours that work for this one and end with it."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait


@contextmanager
def started_quietly() -> Iterator[None]:
    """While such processes are started: Ctrl-C of a terminal, which they get, too, waits in each until it has its way with it.

    In the middle of its first imports Python would print a traceback.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_workers() -> None:
    """End all of this process's: whoever waits for their pool would wait for what they are at."""
    for process in multiprocessing.active_children():
        process.terminate()


def end_with_the_parent() -> None:
    """In such a process: an interrupt ends it without a traceback, and so does the end of the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent.sentinel,), daemon=True).start()


def _leave_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
