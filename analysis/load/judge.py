"""A load judged: what was promised, what arrived, and how well the generator kept its own schedule.

The same checkers and the same judge find it as for incidents, by claims that are true or false of this run. A load's run directory
is one trial, so nothing here is an estimate and nothing has an interval.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.checkers.base import inputs_of, read_recorded
from analysis.evidence.events import events_of
from analysis.evidence.records import ANALYSIS_FOLDER, Reading, session_and_reading
from analysis.evidence.trusted import trusted_run
from analysis.load import accounts
from analysis.load.consumed import consumed
from analysis.load.cut_short import cut_short, unread_at_end
from analysis.load.ending import ending_of, trial_of_load
from analysis.load.faults import faults_of_load, never_made, properties_of
from analysis.load.figures import figures_of
from analysis.load.judged import JudgedLoad
from analysis.load.page import drawn_of_load, write_page
from analysis.load.properties import damaged, findings
from analysis.load.unavailable import unavailable
from analysis.report import html
from analysis.report.locust import locust_counts, locust_errors
from analysis.report.series import series_of
from analysis.spark import SparkPlace
from analysis.stall_model.document import write_score
from analysis.stall_model.model import Score
from analysis.verdicts.excerpts import with_excerpts
from harness.model.scenario import Scenario
from harness.rundir.reading import RunDirectory

SIDE_BY_SIDE = 3


def judge_load(run_dir: Path, place: SparkPlace, scenario: Scenario) -> JudgedLoad:
    """Judge a load's run directory by the scenario's claims, and write its findings and its page.

    Raises :class:`harness.errors.RunDirectoryError` when this is no run directory, or has not one trial.
    """
    trusted = trusted_run(run_dir)
    trial_of_load(trusted)
    with session_and_reading(trusted, place) as (spark, run, reading):
        return judge_load_in(spark, run, scenario, reading)


def judge_load_in(
    spark: SparkSession, run: RunDirectory, scenario: Scenario, reading: Reading | None = None
) -> JudgedLoad:
    """As :func:`judge_load`, in a session that the caller has and keeps; ``reading`` of the histories is under way."""
    trial = trial_of_load(run)
    folder = run.path / ANALYSIS_FOLDER
    folder.mkdir(exist_ok=True)
    requests, failures = locust_counts(run.path / "trials" / trial.trial)
    events = events_of(run, trial.trial)
    ending = ending_of(run, trial, events)
    recorded = read_recorded(spark, run, reading=reading)
    records, (facts,) = recorded.records, recorded.facts
    missing = accounts.workers_missing(run, trial)
    # Each job alone leaves a core idle while it is planned, and at its end.
    with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as pool:
        folding = pool.submit(inputs_of, recorded)
        figured = pool.submit(figures_of, records, facts)
        faulted = pool.submit(faults_of_load, spark, run, records, facts, events)
        gone = pool.submit(unavailable, records, facts)
        own = [pool.submit(accounts.bodies, records, trial), pool.submit(accounts.keys, records, trial)]
        figures = figured.result()
        inputs = folding.result()
        ends = pool.submit(accounts.stores_of, inputs)
        jobs = consumed(inputs, facts, figures, ending, ends.result)
        arriving = [pool.submit(one) for one in jobs]
        # Spark is at it.
        html.prepare()
        faults = tuple(faulted.result())
        drawing = pool.submit(series_of, records, drawn_of_load(facts, faults))
        stores = ends.result()
        rows = [
            *itertools.chain.from_iterable(one.result() for one in arriving),
            own[0].result(),
            accounts.stores_agree(trial, stores, figures, ending),
            own[1].result(),
            accounts.locust_agrees(trial, requests, failures, figures, missing),
            accounts.whole(facts, missing),
            *properties_of(faults, never_made(events, trial), trial),
        ]
        if not stores.were_read:
            rows = unread_at_end(rows, stores, ending)
        if not ending.is_reached:
            rows = cut_short(rows, inputs, facts, events, ending, faults)
        if run.damage_of(trial.trial):
            rows = damaged(scenario, trial, run.manifest.command)
        judged = JudgedLoad(
            ending=ending,
            client=trial.client,
            release=trial.release,
            params=trial.params,
            figures=figures,
            findings=tuple(with_excerpts(spark, findings(scenario, rows, run, trial), run.path)),
            faults=faults,
            unavailable=gone.result(),
            notes=run.told().notes,
            locust_requests=requests,
            locust_failures=failures,
            errors=locust_errors(run.path / "trials" / trial.trial),
        )
        series = drawing.result()
    write_score(run.path, Score(rows=tuple(row for one in faults for row in one.refused), left_out=()))
    write_page(run, scenario, judged, facts, series, recorded.logs.counts)
    return judged
