"""Who makes each fault happen, collected from what the files beside this one declare as their ``INJECTIONS``."""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from harness import faults
from harness.backends.abilities import ABILITIES, Ability
from harness.host.abilities import Abilities
from harness.model.cluster import BrokerSettings
from harness.model.faults import Fault
from harness.model.scenario import Arm, Scenario
from harness.trial import Injection, Injections

USUAL_INJECTION = "byteman"
"""Taken where nothing is said; ids do not name it."""


def _collect() -> Mapping[type[Fault], tuple[Injection[Any], ...]]:
    found: dict[type[Fault], tuple[Injection[Any], ...]] = {}
    for module in pkgutil.iter_modules(faults.__path__):
        name = f"{faults.__name__}.{module.name}"
        declared: Injections = {} if name == __name__ else getattr(importlib.import_module(name), "INJECTIONS", {})
        for fault, injection in declared.items():
            found[fault] = (*found.get(fault, ()), injection)
    return {
        fault: tuple(sorted(all_of, key=lambda one: one.name != USUAL_INJECTION)) for fault, all_of in found.items()
    }


INJECTIONS = _collect()
"""By the class of the fault; the first one is taken when none is asked for."""


def ways_of(fault: Fault) -> tuple[Injection[Any], ...]:
    """The injections of a fault, also of one whose class is derived from one of the lab's."""
    return INJECTIONS[fault.of_the_lab()]


def injection_of(fault: Fault, name: str = "") -> Injection[Any]:
    """The injection of that name; the usual one where the fault has none of that name."""
    found = ways_of(fault)
    return next((injection for injection in found if injection.name == name), found[0])


def needs_of(fault: Fault | type[Fault], injection: Injection[Any], brokers: BrokerSettings) -> frozenset[Ability]:
    """What an arm asks of the backend: by how its fault is made, and by what its brokers are started with."""
    settings = injection.brokers(brokers)
    asked = {
        Ability.RULES: fault.needs_rules,
        Ability.STORE: settings.store != "folder",
        Ability.LOCKED_MEMORY: settings.memlock_kb is not None,
    }
    return injection.needs | {ability for ability, is_asked in asked.items() if is_asked}


def why_not(arm: Arm, backend: str, host: Abilities) -> str | None:
    """Why an arm cannot be run by a backend on this host, by whatever injection; None when it can."""
    each = [[_why_not(arm, fault, injection, backend, host) for injection in ways_of(fault)] for fault in arm.faults]
    return next((reasons[0] for reasons in each if None not in reasons), None)


def _why_not(arm: Arm, fault: Fault, injection: Injection[Any], backend: str, host: Abilities) -> str | None:
    return why_not_made(fault, injection, arm.broker, backend, host)


def why_not_made(
    fault: Fault | type[Fault], injection: Injection[Any], brokers: BrokerSettings, backend: str, host: Abilities
) -> str | None:
    """Why a fault cannot be made in this way, where brokers are started with these settings; None when it can."""
    needs = needs_of(fault, injection, brokers)
    if missing := sorted(needs - ABILITIES[backend]):
        return f"the backend {backend} cannot {missing[0]}"
    store = injection.brokers(brokers).store.removeprefix("loop-")
    no_mount = host.why_no_loop_mount(store) if Ability.STORE in needs else None
    return no_mount or injection.can(host)


def injections_of(scenario: Scenario) -> Mapping[str, Injection[Any]]:
    """The injections between which a run of the scenario can choose; empty where each of its faults has one only."""
    if len(scenario.injections) == 1:
        return {}
    by_arm = [ways_of(arm.fault) for arm in scenario.arms]
    return {injection.name: injection for found in by_arm if len(found) > 1 for injection in found}
