"""One incident a file: its topology, load, arms and claims, as values."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from harness.errors import UsageError
from harness.model.scenario import Scenario


def _incidents() -> Iterator[Scenario]:
    """Of each file that states a ``SCENARIO``, by the file's name, which is the incident's with ``_`` for ``-``.

    Files that others import, of rules, claims and releases, state none, and a load of the user's own is no incident.
    """
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        scenario = getattr(importlib.import_module(f"{__name__}.{name}"), "SCENARIO", None)
        if scenario is not None:
            if scenario.name.replace("-", "_") != name:
                raise ImportError(f"scenarios/{name}.py states the incident {scenario.name}: give both one name")
            yield scenario


ALL: tuple[Scenario, ...] = tuple(_incidents())
"""Every incident, by its name: those of one family mostly begin with the same word."""


FAMILIES: tuple[str, ...] = tuple(
    dict.fromkeys(claim.id.partition("-")[0] for scenario in ALL for claim in scenario.claims)
)
"""What the names of claims begin with."""


def of_family(name: str) -> tuple[Scenario, ...]:
    """The incidents that judge claims of a family; none where there is no such family."""
    return tuple(one for one in ALL if any(claim.id.startswith(f"{name}-") for claim in one.claims))


def find(name: str) -> Scenario:
    """The incident of that name.

    Raises:
        UsageError: there is none; the advice names the nearest.
    """
    for scenario in ALL:
        if scenario.name == name:
            return scenario
    raise UsageError.unknown("incident", name, (scenario.name for scenario in ALL))


QUICK: tuple[Scenario, ...] = (find("ordered-lock-handover"), find("append-stall"))
"""What a run that names nothing does, in minutes: one incident that mostly waits, and one that measures milliseconds."""
