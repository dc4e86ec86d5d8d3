"""What a quick run asks of a Spark that stands ready beside it: the first answer, and at its end the findings.

The first answer is whether the trials of the first cluster agree with the record, while the others boot. Spark starts while
the releases are downloaded, so that neither it nor the report waits for a Java that has everything to load; while trials run
it has nothing to do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import scenarios
from analysis.analyst import Analyst, Progress
from analysis.ledger import agreement
from harness.run.display import duration
from harness.rundir.manifest import read_manifest
from harness.rundir.part import part_of_run
from harness.scratch import scratch_folder
from mqlab.ask.recorded import committed_ledger
from mqlab.run.on_release import on_releases

if TYPE_CHECKING:
    from analysis.report.document import ReportData
    from analysis.spark import Session

ANSWER_S_MAX = 90.0
"""From the end of the first cluster's trials. Trials wait for the answer, and longer than this is not worth it."""


def answer(spark: Session, _: Progress, run: Path, deployment: str) -> str:
    """In words how the trials of an ended deployment stand to the record. Raises RunDirectoryError, AnalysisError."""
    from analysis.evidence.trusted import trusted_run
    from analysis.pipeline import analyze_in

    with scratch_folder() as part:
        part_of_run(run, deployment, part)
        manifest = read_manifest(part)
        chosen = on_releases([scenarios.find(name) for name in manifest.incidents], manifest.releases)
        found = analyze_in(spark, trusted_run(part), chosen).findings
    told = agreement.agreements(agreement.tried(found), committed_ledger())
    return agreement.first_words(" and ".join(manifest.incidents), " and ".join(manifest.releases), told)


def report_of(spark: Session, progress: Progress, run: Path, incidents: Sequence[str], commit: str) -> ReportData:
    """The analysis of a whole run of the lab's own incidents. Raises RunDirectoryError."""
    from analysis.evidence.trusted import trusted_run
    from analysis.pipeline import analyze_in

    chosen = on_releases([scenarios.find(name) for name in incidents], read_manifest(run).releases)
    return analyze_in(spark, trusted_run(run), chosen, progress, commit)


@dataclass(frozen=True, kw_only=True)
class FirstAnswer:
    """Asks for it, and says what it is."""

    run: Path
    analyst: Analyst
    started: float
    """Seconds of the monotonic clock when the command began."""
    cancel: threading.Event
    say: Callable[[str], None]

    def __call__(self, deployment: str, is_over: threading.Event) -> None:
        """Of a deployment that has ended; given up when the run is cancelled, or when ``is_over``. Raises AnalysisError."""
        words = self.analyst.ask(
            answer,
            self.run,
            deployment,
            is_given_up=lambda: self.cancel.is_set() or is_over.is_set(),
            within_s=ANSWER_S_MAX,
        )
        if words is not None:
            self.say(f"first answer, after {duration(time.monotonic() - self.started)}: {words}")
