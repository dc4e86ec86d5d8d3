"""What a trial will take: what earlier runs of it took on this machine, else a committed first guess.

``first_guess.json`` has a row for each incident, and one for each arm that differs in a value; ``"4"`` and ``"5"`` are
releases of 4.x and 5.x where these differ. The oldest rows were written out from the formulas that planned until then, which
had been measured on two cores; ``tools.first_guess`` adds those of a run. An incident without a row is guessed from what its
load says of itself.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Self

from harness.errors import RunDirectoryError
from harness.model.cells import Parameters
from harness.model.scenario import Arm, Scenario
from harness.rundir.decode import read_document
from harness.rundir.manifest import TrialRecord, read_manifest

FIRST_GUESS = Path(__file__).with_name("first_guess.json")
RUNS_MAX = 20
"""So many of the newest runs are looked at."""

TRIAL_OVERHEAD_S = 0.25
"""Of trials one after another: between the last phase of one and the first of the next."""

PROCESS_GROUPS = 4
"""Client processes of a trial cost what so many groups do."""

NODE_MB, CLIENT_MB = 330.0, 140.0
NODE_BOOT_S, STARTS_S = 1.0, 30.0
BROKER_CORES, CLIENT_CORES, OPERATION_CORE_S = 0.03, 0.05, 0.0003
"""For an incident without a row: memory of a node and of a client process, seconds until a node is up and until clients that
share queues have them, and what waiting needs of a core and each send or consumption of its seconds."""

Key = tuple[str, str, str, int, str]
"""Incident, arm, cell, groups, release."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of one trial, and of the cluster that it runs in. Cores are averages from its start to its end."""

    seconds: float
    boot_s: float = 0.0
    start_core_s: float = 0.0
    """Of a core, beside others until its clients are up; 0 where ``seconds`` were measured beside others."""
    cores: float = 0.0
    nodes_cores: float = 0.0
    """What the cluster's nodes need while they wait; its trials share it."""
    clients_mb: float = 0.0
    nodes_mb: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Costs:
    """``learned`` has medians of earlier runs by cell; anything else is guessed."""

    learned: Mapping[Key, Cost] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Path, cores: int) -> Self:
        """Of the newest runs in a folder that were made on as many cores; what cannot be read is left out."""
        found: dict[Key, list[Mapping[str, float]]] = {}
        for record in _records(runs, cores):
            if record.status == "complete" and record.took:
                key = (record.incident, record.arm, cell_name(record.params), len(record.groups), record.release)
                found.setdefault(key, []).append(record.took)
        return cls(learned={key: learned_cost(took) for key, took in found.items()})

    def of_trial(self, scenario: Scenario, arm: Arm, params: Parameters, release: str) -> Cost:
        """What a cell costs on a release.

        What was learned makes no run more crowded than the guess would, by which the recorded ones were planned: over the
        minutes that a trial waits it needs little of the cores, and much while its clients start.
        """
        key = (scenario.name, arm.name, cell_name(params), len(arm.load.group_names()), release)
        guess = _guess(scenario, arm, params, release)
        if (learned := self.learned.get(key)) is None:
            return guess
        return dataclasses.replace(learned, cores=max(learned.cores, guess.cores), nodes_cores=guess.nodes_cores)


def cell_name(params: Parameters) -> str:
    """A cell as ids have it: ``stall_ms-450-rate_hz-500``."""
    return "-".join(f"{name}-{value}" for name, value in params.items())


def _records(runs: Path, cores: int) -> Iterable[TrialRecord]:
    for path in sorted(runs.glob("*/manifest.json"), key=lambda path: -path.stat().st_mtime)[:RUNS_MAX]:
        try:
            if read_manifest(path.parent).host.cores == cores:
                yield from (read_document(TrialRecord, trial) for trial in path.parent.glob("trials/*/trial.json"))
        except RunDirectoryError:
            continue


def learned_cost(took: Sequence[Mapping[str, float]]) -> Cost:
    """Of trials of one cell, one line of ``took`` each."""

    def middle(name: str) -> float:
        return median(one[name] for one in took)

    return Cost(
        seconds=middle("seconds"),
        boot_s=middle("boot_s"),
        # Of the shortest: beside many others a trial takes longer, and would seem to need less and bear even more of them.
        cores=middle("cpu_s") / max(1.0, min(one["seconds"] for one in took)),
        clients_mb=middle("clients_mb"),
        nodes_mb=middle("nodes_mb"),
    )


@functools.cache
def _rows() -> Mapping[str, Mapping[str, float | Mapping[str, float]]]:
    rows: Mapping[str, Mapping[str, float | Mapping[str, float]]] = json.loads(FIRST_GUESS.read_text("utf-8"))
    return rows


def _guess(scenario: Scenario, arm: Arm, params: Parameters, release: str) -> Cost:
    rows, line = _rows(), release.partition(".")[0]
    row = {**rows.get(scenario.name, {}), **rows.get(f"{scenario.name}/{arm.name}", {})}
    values = {name: value.get(line, 0.0) if isinstance(value, Mapping) else value for name, value in row.items()}
    if not values:
        return _guess_of_load(scenario, arm, params)
    guess = Cost(**{"seconds": _phases_s(scenario, arm, params), **values})
    # The rows are of a full run, and a quick one may have fewer groups.
    usual = len(scenario.arm(arm.name).load.group_names())
    share = (PROCESS_GROUPS + len(arm.load.group_names())) / (PROCESS_GROUPS + usual)
    return dataclasses.replace(guess, cores=guess.cores * share, start_core_s=guess.start_core_s * share)


def _guess_of_load(scenario: Scenario, arm: Arm, params: Parameters) -> Cost:
    load, topology = arm.load, arm.topology or scenario.topology
    operations_hz = load.messages_hz(topology, params) * (1 + len(load.group_names()))
    return Cost(
        seconds=_phases_s(scenario, arm, params),
        boot_s=NODE_BOOT_S * topology.nodes,
        cores=CLIENT_CORES * load.processes + OPERATION_CORE_S * operations_hz,
        nodes_cores=BROKER_CORES * topology.brokers,
        clients_mb=CLIENT_MB * load.processes,
        nodes_mb=NODE_MB * topology.nodes,
    )


def _phases_s(scenario: Scenario, arm: Arm, params: Parameters) -> float:
    phases = scenario.phases_of(arm)
    around_s = TRIAL_OVERHEAD_S if scenario.exclusive else STARTS_S
    return (
        phases.steady_s + max(phases.hold_s_max, arm.steps_s) + phases.recover_s + arm.fault.seconds(params) + around_s
    )
