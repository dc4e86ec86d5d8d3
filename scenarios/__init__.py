"""One incident a file, as one value: its symptom, sign and advice, and where it is replayed its arms and claims."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from harness.errors import UsageError
from harness.model.incident import NOTHING_REPLAYS, Incident
from harness.model.scenario import Scenario


def _incidents() -> Iterator[Incident]:
    """Of each file that states a ``SCENARIO``, or an ``INCIDENT`` that nothing replays, by the file's name, which is the
    incident's with ``_`` for ``-``.

    Files that others import, of rules, claims and releases, state none, and a load of the user's own is no incident.
    """
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        incident = getattr(module, "SCENARIO", getattr(module, "INCIDENT", None))
        if incident is not None:
            if incident.name.replace("-", "_") != name:
                raise ImportError(f"scenarios/{name}.py states the incident {incident.name}: give both one name")
            yield incident


INCIDENTS: tuple[Incident, ...] = tuple(_incidents())
"""Every incident, by its name: those of one family mostly begin with the same word."""

ALL: tuple[Scenario, ...] = tuple(one for one in INCIDENTS if isinstance(one, Scenario))
"""Those that are replayed."""


FAMILIES: tuple[str, ...] = tuple(
    dict.fromkeys(claim.id.partition("-")[0] for scenario in ALL for claim in scenario.claims)
)
"""What the names of claims begin with."""


def of_family(name: str) -> tuple[Scenario, ...]:
    """The incidents that judge claims of a family; none where there is no such family."""
    return tuple(one for one in ALL if any(claim.id.startswith(f"{name}-") for claim in one.claims))


def incident(name: str) -> Incident:
    """The incident of that name.

    Raises:
        UsageError: there is none; the advice names the nearest.
    """
    for one in INCIDENTS:
        if one.name == name:
            return one
    raise UsageError.unknown("incident", name, (one.name for one in INCIDENTS))


def find(name: str) -> Scenario:
    """The incident of that name, to be run.

    Raises:
        UsageError: there is none, or nothing replays it.
    """
    found = incident(name)
    if not isinstance(found, Scenario):
        raise UsageError(f"{NOTHING_REPLAYS} {name}", advice=f"What to do about it: mqlab explain {name}")
    return found


QUICK: tuple[Scenario, ...] = (find("ordered-lock-handover"), find("append-stall"))
"""What a run that names nothing does, in minutes: one incident that mostly waits, and one that measures milliseconds."""
