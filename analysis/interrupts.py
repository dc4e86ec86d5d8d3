"""Ctrl-C and SIGTERM in an analysis: Spark's Java ends first, and nobody tells at length what it did not finish."""

from __future__ import annotations

import contextlib
import importlib
import logging
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn

import psutil

from harness.signals import INTERRUPTS, handling

Java = subprocess.Popen[bytes]
"""Spark's process, as PySpark has started it."""

END_S_MAX = 10.0

_interrupted = threading.Event()
_hooks: list[Callable[[Any], object]] = []
"""What was in charge of errors that nobody can raise when each open block of ``own_interrupts`` began; the blocks lie within each
other."""


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Kill at an interrupt what this process has started since; ``killed_by_interrupts`` does so once PySpark names its process.

    Python cannot raise an interrupt within a callback, and would print it. It is raised when the block ends instead, which what
    Java's end breaks brings about at the latest.
    """
    before = {child.pid for child in _children()}
    hook = sys.unraisablehook
    _hooks.append(hook)
    sys.unraisablehook = lambda error: None if error.exc_type is KeyboardInterrupt else hook(error)
    try:
        with handling(lambda: _interrupt(*(child for child in _children() if child.pid not in before)), *INTERRUPTS):
            yield
    except Exception:
        stop_if_interrupted()
        raise
    finally:
        sys.unraisablehook = _hooks.pop()
        was_interrupted = _interrupted.is_set()
        if not _hooks:
            _interrupted.clear()
    if was_interrupted:
        raise KeyboardInterrupt


@contextmanager
def killed_by_interrupts(java: Java) -> Iterator[None]:
    """Kill it at an interrupt, before anything is unwound: each thread that waits for its answer would go on waiting."""
    with handling(lambda: _interrupt(java), *INTERRUPTS):
        yield


@contextmanager
def without_pysparks_handler() -> Iterator[None]:
    """Keep PySpark from handling Ctrl-C: it asks Java to cancel its jobs in the middle of another call of the same connection."""
    context: Any = importlib.import_module("pyspark.core.context")
    context.signal = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda *_: None)
    try:
        yield
    finally:
        context.signal = signal


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
