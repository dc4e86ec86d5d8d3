"""The whole analysis of a run directory: histories and logs in, findings out. It needs no cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.checkers.base import Inputs, inputs_of, read_recorded
from analysis.checkers.delivery import steps
from analysis.evidence.records import ANALYSIS_FOLDER, Reading, session_and_reading
from analysis.evidence.trusted import trusted_run
from analysis.hadoop import bring, clear
from analysis.ledger.counted import counted_trials
from analysis.ledger.runs import recorded_run
from analysis.observe import Observed, observe
from analysis.report.collect import distributions_of, keep_analysis
from analysis.report.document import ReportData
from analysis.report.locust import locust_tables
from analysis.report.losses import LOST_FILE, loss_tables, write_messages
from analysis.report.series import series_of_run
from analysis.spark import SparkPlace
from analysis.stall_model import model
from analysis.stall_model.document import write_score
from analysis.verdicts import validity
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.excerpts import with_excerpts
from analysis.verdicts.judge import findings
from analysis.verdicts.losses import LostStep, by_step
from analysis.verdicts.of_run import tries_of_run
from analysis.verdicts.unjudged import UnjudgedClaims, findings_of
from harness.model.measures import MEASURES
from harness.model.scenario import Scenario
from harness.rundir.reading import RunDirectory

Progress = Callable[[str], None]

LOST_BY_STEP = "step_lost_count"


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
    for damage in run.damage:
        say(damage.words)
    known = [scenario for scenario in scenarios if scenario.name in run.manifest.incidents]
    say(f"reading {len(run.history_files())} histories, and logs")
    recorded = read_recorded(spark, run, reading)
    say("ordering consumptions")
    inputs = inputs_of(recorded, known)
    judged = validity.judge(inputs.facts, known, run.damage)
    say("checking")
    observed = observe(inputs, judged, known)
    lost = _lost_messages(inputs, observed, known)
    say("deciding, and writing the report's data")
    # Verdicts are computed here, in Python, while Spark is at the series.
    with ThreadPoolExecutor(max_workers=1) as pool:
        drawing = pool.submit(series_of_run, inputs.records, inputs.trials, inputs.facts, judged)
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
        bring(spark, run.path, (line.file for one in found for line in one.evidence))
        found = [*with_excerpts(found, run.path), *findings_of(unjudged, run.manifest)]
        series = drawing.result()
    spark.catalog.clearCache()
    counted, missing = locust_tables(run, inputs.facts), loss_tables(run.trials, lost)
    counting = counted_trials(inputs.facts, judged, evidence.tries, lost)
    return keep_analysis(
        run,
        recorded_run(run.manifest, counting, observed.failed, found, commit),
        known,
        series=series,
        tables={name: (*missing.get(name, ()), *counted.get(name, ())) for name in run.manifest.incidents},
        counts=inputs.logs.counts,
        distributions=distributions_of(observed.observations, known),
    )


def _lost_messages(
    inputs: Inputs, observed: Observed, scenarios: Sequence[Scenario]
) -> Mapping[str, tuple[LostStep, ...]]:
    """Of the trials whose incident asks for loss by steps and in which it can be judged, also of those without any.

    The file has every message.
    """
    asking = {
        (scenario.name, arm.name)
        for scenario in scenarios
        for arm in scenario.arms
        if LOST_BY_STEP in scenario.measures() and MEASURES[LOST_BY_STEP].is_of(arm.load)
    }
    judged = [one.trial.trial for one in inputs.facts if (one.trial.incident, one.trial.arm) in asking and one.drained]
    if not judged or LOST_BY_STEP in observed.failed:
        return {}
    messages = [one for one in steps.lost_messages(inputs) if one.trial in judged]
    write_messages(inputs.run.path / LOST_FILE, messages)
    return {**dict.fromkeys(judged, ()), **by_step(messages)}


def _silent(_: str) -> None:
    return
