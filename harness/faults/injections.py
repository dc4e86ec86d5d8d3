"""Who makes each fault happen, collected from what the files beside this one declare as their ``INJECTIONS``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from harness import faults
from harness.host.abilities import Abilities
from harness.model.faults import Fault
from harness.model.scenario import Scenario
from harness.trial import Injection, Injections

DEFAULT_WAY = "byteman"
"""Taken where nothing is said; ids do not name it."""


def _collect() -> Mapping[type[Fault], tuple[type[Injection[Any]], ...]]:
    found: dict[type[Fault], tuple[type[Injection[Any]], ...]] = {}
    for module in pkgutil.iter_modules(faults.__path__):
        name = f"{faults.__name__}.{module.name}"
        declared: Injections = {} if name == __name__ else getattr(importlib.import_module(name), "INJECTIONS", {})
        for fault, injection in declared.items():
            found[fault] = (*found.get(fault, ()), injection)
    return {fault: tuple(sorted(all_of, key=lambda one: one.name != DEFAULT_WAY)) for fault, all_of in found.items()}


INJECTIONS = _collect()
"""By the class of the fault; the first one is taken when none is asked for."""


def injections_for(fault: Fault) -> tuple[Injection[Any], ...]:
    """All injections of the fault, the usual one first."""
    return tuple(injection(fault) for injection in INJECTIONS[type(fault)])


def injection_of(fault: Fault, name: str = "") -> Injection[Any]:
    """The injection of that name; the usual one where the fault has none of that name."""
    found = injections_for(fault)
    return next((injection for injection in found if injection.name == name), found[0])


def obstacle(fault: Fault, host: Abilities) -> str | None:
    """Why no injection of the fault can be made on this host; None when one can."""
    reasons = [injection.can(host) for injection in injections_for(fault)]
    return None if None in reasons else reasons[0]


def injections_of(scenario: Scenario) -> Mapping[str, Injection[Any]]:
    """The injections between which a run of the scenario can choose; empty where each of its faults has one only."""
    if len(scenario.ways) == 1:
        return {}
    by_arm = [injections_for(arm.fault) for arm in scenario.arms]
    return {injection.name: injection for found in by_arm if len(found) > 1 for injection in found}
