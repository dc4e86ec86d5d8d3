"""What was observed of one claim, in one release and way of injection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.verdicts import stats
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.observations import Observation, matches
from harness.model.cells import ParameterValue
from harness.model.claims import Claim, Quantity
from harness.model.scenario import Scenario
from harness.rundir.manifest import TrialRecord


@dataclass(frozen=True, kw_only=True)
class ClaimEvidence:
    """The trials and the values that a claim is judged by."""

    claim: Claim
    scenario: Scenario
    release: str
    way: str
    evidence: Evidence

    def trials(self) -> list[TrialRecord]:
        """The trials of all arms that the claim speaks of."""
        arms = {quantity.arm for quantity in self.claim.quantities()}
        return [trial for trial in self._trials_of_release() if trial.arm in arms]

    def _trials_of_release(self) -> list[TrialRecord]:
        return [
            trial
            for trial in self.evidence.run.trials
            if (trial.incident, trial.release, trial.way) == (self.scenario.name, self.release, self.way)
        ]

    def trials_of(self, quantity: Quantity) -> list[TrialRecord]:
        """The trials of the quantity's arm whose cell it is about."""
        return [
            trial
            for trial in self._trials_of_release()
            if trial.arm == quantity.arm and matches(trial.params, where_known(quantity, trial.params))
        ]

    def values(self, measure: str, arm: str) -> Sequence[Observation]:
        """All values of a measure in an arm."""
        return self.evidence.observations.get((self.scenario.name, self.release, self.way, arm, measure), ())

    def observed(self, quantity: Quantity) -> list[Observation]:
        """The values that a quantity is made of."""
        return [item for item in self.values(quantity.measure, quantity.arm) if matches(item.params, quantity.where)]


def sample_of(observed: Sequence[Observation], *, x: Sequence[float] | None = None) -> stats.Sample:
    """The observations as a sample: units within deployments."""
    return stats.sample_of(
        [item.value for item in observed],
        units=[item.unit for item in observed],
        blocks=[item.block for item in observed],
        censored=[item.censored for item in observed],
        x=x,
    )


def where_known(quantity: Quantity, params: Mapping[str, object]) -> dict[str, tuple[ParameterValue, ...]]:
    """What the quantity asks of those parameters that there are."""
    return {name: allowed for name, allowed in quantity.where.items() if name in params}
