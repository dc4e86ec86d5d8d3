"""The whole analysis of a run directory: histories and logs in, findings out. It needs no cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.checkers.base import inputs_of, read_recorded
from analysis.evidence.records import ANALYSIS_FOLDER, Reading, session_and_reading
from analysis.evidence.trusted import trusted_run
from analysis.hadoop import clear
from analysis.ledger.counted import counted_trials
from analysis.ledger.runs import FINDINGS, recorded_run, write_lines
from analysis.observe import observe
from analysis.report.collect import keep_page
from analysis.report.document import ReportData
from analysis.report.locust import locust_tables
from analysis.report.losses import loss_tables, lost_of_run
from analysis.report.series import drawn_of_run, series_of
from analysis.spark import SparkPlace, compile_from
from analysis.spark_settings import COMPILED_BYTES_MIN
from analysis.stall_model import model
from analysis.stall_model.document import write_score
from analysis.verdicts import validity
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.excerpts import with_excerpts
from analysis.verdicts.judge import findings
from analysis.verdicts.of_run import tries_of_run
from analysis.verdicts.unjudged import UnjudgedClaims, findings_of
from harness.model.scenario import Scenario
from harness.rundir.reading import RunDirectory

Progress = Callable[[str], None]

DAMAGE_TOLD_MAX = 20
"""Damaged files that are named while a run is read; its page names all."""


def analyze(
    run_dir: Path,
    scenarios: Sequence[Scenario],
    place: SparkPlace,
    progress: Progress | None = None,
    commit: str = "",
    unjudged: Sequence[UnjudgedClaims] = (),
) -> ReportData:
    """Analyse ``run_dir`` and return all that its report shows: a finding for each claim of its incidents in each of its releases.

    ``scenarios`` are those that the verdicts are made by; the ones that the run is not about are left out. ``progress``
    is told each step in words; ``commit`` is the code's, empty where it is no commit's. ``unjudged`` claims are undecided.
    Writes ``findings.jsonl``, ``page.json`` and the tables in Parquet to ``RUN/analysis/``, and of a rolling upgrade
    ``lost_messages.csv``, replacing those of an earlier analysis.

    Raises :class:`harness.errors.RunDirectoryError` when this is no run directory of this schema. What is wrong inside
    of it (a truncated line, an empty history, a trial that failed) makes verdicts undecided, it raises nothing.
    """
    trusted = trusted_run(run_dir)
    say = progress or _silent
    say("starting Spark")
    with session_and_reading(trusted, place) as (spark, run, reading):
        return analyze_in(spark, run, scenarios, say, commit, reading, unjudged)


def analyze_in(
    spark: SparkSession,
    run: RunDirectory,
    scenarios: Sequence[Scenario],
    progress: Progress | None = None,
    commit: str = "",
    reading: Reading | None = None,
    unjudged: Sequence[UnjudgedClaims] = (),
) -> ReportData:
    """As :func:`analyze`, in a session that the caller has and keeps; ``reading`` is under way in a folder of its own making."""
    say = progress or _silent
    folder = run.path / ANALYSIS_FOLDER
    if reading is None:
        # An analysis replaces the one before as a whole, so that no table of another version stays between its own.
        clear(spark, folder)
        folder.mkdir()
    for damage in run.damage[:DAMAGE_TOLD_MAX]:
        say(damage.words)
    if (more := len(run.damage) - DAMAGE_TOLD_MAX) > 0:
        say(f"and {more:,} more that are missing, cut or changed")
    known = [scenario for scenario in scenarios if scenario.name in run.manifest.incidents]
    say(f"reading {len(run.history_files)} histories, and logs")
    recorded = read_recorded(spark, run, known, reading)
    say("ordering consumptions")
    inputs = inputs_of(recorded)
    judged = validity.judge(inputs.facts, known, run.damage)
    say("checking")
    compile_from(spark, COMPILED_BYTES_MIN, run)
    observed = observe(inputs, judged, known)
    lost = lost_of_run(inputs, observed.failed, known)
    tables = [loss_tables(run.trials, lost), locust_tables(run, inputs.facts)]
    say("deciding, and writing the report's data")
    # Verdicts are computed here, in Python, while Spark is at the series.
    with ThreadPoolExecutor(max_workers=1) as pool:
        drawing = pool.submit(series_of, inputs.records, drawn_of_run(inputs.facts, judged))
        modelled = [scenario.name for scenario in known if scenario.has_modelled_stalls]
        write_score(run.path, model.score(run, observed.of_all_trials, judged, modelled))
        evidence = Evidence.of(
            run=run,
            validity=judged,
            observations=observed.of_all_trials,
            failed=observed.failed,
            tries=tries_of_run(observed.of_all_trials, run.trials, judged, known),
        )
        found = findings(known, evidence)
        found = [*with_excerpts(spark, found, run.path), *findings_of(unjudged, run.manifest)]
        series = drawing.result()
    spark.catalog.clearCache()
    counting = counted_trials(inputs.facts, judged, evidence.tries, lost)
    kept = write_lines(run.path / FINDINGS, recorded_run(run.manifest, counting, observed.failed, found, commit))
    return keep_page(
        run.path,
        run.told(),
        kept,
        known,
        series=series,
        tables=tables,
        counts=inputs.logs.counts,
        observations=observed.observations,
    )


def _silent(_: str) -> None:
    return
