"""Ctrl-C and SIGTERM in the middle of an analysis: a sentence, the exit code, and nothing of Spark's that is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
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
        [sys.executable, "-m", "mqlab", "runs", "analyze", str(run)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("after_s", [0.0, 1.4])
def test_an_interrupt_as_an_analysis_begins_is_not_swallowed(command: subprocess.Popen[str], after_s: float) -> None:
    assert command.stderr is not None
    assert any("analysis: starting Spark" in line for line in command.stderr)
    time.sleep(after_s)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=END_S_MAX)
    assert command.returncode == EXIT_INTERRUPTED, err
    told = [line for line in err.splitlines() if not line.startswith("analysis: ")]
    assert (out, told) == ("", ["mqlab: interrupted"])


def test_a_spark_that_is_ended_beside_a_trial_prints_nothing(tmp_path: Path) -> None:
    """As a run's own does, whose first trial is interrupted: the process is told to end, and its Java with it."""
    script = (
        "import time\n"
        "from analysis.analyst import analyst_at\n"
        "from analysis.spark import SparkPlace\n"
        "from harness.releases.java import find_java\n"
        "if __name__ == '__main__':\n"
        "    with analyst_at(SparkPlace(master='local[1]', java_home=find_java().home)) as analyst:\n"
        "        print('ready', analyst.is_ready(600.0), flush=True)\n"
        "        time.sleep(600)\n"
    )
    file = tmp_path / "beside.py"
    file.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(file)], env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready True\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
        _, err = process.communicate(timeout=END_S_MAX)
    finally:
        process.kill()
    # What Python says of an interrupt that nobody takes here is this script's own.
    before, _, _ = err.partition("Traceback (most recent call last)")
    assert before == ""
    assert "accumulators" not in err
    assert "Exception occurred" not in err


@pytest.mark.parametrize(("step", "number"), [("reading", signal.SIGINT), ("checking", signal.SIGTERM)])
def test_an_interrupt_is_told_in_a_word_and_ends_java_at_once(
    command: subprocess.Popen[str], number: signal.Signals, step: str
) -> None:
    assert command.stderr is not None
    assert any(f"analysis: {step}" in line for line in command.stderr), "it has come to this step"
    java = psutil.Process(command.pid).children(recursive=True)
    assert java
    unpacked = set()
    for process in java:
        with contextlib.suppress(psutil.NoSuchProcess):  # the launcher's
            unpacked |= {Path(mapped.path).parent for mapped in process.memory_maps()}
    assert Path(tempfile.gettempdir()) not in unpacked, "a killed Java does not remove what it has unpacked there"
    command.send_signal(number)
    out, err = command.communicate(timeout=END_S_MAX)
    assert command.returncode == EXIT_INTERRUPTED
    told = [line for line in err.splitlines() if not line.startswith("analysis: ")]
    assert (out, told) == ("", ["mqlab: interrupted"])
    assert not psutil.wait_procs(java, timeout=END_S_MAX)[1]
