"""What the user asked for, and which arms of an incident that comes to."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.faults.injections import USUAL_INJECTION, injections_of, why_not
from harness.host.abilities import Abilities
from harness.model.cluster import UserSettings
from harness.model.scenario import Arm, Scenario, TrialBudget

BudgetName = Literal["quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for."""

    scenarios: Sequence[Scenario]
    releases: Sequence[str]
    budget: BudgetName = "full"
    trials: int | None = None
    seed: int = 1
    arms: Sequence[str] = ()
    user: UserSettings = field(default_factory=UserSettings)
    injections: Sequence[str] = (USUAL_INJECTION,)
    """For the incidents whose faults can be made in more than one."""
    abilities: Abilities | None = None
    """What the host can; arms that it or the backend cannot run are left out, with a note. None leaves nothing out."""
    backend: str = "local"
    deployments: Mapping[str, Collection[int]] = field(default_factory=dict)
    """By incident the numbers of those of its deployments that are asked for, from 1; all of one that is not named."""
    answer_first: bool = False
    """Whether one cluster's trials are to be judged while the others boot."""

    def budget_of(self, scenario: Scenario) -> TrialBudget:
        """How much of the incident is run."""
        return scenario.quick_budget if self.budget == "quick" else scenario.budget

    def offered_injections(self, scenario: Scenario) -> tuple[str, ...]:
        """Those of the injections that the incident offers; one empty one where there is no choice."""
        return tuple(name for name in self.injections if name in injections_of(scenario)) or ("",)

    def trials_of(self, scenario: Scenario) -> dict[str, int]:
        """Trials of each cell, by arm."""
        budget = self.budget_of(scenario)
        usual = self.trials or budget.trials
        if self.budget == "quick" or self.trials is not None:
            return {arm.name: usual for arm in scenario.arms}
        judged, shown = scenario.judged_arms(), budget.extra_trials or usual
        return {arm.name: arm.trials or (usual if arm.name in judged else shown) for arm in scenario.arms}

    def arms_of(self, scenario: Scenario, release: str, other_injection: str) -> list[Arm]:
        """The arms that are run on a release, with the cells and the load that this budget and this injection leave them."""
        left_out = self.left_out(scenario)
        arms = [
            arm
            for arm in scenario.arms
            if (not self.arms or arm.name in self.arms)
            and (not arm.releases or release in arm.releases)
            and arm.name not in left_out
            and (not arm.stands_in_for or arm.stands_in_for in left_out or arm.name in self.arms)
        ]
        if other_injection:
            arms = [
                dataclasses.replace(arm, cells=scenario.other_injection_cells.get(arm.name, arm.cells)) for arm in arms
            ]
        if self.budget == "full":
            return arms
        return [
            dataclasses.replace(
                arm,
                cells=scenario.quick_cells.get(arm.name, arm.cells),
                # The fields are the scenario's own; a name that its load does not have raises TypeError.
                load=dataclasses.replace(arm.load, **scenario.quick_budget.load),
            )
            for arm in arms
        ]

    def left_out(self, scenario: Scenario) -> dict[str, str]:
        """The arms that cannot be run here, each with the reason."""
        if self.abilities is None:
            return {}
        reasons = {arm.name: why_not(arm, self.backend, self.abilities) for arm in scenario.arms}
        return {arm: reason for arm, reason in reasons.items() if reason is not None}

    def left_out_notes(self) -> tuple[str, ...]:
        """What cannot be run here, a sentence an arm."""
        return tuple(
            f"{scenario.name}: {arm} is left out: {reason}"
            for scenario in self.scenarios
            for arm, reason in self.left_out(scenario).items()
        )

    def notes(self) -> tuple[str, ...]:
        """What a reader of the report has to know about what was not run."""
        left_out = self.left_out_notes()
        if self.budget == "full":
            return left_out
        kept = [
            f"{scenario.name}: {self.trials or scenario.quick_budget.trials} trials a cell in "
            f"{scenario.quick_budget.deployments} deployment(s) instead of {scenario.budget.trials} in "
            f"{scenario.budget.deployments}"
            + (", and fewer cells" if scenario.quick_cells else "")
            + "".join(f", {name} {value:g}" for name, value in scenario.quick_budget.load.items())
            for scenario in self.scenarios
            if self.trials or scenario.quick_cells or scenario.quick_budget != scenario.budget
        ]
        if not kept:
            return left_out
        return (
            f"A quick run with a reduced number of trials ({'; '.join(kept)}). "
            "The full one is mqlab verify without --quick.",
            *left_out,
        )
