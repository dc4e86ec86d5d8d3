"""An analysis between two steps of a run, in a process of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from analysis.workers import end_with_the_parent, end_workers, started_quietly
from harness.errors import AnalysisError, Interrupted
from harness.host.facts import own_commit
from harness.model.scenario import Scenario
from harness.releases.java import Java
from mqlab.run.judging import spark_place
from mqlab.run.running import how_to_go_on

if TYPE_CHECKING:
    from analysis.spark import SparkPlace


@dataclass(frozen=True, kw_only=True)
class AnalysisApart:
    """Analyses a run in a process of its own: what Spark leaves up would share the cores with the next deployments.

    ``command`` is the one whose ``--resume`` goes on with the run. Calls raise Interrupted and AnalysisError.
    """

    options: argparse.Namespace
    java: Java
    scenarios: Sequence[Scenario]
    console: Console
    command: str

    def __call__(self, run: Path) -> None:
        """Replace the run's analysis by one of what there is now. Raises Interrupted, AnalysisError, RunDirectoryError."""
        self.console.print("looking at what there is", highlight=False)
        code, place = own_commit(), spark_place(self.options, self.java.home)
        commit, go_on = "" if code.dirty else code.id, how_to_go_on(self.command, run)
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=end_with_the_parent) as pool:
                try:
                    with started_quietly():
                        analysed = pool.submit(_analysed, run, self.scenarios, place, commit)
                    analysed.result()
                except KeyboardInterrupt:
                    end_workers()
                    raise
        except KeyboardInterrupt as error:
            raise Interrupted(f"stopped; what was recorded is in {run}", advice=go_on) from error
        except BrokenProcessPool as error:
            raise AnalysisError("the analysis was ended; the recorded run is whole", advice=go_on) from error


def _analysed(run: Path, scenarios: Sequence[Scenario], place: SparkPlace, commit: str) -> None:
    from analysis.pipeline import analyze

    analyze(run, scenarios, place, None, commit)
