"""Files read by several processes at once, one a core. RocketMQ rolls its logs at 128 MB at most: a whole file is one task."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple

from analysis.workers import end_with_the_parent, end_workers, started_quietly

ALONE_BYTES = 48_000_000
"""What is less is read before another process has started."""

_Result = TypeVar("_Result")
_Task = TypeVarTuple("_Task")


def each_of(
    function: Callable[[*_Task], _Result],
    tasks: Sequence[tuple[*_Task]],
    *,
    size_of: Callable[[tuple[*_Task]], int],
    processes: int | None = None,
) -> list[_Result]:
    """The results of these tasks, in their order; ``size_of`` is a task's bytes. What the function raises is raised.

    ``processes`` is how many there are at most; default: one a core, none besides this one for what is small.
    """
    sizes = [size_of(task) for task in tasks]
    count = processes or (len(os.sched_getaffinity(0)) if sum(sizes) >= ALONE_BYTES else 1)
    count = min(count, len(tasks))
    with _without_collections():
        return _of_each(function, tasks, sizes, count)


@contextmanager
def _without_collections() -> Iterator[None]:
    """What is read becomes many objects that stay; collections that go over them all again and again find nothing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _begin() -> None:
    """A process that only reads."""
    end_with_the_parent()
    gc.disable()


def _of_each(
    function: Callable[[*_Task], _Result], tasks: Sequence[tuple[*_Task]], sizes: Sequence[int], count: int
) -> list[_Result]:
    if count < 2:
        return [function(*task) for task in tasks]
    # The largest first, so that none is left to one process at the end.
    order = sorted(range(len(tasks)), key=lambda at: -sizes[at])
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=spawning, initializer=_begin) as pool:
        try:
            with started_quietly():
                running = {at: pool.submit(function, *tasks[at]) for at in order}
            return [running[at].result() for at in range(len(tasks))]
        except BrokenProcessPool:
            # One was killed, as a host without memory does: this process takes less.
            return [function(*task) for task in tasks]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            end_workers()
            raise
