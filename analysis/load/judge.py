"""A load judged: what was promised, what arrived, and how well the generator kept its own schedule.

The same checkers judge it as for incidents, without claims. A load's run directory is one trial, so nothing here is an
estimate and nothing has an interval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.checkers.base import Inputs
from analysis.evidence.consumption import fold_consumption
from analysis.evidence.records import ANALYSIS_FOLDER, load_records
from analysis.evidence.trials import trial_facts, trials_frame
from analysis.load import accounts
from analysis.load.consumed import consumed
from analysis.load.figures import Figures, figures_of
from analysis.load.properties import Property
from analysis.logs import gc
from analysis.logs.tables import load_logs
from analysis.spark import SparkPlace, closing_session
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED
from harness.rundir.files import replace_file
from harness.rundir.reading import RunDirectory, read_run_directory


@dataclass(frozen=True, kw_only=True)
class JudgedLoad:
    """Everything that is said of a load.

    ``locust_requests`` and ``locust_failures`` are Locust's own counts. ``notes`` are what a reader has to know: weaknesses of
    the client, what went wrong.
    """

    client: str
    release: str
    params: Mapping[str, int | float | str]
    figures: Figures
    properties: tuple[Property, ...]
    notes: tuple[str, ...]
    locust_requests: int | None
    locust_failures: int | None

    @property
    def exit_code(self) -> int:
        """As with ``--strict``: 1 when something is violated, 2 when something could not be judged."""
        found = {item.holds for item in self.properties}
        return EXIT_MISMATCH if "violated" in found else EXIT_UNDECIDED if "undecided" in found else EXIT_OK

    def lines(self) -> list[str]:
        """For a person."""
        f = self.figures
        lines = [
            f"client {self.client} on RocketMQ {self.release}: {f.sends:,} sends, {f.ok:,} ok, {f.failed:,} failed, "
            f"{f.unknown:,} unknown; {f.consumptions:,} consumptions",
            f"started {f.started_per_s:,.1f}/s{_asked(f)}, accepted {f.ok_per_s:,.1f}/s",
            f"latency p50 {f.latency_ms[0]:.2f}, p99 {f.latency_ms[1]:.2f}, p99.9 {f.latency_ms[2]:.2f} ms",
        ]
        if "in_flight" not in self.params:
            late = (
                f"p50 {f.late_ms[0]:.3f}, p99 {f.late_ms[1]:.3f}, p99.9 {f.late_ms[2]:.3f}, max {f.late_ms_max:.1f} ms"
            )
            probe = "" if f.hiccup_ms_max is None else f"; the machine's own worst hiccup {f.hiccup_ms_max:.1f} ms"
            lines.append(f"starts late by {late}{probe}")
        if f.unknown:
            lines.append(f"of the {f.unknown:,} sends with an unknown outcome {f.unknown_arrived:,} were consumed")
        if f.unplaced:
            lines.append(f"of the {f.ok:,} accepted sends the client did not tell queue and offset of {f.unplaced:,}")
        width = max(len(item.name) for item in self.properties)
        lines += [f"{item.name:{width}}  {item.holds:9}  {item.words}" for item in self.properties]
        return lines + [f"note: {note}" for note in self.notes]


def _asked(figures: Figures) -> str:
    if figures.asked_per_s is None:
        return ""
    off = figures.started_per_s / figures.asked_per_s - 1
    return f" of {figures.asked_per_s:,.1f} asked ({off:+.3%})"


def judge_load(run_dir: Path, place: SparkPlace) -> JudgedLoad:
    """Judge a load's run directory and write ``RUN/analysis/load.json``.

    Raises :class:`harness.errors.RunDirectoryError` when this is no run directory.
    """
    run = read_run_directory(run_dir)
    with closing_session(place) as spark:
        return judge_load_in(spark, run)


def judge_load_in(spark: SparkSession, run: RunDirectory) -> JudgedLoad:
    """As :func:`judge_load`, in a session that the caller has and keeps."""
    folder = run.path / ANALYSIS_FOLDER
    folder.mkdir(exist_ok=True)
    records = load_records(spark, run)
    logs = load_logs(spark, run)
    (facts,) = trial_facts(records, run, gc.parse(logs.kept))
    trials = trials_frame(spark, run, [facts])
    consumption = fold_consumption(spark, records.consumptions, trials, run)
    inputs = Inputs(spark=spark, run=run, trials=trials, records=records, consumption=consumption, logs=logs)
    figures = figures_of(records, facts)
    requests, failures = accounts.locust_counts(run)
    judged = JudgedLoad(
        client=facts.trial.client,
        release=facts.trial.release,
        params=facts.trial.params,
        figures=figures,
        properties=(
            *consumed(inputs, facts, figures),
            accounts.bodies(records, facts.trial),
            accounts.stores_agree(records, facts, figures),
            accounts.keys(spark, run, facts.trial),
            accounts.locust_agrees(requests, failures, figures, accounts.locust_failures(records)),
            accounts.whole(facts),
        ),
        notes=(*run.manifest.notes, *run.problems),
        locust_requests=requests,
        locust_failures=failures,
    )
    replace_file(folder / "load.json", json.dumps(asdict(judged), indent=1) + "\n")
    return judged
