"""Trials made by hand as those of incidents of one's own: what is seen of them must not hang on a name of the lab's."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from harness.model.scenario import Scenario
from tests.lib.runs import Run


def own_name(incident: str) -> str:
    """That of the lab's own behind it, so that a test that fails says which."""
    return f"mine-{incident}"


def under_own_names(run: Run, scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """The same incidents under names that no checker knows; renames them in the trials and deployments of ``run`` as well."""
    for trial in run.trials:
        trial.incident = own_name(trial.incident)
    for record in run.deployments.values():
        record["incident"] = own_name(record["incident"])
    run.incidents = tuple(own_name(scenario.name) for scenario in scenarios)
    return tuple(dataclasses.replace(scenario, name=own_name(scenario.name)) for scenario in scenarios)
