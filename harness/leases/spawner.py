"""Where processes are started: in one thread, which lives as long as this program does.

A program that ends with its parent (``harness.leases.with_parent``) ends with the thread that started it, and those who start
programs are threads of pools, whose work is over long before the program's.
"""

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Spawner:
    """One thread of this process, which lives as long as the process does, and in which others have functions called."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="spawner", daemon=True).start()

    def call(self, function: Callable[[], T]) -> T:
        """What the function returns or raises there."""
        future: Future[T] = Future()

        def carry_out() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._asked.put(carry_out)
        return future.result()

    def _serve(self) -> None:
        while True:
            self._asked.get()()


_spawners: dict[int, Spawner] = {}
"""By pid: a forked child has none of its parent's threads."""

_lock = threading.Lock()


def in_spawner(function: Callable[[], T]) -> T:
    """Call it in this process's spawner: what it starts has that thread as its parent."""
    with _lock:
        spawner = _spawners.get(os.getpid()) or _spawners.setdefault(os.getpid(), Spawner())
    return spawner.call(function)
