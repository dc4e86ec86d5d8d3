"""Ctrl-C and SIGTERM in an analysis: Spark's Java ends first, and nobody tells at length what it did not finish."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn

import psutil
import pyspark.core.context

from harness.signals import INTERRUPTS, handling

Java = subprocess.Popen[bytes]
"""Spark's process, as PySpark has started it."""

END_S_MAX = 10.0

_interrupted = threading.Event()
_blocks: list[object] = []
"""Those of ``own_interrupts`` that are open: they lie within each other."""


@contextmanager
def own_interrupts() -> Iterator[None]:
    """As ``killed_by_interrupts``, before PySpark names its process: those that this process has started meanwhile are killed.

    What Python forgets of an interrupt, as it does where it calls back, is not printed, and raised when the block ends: by what
    Java's end breaks, at the latest.
    """
    before = {child.pid for child in _children()}
    hook = sys.unraisablehook
    _blocks.append(hook)
    sys.unraisablehook = lambda told: None if told.exc_type is KeyboardInterrupt else hook(told)
    try:
        with handling(lambda: _interrupt(*(child for child in _children() if child.pid not in before)), *INTERRUPTS):
            yield
    except Exception:
        stop_if_interrupted()
        raise
    finally:
        sys.unraisablehook = hook
        _blocks.pop()
        was_interrupted = _interrupted.is_set()
        if not _blocks:
            _interrupted.clear()
    if was_interrupted:
        raise KeyboardInterrupt


@contextmanager
def killed_by_interrupts(java: Java) -> Iterator[None]:
    """Kill it at an interrupt, before anything is unwound: each thread that waits for its answer would go on waiting."""
    with handling(lambda: _interrupt(java), *INTERRUPTS):
        yield


@contextmanager
def without_its_own() -> Iterator[None]:
    """PySpark's handler of Ctrl-C asks Java to cancel its jobs, in the middle of another call of the same connection."""
    its: Any = pyspark.core.context
    its.signal = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda *_: None)
    try:
        yield
    finally:
        its.signal = signal


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


def _children() -> list[psutil.Process]:
    return psutil.Process().children()


def _interrupt(*javas: Java | psutil.Process) -> NoReturn:
    # Py4J logs each call that Java does not answer any more with its traceback, some of them as the root; PySpark warns of it.
    logging.disable()
    warnings.simplefilter("ignore")
    _interrupted.set()
    for java in javas:
        with contextlib.suppress(psutil.NoSuchProcess):
            java.kill()
    raise KeyboardInterrupt
