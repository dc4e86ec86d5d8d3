"""The tries of a run's trials, from what its checkers observed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.observations import Observation
from analysis.verdicts.tries import Tries, Try
from harness.model.cells import cell_of
from harness.model.measures import MEASURES
from harness.model.scenario import Scenario
from harness.model.verdicts import Discard
from harness.rundir.manifest import TrialRecord


def tries_of_run(
    observations: Iterable[Observation],
    trials: Sequence[TrialRecord],
    validity: Iterable[TrialValidity],
    scenarios: Sequence[Scenario],
) -> list[Tries]:
    """A row for each trial, measure that its scenario asks for and the measure's own parameters.

    A trial without a value of a measure has a row without tries. What is true of a deployment is one try of each arm in it; it has
    such a row where another deployment of the cell has a value, since what it would have shown is not known.
    """
    found: dict[tuple[str, str, tuple[tuple[str, object], ...]], list[Observation]] = defaultdict(list)
    for item in observations:
        found[item.trial, item.measure, cell_of(item.extra)].append(item)
    shown: dict[tuple[str, str], list[Sequence[Observation]]] = defaultdict(list)
    for (name, measure, _), observed in found.items():
        shown[name, measure].append(observed)
    known = {item.trial: item for item in validity}
    damaged = {item.trial for item in known.values() if item.discarded is Discard.DAMAGED}
    # What is true of a deployment may rest on any of its trials.
    clusters = {trial.deployment for trial in trials if trial.trial in damaged}
    spoiled = {trial.trial for trial in trials if trial.deployment in clusters}
    cells = {trial.trial: _cell(trial) for trial in trials}
    elsewhere = {(cells[name], measure) for name, measure in shown if name in cells}
    by_name = {scenario.name: scenario for scenario in scenarios}
    rows: list[Tries] = []
    for trial in trials:
        scenario = by_name.get(trial.incident)
        for measure in sorted(scenario.measures((trial.arm,)) & MEASURES.keys()) if scenario else ():
            is_of_trial = "trial" in MEASURES[measure].independent.key
            is_damaged = trial.trial in (damaged if is_of_trial else spoiled)
            is_lacking = is_of_trial or is_damaged or (cells[trial.trial], measure) in elsewhere
            lacking: list[Sequence[Observation]] = [()] if is_lacking else []
            rows += [
                _row(trial, known.get(trial.trial), measure, observed, is_damaged)
                for observed in shown.get((trial.trial, measure), lacking)
            ]
    return rows


def _cell(trial: TrialRecord) -> tuple[object, ...]:
    return trial.incident, trial.arm, trial.release, trial.chosen_injection, cell_of(trial.params)


def _row(
    trial: TrialRecord, judged: TrialValidity | None, measure: str, observed: Sequence[Observation], is_damaged: bool
) -> Tries:
    values: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for item in observed:
        values[item.unit].append((item.value, item.censored))
    origins = MEASURES[measure].origins
    proof = " and ".join(origins) if len(origins) > 1 else ""
    return Tries(
        trial=trial.trial,
        deployment=trial.deployment,
        release=trial.release,
        arm=trial.arm,
        cell=dict(trial.params),
        measure=measure,
        params=dict(observed[0].extra) if observed else {},
        injection=trial.chosen_injection,
        hiccup_ms=(judged.hiccup_ms_max or 0.0) if judged else 0.0,
        discarded=str(Discard.DAMAGED if is_damaged else judged.discarded or "") if judged else "",
        superseded=bool(trial.superseded_by),
        tries=tuple(Try.of(name, values[name], proof) for name in values),
    )
