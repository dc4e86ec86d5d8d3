"""Ctrl-C and SIGTERM in an analysis: Spark's Java ends first, and nobody tells at length what it did not finish."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from harness.signals import INTERRUPTS, handling

Java = subprocess.Popen[bytes]
"""Spark's process, as PySpark has started it."""

END_S_MAX = 10.0

_interrupted = threading.Event()


@contextmanager
def own_interrupts() -> Iterator[None]:
    """As ``killed_by_interrupts``, before there is a process. PySpark's own way with Ctrl-C is taken back at the end.

    An interrupt that Python has forgotten, as it does where it calls back, is raised then.
    """
    _interrupted.clear()
    with handling(_interrupt, *INTERRUPTS):
        yield
    stop_if_interrupted()


@contextmanager
def killed_by_interrupts(java: Java) -> Iterator[None]:
    """Kill it at an interrupt, before anything is unwound: each thread that waits for its answer would go on waiting."""
    with handling(lambda: _interrupt(java), *INTERRUPTS):
        yield


def stop_if_interrupted() -> None:
    """What threads of this process ask between steps of their own: no Java's end reaches them."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


def end(java: Java) -> None:
    """Wait until it ends by itself, as it does when nobody writes to it any more; kill it when it does not."""
    assert java.stdin is not None
    java.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        java.wait(END_S_MAX)
    java.kill()


def _interrupt(java: Java | None = None) -> NoReturn:
    # Py4J logs each call that Java does not answer any more with its traceback, some of them as the root.
    logging.disable()
    _interrupted.set()
    if java is not None:
        java.kill()
    raise KeyboardInterrupt
