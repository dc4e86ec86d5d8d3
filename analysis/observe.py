"""Runs the checkers. One that fails is written down and takes only its own measures with it."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
import pkgutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from pyspark.sql import Row

from analysis import checkers
from analysis.checkers.base import Checker, Inputs, giving
from analysis.evidence.arrow import arrow_columns
from analysis.evidence.records import ANALYSIS_FOLDER, write_table
from analysis.evidence.tables import OBSERVATIONS
from analysis.stall_model import model
from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.observations import Observation, Source
from harness.model.measures import GROUPED, MEASURES, measures_of
from harness.model.scenario import Scenario
from harness.model.steps import READ, READING
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory


def _checkers() -> dict[str, Checker]:
    """The modules of ``analysis.checkers`` and its folders that observe something, by name."""
    found = pkgutil.walk_packages(checkers.__path__, f"{checkers.__name__}.")
    modules = [importlib.import_module(module.name) for module in found]
    return {one.__name__.rpartition(".")[2]: cast(Checker, one) for one in modules if hasattr(one, "observe")}


CHECKERS: Mapping[str, Checker] = _checkers()

_SIDE_BY_SIDE = 2
"""Small jobs spend their time in planning, so two at once keep two cores busy."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Observations of the trials that count, and for each measure of a checker that failed, its error."""

    observations: tuple[Observation, ...]
    failed: Mapping[str, str]
    of_all_trials: tuple[Observation, ...] = ()
    """Those of the trials that do not count, too: rules ask whether one of them would change the verdict."""


def observe(
    inputs: Inputs,
    validity: Sequence[TrialValidity],
    scenarios: Sequence[Scenario],
) -> Observed:
    """Run the checkers that ``scenarios`` ask for over all trials, and leave what they gave as ``observations.parquet``."""
    wanted = _wanted(inputs.run, scenarios)
    # Where its checker runs anyway, what is judged only in arms that were not run is shown of the others; the model reads two.
    given = model.MEASURED.union(*[scenario.measures() for scenario in scenarios])
    asked = [name for name in CHECKERS if _has_to_look(name, wanted, inputs.run, scenarios)]

    def run(name: str) -> tuple[list[Row], str]:
        try:
            with giving(given):
                table = CHECKERS[name].observe(inputs)
            return sorted(table.collect(), key=_in_order), ""
        # A checker may fail in any way that Spark or its own code can; the verdict says so instead of a traceback.
        except Exception as error:
            return [], f"the checker {name} failed: {_first_line(error)}"

    with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
        results = dict(zip(asked, pool.map(run, asked), strict=True))
    failed = {measure: error for name, (_, error) in results.items() if error for measure in measures_of(name)}
    every = [row for rows, _ in results.values() for row in rows]
    counting = {item.trial for item in validity if item.counts()}
    of_counting = _observations(every, [trial for trial in inputs.run.trials if trial.trial in counting])
    of_all = _observations(every, inputs.run.trials)
    try:
        computed = _computed(of_all, scenarios)
    # A function of an incident's own file may fail in any way.
    except Exception as error:
        computed, failed[READ] = [], f"what is computed of readings failed: {_first_line(error)}"
    observed = Observed(
        observations=(*of_counting, *(one for one in computed if one.trial in counting)),
        failed=failed,
        of_all_trials=(*of_all, *computed),
    )
    _keep(inputs.run, [(*row, name) for name, (rows, _) in results.items() for row in rows])
    return observed


def _keep(run: RunDirectory, rows: Sequence[tuple[object, ...]]) -> None:
    """Leave the rows with the columns of ``tables.OBSERVATIONS`` and their checker; nothing of the lab reads them again."""
    columns = {**arrow_columns(OBSERVATIONS), "checker": pa.string()}
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    table = pa.table([pa.array(of, kind) for of, kind in zip(values, columns.values(), strict=True)], list(columns))
    write_table(run.path / ANALYSIS_FOLDER / "observations.parquet", table)


def _computed(found: Sequence[Observation], scenarios: Sequence[Scenario]) -> list[Observation]:
    """What incidents make of the readings of each trial. Where one is missing there is no value, nor where they give none."""
    readings: dict[tuple[str, str], dict[str, Observation]] = defaultdict(dict)
    for one in found:
        if one.measure == READ:
            readings[one.incident, one.trial][str(one.extra[READING])] = one
    more = []
    for scenario, (trial, of_trial) in itertools.product(scenarios, readings.items()):
        for name, compute in scenario.computed.items() if trial[0] == scenario.name else ():
            try:
                value = compute({reading: one.value for reading, one in of_trial.items()})
            except (KeyError, ArithmeticError):
                continue
            if value is not None:
                last = [*of_trial.values()][-1]
                own = {READING: name}
                more.append(
                    dataclasses.replace(
                        last, params={**last.params, **own}, extra=own, unit=f"{last.block}/{last.trial}/{name}",
                        value=float(value),
                    )
                )  # fmt: skip
    return more


def showing_everything(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """The same, with every measure shown, so that every checker runs."""
    return tuple(dataclasses.replace(scenario, extra_measures=tuple(sorted(MEASURES))) for scenario in scenarios)


def _wanted(run: RunDirectory, scenarios: Sequence[Scenario]) -> frozenset[str]:
    """The measures that judge something or are shown. Planning a job that nobody asks for takes seconds."""
    arms: dict[str, set[str]] = defaultdict(set)
    for trial in run.trials:
        arms[trial.incident].add(trial.arm)
    return frozenset().union(*[scenario.measures(arms[scenario.name]) for scenario in scenarios])


def _has_to_look(name: str, wanted: frozenset[str], run: RunDirectory, scenarios: Sequence[Scenario]) -> bool:
    """Whether a measure of the checker is wanted, and of a trial that it looks at."""
    own = wanted.intersection(measures_of(name))
    if not own or name not in GROUPED:
        return bool(own)
    asked = {scenario.name: own & scenario.measures() for scenario in scenarios}
    return any(asked.get(trial.incident) for trial in run.trials if bool(trial.groups) == GROUPED[name])


def _in_order(row: Row) -> list[tuple[bool, object]]:
    """Spark gives rows in the order in which tasks ended; which of equal values is cited must not depend on that."""
    return [(value is not None, value) for value in row]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _observations(rows: Sequence[Row], of: Sequence[TrialRecord]) -> list[Observation]:
    """What was observed of those trials."""
    trials = {trial.trial: trial for trial in of}
    by_deployment: dict[str, dict[tuple[str, str], TrialRecord]] = defaultdict(dict)
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
                injection=trial.chosen_injection,
                extra=extra,
            )
            for trial in owners
        )
    return found
