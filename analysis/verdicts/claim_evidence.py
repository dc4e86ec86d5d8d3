"""What was observed of one claim, in one release and injection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.verdicts import stats
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.observations import Observation
from analysis.verdicts.tries import Tries
from harness.model import rules
from harness.model.cells import ParameterValue, matches
from harness.model.claims import Claim, Quantity
from harness.model.scenario import Scenario
from harness.rundir.manifest import TrialRecord


@dataclass(frozen=True, kw_only=True)
class ClaimEvidence:
    """The trials and the values that a claim is judged by."""

    claim: Claim | rules.Claim
    scenario: Scenario
    release: str
    injection: str
    evidence: Evidence

    def counts(self, trial: TrialRecord) -> bool:
        """Whether the trial counts for the claim: one by kinds leaves out only what ``Discard`` lists, and what was repeated."""
        known = self.evidence.validity.get(trial.trial)
        if not isinstance(self.claim, rules.Claim) or known is None:
            return self.evidence.counts(trial)
        return known.discarded is None and not trial.superseded_by

    def tries(self) -> list[Tries]:
        """Those of the incident's trials in the release and injection."""
        names = {trial.trial for trial in self._trials_of_release()}
        return [row for row in self.evidence.tries if row.trial in names]

    def trials(self) -> list[TrialRecord]:
        """The trials of all arms that the claim speaks of."""
        arms = {quantity.arm for quantity in self.claim.quantities()}
        return [trial for trial in self._trials_of_release() if trial.arm in arms]

    def _trials_of_release(self) -> list[TrialRecord]:
        return [
            trial
            for trial in self.evidence.run.trials
            if (trial.incident, trial.release, trial.chosen_injection)
            == (self.scenario.name, self.release, self.injection)
        ]

    def trials_of(self, quantity: Quantity | rules.Selection) -> list[TrialRecord]:
        """The trials of the quantity's arm whose cell it is about."""
        return [
            trial
            for trial in self._trials_of_release()
            if trial.arm == quantity.arm and matches(trial.params, where_known(quantity, trial.params))
        ]

    def values(self, measure: str, arm: str) -> Sequence[Observation]:
        """All values of a measure in an arm."""
        place = (self.scenario.name, self.release, self.injection, arm, measure)
        if not isinstance(self.claim, rules.Claim):
            return self.evidence.observations.get(place, ())
        counting = {trial.trial for trial in self._trials_of_release() if self.counts(trial)}
        return [item for item in self.evidence.every.get(place, ()) if item.trial in counting]

    def observed(self, quantity: Quantity | rules.Selection) -> list[Observation]:
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


def where_known(
    quantity: Quantity | rules.Selection, params: Mapping[str, object]
) -> dict[str, tuple[ParameterValue, ...]]:
    """What the quantity asks of those parameters that there are."""
    return {name: allowed for name, allowed in quantity.where.items() if name in params}
