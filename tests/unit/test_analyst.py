"""The end of a run's own process: what it makes of what the process that analyses says, and when it gives up."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any, cast

import pytest
from pyspark.accumulators import AccumulatorTCPServer

from analysis import analyst
from analysis.analyst import Analyst
from analysis.interrupts import own_interrupts, stop_if_interrupted
from analysis.spark import SparkPlace
from analysis.workers import end_with_the_parent, started_quietly
from harness.errors import AnalysisError

HEAP_MB = 1000
HERE = "local[2]"


class Process:
    """Runs until it is told to end."""

    def __init__(self) -> None:
        self.alive = True

    def is_alive(self) -> bool:
        return self.alive

    def join(self, timeout: float | None = None) -> None:
        assert timeout is not None or not self.alive

    def terminate(self) -> None:
        self.alive = False

    def kill(self) -> None:
        assert not self.alive, "it ends by itself when it is told to, and its Java with it"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyst, "POLL_S", 0.01)


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def theirs(process: Process) -> Iterator[tuple[Analyst, Connection]]:
    ours, theirs = Pipe()
    yield Analyst(cast(Any, process), ours, SparkPlace(master=HERE, heap_mb=HEAP_MB)), theirs
    theirs.close()


def test_what_is_told_on_the_way_comes_before_the_result(theirs: tuple[Analyst, Connection]) -> None:
    mine, other = theirs
    for said in (("progress", "reading"), ("progress", "checking"), ("result", [1, 2])):
        other.send(said)
    told: list[str] = []
    assert mine.ask(max, 3, 4, progress=told.append) == [1, 2]
    assert told == ["reading", "checking"]
    assert other.recv() == (max, (3, 4))


def test_an_error_is_raised_and_the_process_stays(theirs: tuple[Analyst, Connection], process: Process) -> None:
    mine, other = theirs
    other.send(("error", "d1 has not ended"))
    with pytest.raises(AnalysisError, match=r"^d1 has not ended$"):
        mine.ask(max)
    assert process.is_alive()


def test_a_process_that_has_ended_is_an_error_and_of_no_use(theirs: tuple[Analyst, Connection]) -> None:
    mine, other = theirs
    other.close()
    assert not mine.is_ready()
    with pytest.raises(AnalysisError):
        mine.ask(max)


def test_what_is_given_up_ends_the_process(theirs: tuple[Analyst, Connection], process: Process) -> None:
    mine, _ = theirs
    assert mine.ask(max, is_given_up=lambda: True) is None
    assert not process.is_alive()
    with pytest.raises(AnalysisError, match="before it was asked"):
        mine.ask(max)


def test_what_takes_too_long_ends_the_process(theirs: tuple[Analyst, Connection], process: Process) -> None:
    with pytest.raises(AnalysisError, match="the analysis was not done after 0 s"):
        theirs[0].ask(max, within_s=0.05)
    assert not process.is_alive()


def test_a_start_that_takes_too_long_is_not_waited_for(theirs: tuple[Analyst, Connection], process: Process) -> None:
    assert not theirs[0].is_ready(within_s=0.05)
    assert not process.is_alive()


@pytest.mark.parametrize(
    ("master", "heap_mb", "can"),
    [(HERE, HEAP_MB, True), (HERE, HEAP_MB + 1, False), ("spark://127.0.0.1:7077", HEAP_MB, False)],
)
def test_it_can_judge_what_is_for_its_place_and_needs_no_more_heap_than_it_has(
    theirs: tuple[Analyst, Connection], process: Process, master: str, heap_mb: int, can: bool
) -> None:
    mine, _ = theirs
    place = SparkPlace(master=master, heap_mb=heap_mb)
    assert mine.can(place) is can
    process.terminate()
    assert not mine.can(place)


def test_what_pyspark_would_print_of_a_java_that_has_ended_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    server = AccumulatorTCPServer.__new__(AccumulatorTCPServer)
    try:
        raise EOFError
    except EOFError:
        server.handle_error(cast(Any, None), ("127.0.0.1", 1))
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_waits_in_a_worker_until_it_has_its_way_with_it() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with started_quietly():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        worker = get_context("spawn").Process(target=_worker)
        worker.start()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGINT)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    worker.join(60)
    assert worker.exitcode == -signal.SIGINT


def _worker() -> None:
    end_with_the_parent()
    time.sleep(60)


def test_an_interrupt_that_was_forgotten_in_an_analysis_is_raised_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)
    with warnings.catch_warnings():
        with pytest.raises(KeyboardInterrupt), own_interrupts(), suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with own_interrupts():
            pass
    stop_if_interrupted()


def test_what_an_interrupt_breaks_is_the_interrupt_and_ends_what_was_started_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging, "disable", lambda: None)

    def interrupted() -> None:
        with own_interrupts():
            java = subprocess.Popen(["sleep", "60"])
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            assert java.wait(60) == -signal.SIGKILL
            raise OSError("the gateway has ended")

    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        interrupted()
