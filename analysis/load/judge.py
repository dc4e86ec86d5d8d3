"""A load judged: what was promised, what arrived, and how well the generator kept its own schedule.

The same checkers judge it as for incidents, without claims. A load's run directory is one trial, so nothing here is an
estimate and nothing has an interval.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.checkers.base import Inputs
from analysis.evidence.consumption import fold_consumption
from analysis.evidence.records import ANALYSIS_FOLDER, load_records
from analysis.evidence.trials import trial_facts, trials_frame
from analysis.hadoop import bring
from analysis.load import accounts
from analysis.load.consumed import consumed
from analysis.load.faults import faults_of_load, properties_of
from analysis.load.figures import figures_of
from analysis.load.judged import JudgedLoad
from analysis.load.page import series_of, write_page
from analysis.logs import gc
from analysis.logs.tables import load_logs
from analysis.report.locust import locust_counts
from analysis.spark import SparkPlace, closing_session, compile_from
from analysis.spark_settings import READING_COMPILED_BYTES_MIN
from analysis.stall_model.document import write_score
from analysis.stall_model.model import Score
from harness.rundir.files import replace_file
from harness.rundir.reading import RunDirectory, read_run_directory


def judge_load(run_dir: Path, place: SparkPlace) -> JudgedLoad:
    """Judge a load's run directory and write ``RUN/analysis/load.json``.

    Raises :class:`harness.errors.RunDirectoryError` when this is no run directory.
    """
    run = read_run_directory(run_dir)
    with closing_session(place.for_evidence(run.path)) as spark:
        return judge_load_in(spark, run)


def judge_load_in(spark: SparkSession, run: RunDirectory) -> JudgedLoad:
    """As :func:`judge_load`, in a session that the caller has and keeps."""
    folder = run.path / ANALYSIS_FOLDER
    folder.mkdir(exist_ok=True)
    compile_from(spark, READING_COMPILED_BYTES_MIN, run)
    records = load_records(spark, run)
    logs = load_logs(spark, run)
    (facts,) = trial_facts(records, run, gc.parse(logs.kept))
    trials = trials_frame(spark, run, [facts])
    consumption = fold_consumption(spark, records.consumptions, trials, run)
    inputs = Inputs(spark=spark, run=run, trials=trials, records=records, consumption=consumption, logs=logs)
    figures = figures_of(records, facts)
    requests, failures = locust_counts(run.path / "trials" / run.trials[0].trial)
    faults = tuple(faults_of_load(spark, run, records, facts))
    write_score(run.path, Score(rows=tuple(row for one in faults for row in one.refused), left_out=()))
    missing = accounts.workers_missing(run, facts.trial)
    judged = JudgedLoad(
        client=facts.trial.client,
        release=facts.trial.release,
        params=facts.trial.params,
        figures=figures,
        properties=(
            *consumed(inputs, facts, figures),
            accounts.bodies(records, facts.trial),
            accounts.stores_agree(records, facts, figures),
            accounts.keys(records, facts.trial),
            accounts.locust_agrees(requests, failures, figures, accounts.locust_failures(records), missing),
            accounts.whole(facts, missing),
            *properties_of(faults, facts.trial.trial),
        ),
        faults=faults,
        notes=(*run.manifest.notes, *run.problems),
        locust_requests=requests,
        locust_failures=failures,
    )
    bring(spark, run.path, (one.file for one in judged.properties if one.file))
    replace_file(folder / "load.json", json.dumps(asdict(judged), indent=1) + "\n")
    write_page(run, judged, facts, series_of(records, facts, faults), logs.counts)
    return judged
