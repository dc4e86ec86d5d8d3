"""Processes of ours that work for this one and end with it."""

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait


def end_with_the_parent() -> None:
    """In such a process: an interrupt ends it without a traceback, and so does the end of the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent.sentinel,), daemon=True).start()


def _leave_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
