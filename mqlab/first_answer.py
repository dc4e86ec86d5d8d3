"""The first answer of a quick run: whether the trials of its first cluster agree with the record, while the rest boots.

It comes from a process of its own, so that the run's own process carries neither Spark nor the work of judging; nothing of
the run waits for it but the next trials. All trials are judged at the end, these again with them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import scenarios
from analysis.ledger import agreement
from analysis.scratch import scratch_folder
from harness.errors import AnalysisError, LabError
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.releases.java import Java
from harness.run.display import duration
from harness.rundir.manifest import read_manifest
from harness.rundir.part import part_of_run
from mqlab.judging import spark_place
from mqlab.options import add_spark
from mqlab.recorded import committed_ledger

if TYPE_CHECKING:
    from analysis.spark import SparkPlace

ANSWER_S_MAX = 90.0
"""From the end of the first cluster's trials. Trials wait for the answer, and longer than this is not worth it."""

POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class FirstAnswer:
    """Asks for it, and says what it is."""

    run: Path
    leases: Leases
    java: Java
    spark: tuple[str, ...]
    """Options of where it is computed."""
    started: float
    """Seconds of the monotonic clock when the command began."""
    cancel: threading.Event
    say: Callable[[str], None]

    def __call__(self, deployment: str, is_over: threading.Event) -> None:
        """Of a deployment that has ended; given up when the run is cancelled, or when ``is_over``."""
        argv = [sys.executable, "-m", "mqlab.first_answer", str(self.run), deployment, str(self.java.home)]
        # Files, since nobody reads a pipe meanwhile.
        with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as errors:
            process = self.leases.spawn(
                [*argv, *self.spark], name="first-answer", until_s=ANSWER_S_MAX, stdout=words, stderr=errors
            )
            try:
                self._wait(process, lambda: self.cancel.is_set() or is_over.is_set())
                if process.poll() is None:
                    return
                if process.returncode:
                    raise AnalysisError(_last_line(errors) or f"the analysis ended with {process.returncode}")
                self.say(f"first answer, after {duration(time.monotonic() - self.started)}: {_last_line(words)}")
            finally:
                process.kill()

    def _wait(self, process: LeasedProcess, is_given_up: Callable[[], bool]) -> None:
        """Raises AnalysisError."""
        deadline = time.monotonic() + ANSWER_S_MAX
        while process.poll() is None and not is_given_up():
            if time.monotonic() > deadline:
                raise AnalysisError(f"the analysis was not done after {duration(ANSWER_S_MAX)}")
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    return (file.read().decode(errors="replace").strip().splitlines() or [""])[-1]


def answer(run: Path, deployment: str, place: SparkPlace) -> str:
    """In words how the trials of an ended deployment stand to the record. Raises RunDirectoryError, AnalysisError."""
    part = scratch_folder()
    part_of_run(run, deployment, part)
    manifest = read_manifest(part)
    # The run's own process imports this module, and is not to load Spark.
    from analysis.pipeline import analyze

    found = analyze(part, [scenarios.find(name) for name in manifest.incidents], place)
    told = agreement.agreements(agreement.tried(found), committed_ledger())
    return agreement.first_words(" and ".join(manifest.incidents), " and ".join(manifest.releases), told)


def main() -> int:
    """A process by itself: prints the words, or the error on standard error."""
    parser = argparse.ArgumentParser(prog="mqlab.first_answer")
    for name, kind in (("run", Path), ("deployment", str), ("java_home", Path)):
        parser.add_argument(name, type=kind)
    add_spark(parser)
    options = parser.parse_args()
    try:
        print(answer(options.run, options.deployment, spark_place(options, options.java_home)))
    except LabError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
