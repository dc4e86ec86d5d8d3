"""Runs the checkers. One that fails is written down and takes only its own measures with it.

Observations are kept in ``RUN/analysis/observations.parquet``, each with the name of its checker.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers import (
    answers,
    appends,
    attempts,
    busy,
    diagnosis,
    duplicates,
    exclusivity,
    handover,
    isolation,
    key_queues,
    latency,
    lock_cost,
    locks,
    logfiles,
    loss,
    order,
    parts,
    pauses,
    queue_numbers,
    readings,
    registrations,
    retries,
    routes,
    senders,
    stored,
    waiting,
)
from analysis.checkers.base import Checker, Inputs
from analysis.evidence import keep
from analysis.observations import Observation, Source
from analysis.run_directory import RunDirectory, Trial
from analysis.verdict import TrialValidity

CHECKERS: Mapping[str, Checker] = {
    "order": order,
    "duplicates": duplicates,
    "loss": loss,
    "exclusivity": exclusivity,
    "handover": handover,
    "key_queues": key_queues,
    "parts": parts,
    "diagnosis": diagnosis,
    "waiting": waiting,
    "pauses": pauses,
    "queue_numbers": queue_numbers,
    "locks": locks,
    "lock_cost": lock_cost,
    "appends": appends,
    "busy": busy,
    "attempts": attempts,
    "stored": stored,
    "readings": readings,
    "isolation": isolation,
    "latency": latency,
    "logfiles": logfiles,
    "answers": answers,
    "registrations": registrations,
    "retries": retries,
    "routes": routes,
    "senders": senders,
}

_HAND_OVERS = frozenset({"ordered-lock-handover", "ordered-lock-tuning", "ordered-migration"})
_TOPICS = frozenset({"dead-letter", "name-server-divergence", "retry-topic-flood"})
ONLY_OF: Mapping[str, frozenset[str]] = {
    "parts": _HAND_OVERS,
    "diagnosis": frozenset({"ordered-lock-handover"}),
    "waiting": _HAND_OVERS,
    "lock_cost": _HAND_OVERS,
    "pauses": frozenset({"ordered-lock-ratio"}),
    "queue_numbers": frozenset({"queue-number-mismatch"}),
    "key_queues": frozenset({"broker-leaves-keys-move"}),
    "attempts": frozenset({"busy-broker-of-two"}),
    "stored": frozenset({"append-lock-over-1s", "busy-broker-of-two", "name-server-divergence", "pool-loss"}),
    "isolation": frozenset({"send-queue-full"}),
    "answers": _TOPICS,
    "registrations": frozenset({"retry-topic-flood"}),
    "retries": frozenset({"dead-letter"}),
    "routes": frozenset({"name-server-divergence", "retry-topic-flood"}),
    "senders": frozenset({"name-server-divergence"}),
}
"""Incidents without which a checker has nothing to look at: planning a job for nothing takes seconds."""

_SIDE_BY_SIDE = 2
"""Small jobs spend their time in planning, so two at once keep two cores busy."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Observations of the trials that count, and for each measure of a checker that failed, its error."""

    observations: tuple[Observation, ...]
    failed: Mapping[str, str]


def observe(
    spark: SparkSession,
    inputs: Inputs,
    validity: Sequence[TrialValidity],
    folder: Path,
    checkers: Mapping[str, Checker] = CHECKERS,
) -> Observed:
    """Run every checker over all trials, keep what each gave, and return what the trials that count gave."""
    incidents = {trial.incident for trial in inputs.run.trials}
    checkers = {name: checker for name, checker in checkers.items() if name not in ONLY_OF or incidents & ONLY_OF[name]}

    def run(name: str) -> tuple[DataFrame | None, list[Row], str]:
        try:
            table = checkers[name].observe(inputs).persist()
            return table, table.collect(), ""
        # A checker may fail in any way that Spark or its own code can; the verdict says so instead of a traceback.
        except Exception as error:
            return None, [], f"the checker {name} failed: {_first_line(error)}"

    with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
        results = dict(zip(checkers, pool.map(run, checkers), strict=True))
    failed = {measure: error for name, (_, _, error) in results.items() if error for measure in checkers[name].MEASURES}
    tables = [table.withColumn("checker", F.lit(name)) for name, (table, _, _) in results.items() if table is not None]
    if tables:
        keep(spark, functools.reduce(DataFrame.unionByName, tables).coalesce(1), folder / "observations.parquet")
    rows = [row for _, rows, _ in results.values() for row in rows]
    return Observed(observations=tuple(_observations(rows, inputs.run, validity)), failed=failed)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _observations(rows: Sequence[Row], run: RunDirectory, validity: Sequence[TrialValidity]) -> list[Observation]:
    counting = {item.trial for item in validity if item.valid}
    trials = {trial.trial: trial for trial in run.trials if trial.trial in counting}
    by_deployment: dict[str, dict[tuple[str, str], Trial]] = defaultdict(dict)
    for trial in trials.values():
        by_deployment[trial.deployment].setdefault((trial.incident, trial.arm), trial)
    found: list[Observation] = []
    for measure, name, deployment, unit, params, value, censored, file, line, operation in rows:
        source = Source(file=file, line=line, operation=operation or "") if file and line else None
        extra = json.loads(params) if params and params != "{}" else {}
        # What is true of a deployment counts for every arm that has a trial that counts in it.
        of_deployment = list(by_deployment[deployment].values())
        of_trial = [trials[name]] if name in trials else []
        owners = of_deployment if name is None else of_trial
        found.extend(
            Observation(
                measure=measure,
                incident=trial.incident,
                arm=trial.arm,
                release=trial.release,
                trial=trial.trial,
                params={**trial.params, **extra} if name is not None else extra,
                unit=unit,
                block=deployment,
                value=value,
                censored=censored,
                source=source,
                way=trial.way,
                extra=extra,
            )
            for trial in owners
        )
    return found
