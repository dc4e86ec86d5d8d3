"""A Spark that stands ready in a process of its own, and carries out one task after another in the session that it keeps."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from analysis.workers import end_with_the_parent, started_quietly
from harness.errors import AnalysisError, LabError

if TYPE_CHECKING:
    from analysis.spark import Session, SparkPlace

READY_S_MAX = 60.0
"""Longer than this a start is not worth to be waited for."""

END_S_MAX = 5.0
POLL_S = 0.2

Progress = Callable[[str], None]
Task = Callable[..., Any]
"""What the process is asked to do: a function of a module, which takes the session, what tells of its progress, and values."""


class Analyst:
    """This process' end of it."""

    def __init__(self, process: BaseProcess, pipe: Connection, place: SparkPlace) -> None:
        self._process = process
        self._pipe = pipe
        self._place = place

    def is_ready(self, within_s: float = READY_S_MAX) -> bool:
        """Wait until it has started; False when it has ended, or was ended after so many seconds."""
        try:
            return self._ended("start", _nothing, lambda: False, within_s) is not None
        except AnalysisError:
            return False

    def can(self, place: SparkPlace) -> bool:
        """Whether it is there, at that place, with as much heap as that wants."""
        is_there = self._process.is_alive() and place.where == self._place.where
        return is_there and place.heap_mb <= self._place.heap_mb

    def ask(
        self,
        task: Task,
        *values: object,
        progress: Progress | None = None,
        is_given_up: Callable[[], bool] = lambda: False,
        within_s: float = float("inf"),
    ) -> Any:
        """What the task returns; None when it was given up, and the process ended with it. Raises AnalysisError."""
        try:
            self._pipe.send((task, values))
        except OSError as error:
            raise AnalysisError("the analysis has ended before it was asked") from error
        return self._ended("analysis", progress or _nothing, is_given_up, within_s)

    def end(self, grace_s: float = END_S_MAX) -> None:
        """Let the process end, or end it after ``grace_s``, and its Java with it."""
        self._pipe.close()
        self._process.join(grace_s)
        self._process.terminate()
        self._process.join(END_S_MAX)
        self._process.kill()
        self._process.join()

    def _ended(self, what: str, progress: Progress, is_given_up: Callable[[], bool], within_s: float) -> Any:
        deadline_s = time.monotonic() + within_s
        while True:
            try:
                if self._pipe.poll(POLL_S):
                    kind, value = self._pipe.recv()
                    if kind == "error":
                        raise AnalysisError(value)
                    if kind == "result":
                        return value
                    progress(value)
            except (EOFError, OSError) as error:
                raise AnalysisError(f"the {what}'s process has ended") from error
            if is_given_up():
                self.end(grace_s=0.0)
                return None
            if time.monotonic() > deadline_s:
                self.end(grace_s=0.0)
                raise AnalysisError(f"the {what} was not done after {within_s:.0f} s")


@contextmanager
def analyst_at(place: SparkPlace) -> Iterator[Analyst]:
    """A process with a session there, for the time of the block."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(theirs, place), name="analyst", daemon=True)
    with started_quietly():
        process.start()
    theirs.close()
    analyst = Analyst(process, ours, place)
    try:
        yield analyst
    except BaseException:
        # Whoever made a mistake is not to wait for a Spark to start.
        analyst.end(grace_s=0.0)
        raise
    analyst.end()


def _serve(pipe: Connection, place: SparkPlace) -> None:
    """In the process: start Spark, then one task after another until nobody asks any more."""
    end_with_the_parent()
    from analysis.class_archive import warm_up
    from analysis.spark import closing_session

    # Nobody asks any more, or nobody listens; an interrupt is told by the process that started this one.
    with suppress(EOFError, OSError, KeyboardInterrupt):
        try:
            with closing_session(place) as spark:
                warm_up(spark)
                pipe.send(("result", True))
                while True:
                    pipe.send(_carried_out(spark, pipe))
        except (EOFError, OSError):
            raise
        except Exception as error:
            pipe.send(("error", _said(error)))


def _carried_out(spark: Session, pipe: Connection) -> tuple[str, Any]:
    task, values = pipe.recv()
    try:
        # A session of its own each: an analysis changes settings in mid-course.
        return "result", task(spark.newSession(), lambda text: pipe.send(("progress", text)), *values)
    except Exception as error:
        return "error", _said(error)


def _said(error: Exception) -> str:
    """Who asks has a way of its own, in which the same error is told in full."""
    return str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}".partition("\n")[0]


def _nothing(_: str) -> None:
    return
