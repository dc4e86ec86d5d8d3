"""Ctrl-C and SIGTERM in the middle of an analysis: a sentence, the exit code, and nothing of Spark's that is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from harness.errors import EXIT_INTERRUPTED
from harness.paths import PACKAGES
from tests.lib.runs import Run

END_S_MAX = 60.0
"""Of a process at idle weight on a busy machine; jobs that are under way take longer there."""


@pytest.fixture(scope="module")
def run(new_run: Callable[..., Run]) -> Path:
    made = new_run("append-stall")
    for stall_ms in (0, 250, 450, 700, 1200):
        made.stalled(f"s{stall_ms}", stall_ms=stall_ms)
    return made.save()


@pytest.fixture
def command(run: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mqlab", "analyze", str(run)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("step", ["reading", "checking"])
def test_an_interrupt_is_told_in_a_word_and_ends_java_at_once(
    command: subprocess.Popen[str], number: signal.Signals, step: str
) -> None:
    assert command.stderr is not None
    assert any(f"analysis: {step}" in line for line in command.stderr), "it has come to this step"
    java = psutil.Process(command.pid).children(recursive=True)
    assert java
    command.send_signal(number)
    out, err = command.communicate(timeout=END_S_MAX)
    assert command.returncode == EXIT_INTERRUPTED
    told = [line for line in err.splitlines() if not line.startswith("analysis: ")]
    assert (out, told) == ("", ["mqlab: interrupted"])
    assert not psutil.wait_procs(java, timeout=END_S_MAX)[1]
