"""The whole analysis of a run directory: histories and logs in, findings out. It needs no cluster."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from analysis import law, report_data
from analysis.checkers import validity
from analysis.checkers.base import Inputs
from analysis.consumption import fold_consumption
from analysis.evidence import ANALYSIS_FOLDER, load_records
from analysis.excerpts import with_excerpts
from analysis.logs.lines import FileCount
from analysis.logs.tables import load_logs
from analysis.observe import Observed, observe
from analysis.report.law import write_law
from analysis.run_directory import RunDirectory, read_run_directory
from analysis.session import spark_session
from analysis.trials import trial_facts, trials_frame
from analysis.verdict import Evidence, findings
from harness.model import Finding, Scenario

Progress = Callable[[str], None]


def analyze(
    run_dir: Path,
    scenarios: Sequence[Scenario],
    master: str | None = None,
    java_home: Path | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Analyse ``run_dir`` and return a finding for each claim of its incidents in each of its releases.

    ``scenarios`` are those that the verdicts are made by; the ones that the run is not about are left out. ``progress``
    is told each step in words. Writes ``findings.json``, ``report_data.json`` and the tables in Parquet to
    ``RUN/analysis/``, replacing those of an earlier analysis.

    Raises :class:`harness.errors.RunDirectoryError` when this is no run directory of this schema. What is wrong inside
    of it (a truncated line, an empty history, a trial that failed) makes verdicts undecided, it raises nothing.
    """
    run = read_run_directory(run_dir)
    say = progress or _silent
    say("starting Spark")
    spark = spark_session(master, java_home)
    try:
        return analyze_in(spark, run, scenarios, say)
    finally:
        spark.stop()


def analyze_in(
    spark: SparkSession, run: RunDirectory, scenarios: Sequence[Scenario], progress: Progress | None = None
) -> list[Finding]:
    """As :func:`analyze`, in a session that the caller has and keeps."""
    say = progress or _silent
    folder = run.path / ANALYSIS_FOLDER
    _fresh(folder)
    known = [scenario for scenario in scenarios if scenario.name in run.manifest.incidents]
    say(f"reading {len(run.history_files())} histories, and logs")
    # Side by side: each alone leaves a core idle while it lists files and plans.
    with ThreadPoolExecutor(max_workers=2) as pool:
        reading = pool.submit(load_records, spark, run)
        logs = load_logs(spark, run)
        records = reading.result()
    facts = trial_facts(records, run, logs.stops)
    judged = validity.judge(facts, known)
    trials = trials_frame(spark, run, facts)
    say("ordering consumptions")
    consumption = fold_consumption(spark, records.consumptions, trials, run)
    say("checking")
    inputs = Inputs(spark=spark, run=run, trials=trials, records=records, consumption=consumption, logs=logs)
    observed = observe(spark, inputs, judged, folder)
    say("deciding")
    write_law(run.path, law.score(run, observed.observations, judged))
    evidence = Evidence.of(run=run, validity=judged, observations=observed.observations, failed=observed.failed)
    found = with_excerpts(findings(known, evidence), run.path)
    say("writing the report's data")
    series = report_data.series_json(records, trials, facts, judged)
    spark.catalog.clearCache()
    _write(folder, run, known, found, observed, report_data.trials_json(facts, judged), series, logs.counts)
    return found


def _write(
    folder: Path,
    run: RunDirectory,
    scenarios: Sequence[Scenario],
    found: Sequence[Finding],
    observed: Observed,
    trials: report_data.Json,
    series: report_data.Json,
    counts: Sequence[FileCount],
) -> None:
    as_json = report_data.findings_json(found)
    report_data.write_json(folder / "findings.json", as_json)
    manifest = dict(run.manifest.document)
    if run.problems:
        notes = manifest.get("notes")
        manifest["notes"] = [*(notes if isinstance(notes, list) else []), *run.problems]
    report_data.write_json(
        folder / "report_data.json",
        {
            "schema": run.manifest.document["schema"],
            "manifest": manifest,
            "findings": as_json["findings"] if isinstance(as_json, dict) else [],
            "claims": report_data.claims_json(scenarios),
            "incidents": report_data.incidents_json(scenarios),
            "trials": trials,
            "series": series,
            "distributions": report_data.distributions_json(observed.observations, scenarios),
            "logs": report_data.logs_json(counts),
        },
    )


def _fresh(folder: Path) -> None:
    """An analysis replaces the one before as a whole, so that no table of another version stays between its own."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()


def _silent(_: str) -> None:
    return
