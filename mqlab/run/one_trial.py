"""Of an incident what one trial needs: one arm, one cell, its own topology, and the claims that speak of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from harness.backends.topologies import TOPOLOGIES
from harness.errors import UsageError, shown
from harness.model.cells import Parameters, ParameterValue, matches
from harness.model.cluster import Topology
from harness.model.scenario import Arm, ArmRole, Scenario, TrialBudget
from harness.model.timed_faults import needs_slaves, node_names, nodes_of

NUMBER_MAX = 1e6


def one_trial(
    scenario: Scenario,
    *,
    arm: str = "",
    release: str,
    topology: str = "",
    params: Mapping[str, str],
    hold_s: float = 0.0,
) -> Scenario:
    """The incident with one arm (by itself its first ``incident``) of one cell, as light as a quick run has it.

    ``params`` are values of the cell or fields of the arm's load. The cell is the incident's own that agrees with them, else
    the greatest one of a quick run, changed. With ``hold_s`` the load lasts so many seconds longer.

    Raises UsageError: the incident has no such arm or parameter, or the fault does not go with release or topology.
    """
    found = _arm(scenario, arm, release)
    load = dataclasses.replace(found.load, **scenario.quick_budget.load)
    cell, fields = _parted(scenario, found, params)
    wanted = TOPOLOGIES[topology] if topology else found.topology or scenario.topology
    found = dataclasses.replace(
        found, load=dataclasses.replace(load, **_fields(load, fields, found.name, cell)), cells=(cell,), topology=wanted
    )
    _check_topology(found, wanted)
    phases = scenario.phases_of(found)
    return dataclasses.replace(
        scenario,
        arms=(dataclasses.replace(found, phases=None, trials=0, stands_in_for=""),),
        topology=wanted,
        phases=dataclasses.replace(phases, hold_s_max=phases.hold_s_max + hold_s),
        # It is said what was measured of the arm, whatever becomes of the claims.
        extra_measures=tuple(sorted(scenario.measures((found.name,)))),
        claims=tuple(
            claim for claim in scenario.claims if any(one.is_of(found.name, cell) for one in claim.quantities())
        ),
        budget=TrialBudget(trials=1, deployments=1),
        quick_budget=TrialBudget(trials=1, deployments=1),
        quick_cells={},
        other_injection_cells={},
    )


def _arm(scenario: Scenario, name: str, release: str) -> Arm:
    arms = {one.name: one for one in scenario.arms}
    first = next((one.name for one in scenario.arms if one.role is ArmRole.INCIDENT), scenario.arms[0].name)
    if (found := arms.get(name or first)) is None:
        raise UsageError.unknown(f"arm of {scenario.name}", name, arms)
    if found.releases and release not in found.releases:
        raise UsageError(
            f"arm {found.name} has no use on {release}", advice=f"It is for --release {', '.join(found.releases)}."
        )
    return found


def _check_topology(arm: Arm, topology: Topology) -> None:
    known = node_names(topology)
    for node in nodes_of(arm.fault):
        if node not in known:
            raise UsageError(
                f"the fault of arm {arm.name} is done to {node}, and the nodes are {', '.join(known)}",
                advice="Choose another --topology, or leave it out.",
            )
    brokers = max(arm.fault.masters_min, *(int(cell.get("brokers", 1)) for cell in arm.cells))
    why = f"{brokers} masters, and {topology.name} has {topology.masters}" if topology.masters < brokers else ""
    if needs_slaves(arm.fault) and not topology.slaves_per_master:
        why = f"slaves, and {topology.name} has none"
    if why:
        raise UsageError(f"arm {arm.name} needs {why}", advice="Choose another --topology, or leave it out.")


# --- parameters -----------------------------------------------------------------------------------------------------------


def params_of(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Of ``--param``. Raises UsageError: one is given twice."""
    params = dict(pairs)
    if len(params) < len(pairs):
        names = [name for name, _ in pairs]
        raise UsageError(f"--param {max(names, key=names.count)} is given twice", advice="Keep the one that you mean.")
    return params


def _parted(scenario: Scenario, arm: Arm, params: Mapping[str, str]) -> tuple[Parameters, dict[str, str]]:
    """The cell, and the parameters that are none of it."""
    example = arm.cells[0]
    asked = {name: _like(name, text, example[name]) for name, text in params.items() if name in example}
    agreeing = [cell for cell in arm.cells if matches(cell, {name: (value,) for name, value in asked.items()})]
    cells = agreeing if asked and agreeing else scenario.quick_cells.get(arm.name) or arm.cells
    cell = max(cells, key=lambda one: [value for value in one.values() if not isinstance(value, str)])
    return {**cell, **asked}, {name: text for name, text in params.items() if name not in example}


def _like(name: str, text: str, example: ParameterValue) -> ParameterValue:
    if isinstance(example, str):
        return text
    value = _number(name, text)
    return int(value) if value.is_integer() and isinstance(example, int) else value


def _fields(load: Any, params: Mapping[str, str], arm: str, cell: Parameters) -> dict[str, object]:
    hints = get_type_hints(type(load))
    plain = {
        field.name: hints[field.name]
        for field in dataclasses.fields(load)
        if hints[field.name] in (int, float, bool) or _words(hints[field.name])
    }
    for name in params:
        if name not in plain:
            raise UsageError.unknown(f"parameter of arm {arm}", name, {*cell, *plain})
    return {name: _read(name, text, plain[name]) for name, text in params.items()}


def _words(hint: object) -> tuple[str, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def _read(name: str, text: str, hint: object) -> object:
    if words := ("true", "false") if hint is bool else _words(hint):
        if text not in words:
            raise UsageError(f"{name}={shown(text)} is none of {', '.join(words)}")
        return text == "true" if hint is bool else text
    value = _number(name, text)
    if hint is int and not value.is_integer():
        raise UsageError(f"{name}={shown(text)} is no whole number")
    return int(value) if hint is int else value


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= NUMBER_MAX or (not value and name.endswith("_hz")):
        raise UsageError(f"{name}={shown(text)} is no number from 0 to {NUMBER_MAX:,.0f}, and no rate is 0")
    return value
