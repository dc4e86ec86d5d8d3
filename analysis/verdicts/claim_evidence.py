"""What was observed of one claim, in one release and injection."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.verdicts.evidence import Evidence
from analysis.verdicts.observations import Observation
from analysis.verdicts.tries import Tries
from harness.model.cells import matches
from harness.model.rules import Claim, Selection
from harness.model.scenario import Scenario
from harness.rundir.manifest import TrialRecord


@dataclass(frozen=True, kw_only=True)
class ClaimEvidence:
    """The trials and the values that a claim is judged by."""

    claim: Claim
    scenario: Scenario
    release: str
    injection: str
    evidence: Evidence

    def counts(self, trial: TrialRecord) -> bool:
        """Whether the trial counts for the claim; one that nothing is known of does not."""
        known = self.evidence.validity.get(trial.trial)
        return known is not None and known.counts(self.claim.id)

    def _is_shown(self, trial: TrialRecord) -> bool:
        """Also one that is too noisy for the claim: a counterexample that the host cannot have made counts."""
        known = self.evidence.validity.get(trial.trial)
        return known is not None and not known.left_out

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

    def values(self, measure: str, arm: str) -> list[Observation]:
        """All values of a measure in an arm, of trials that are not left out."""
        place = (self.scenario.name, self.release, self.injection, arm, measure)
        shown = {trial.trial for trial in self._trials_of_release() if self._is_shown(trial)}
        return [item for item in self.evidence.observations.get(place, ()) if item.trial in shown]

    def observed(self, quantity: Selection) -> list[Observation]:
        """The values that a quantity is made of."""
        return [item for item in self.values(quantity.measure, quantity.arm) if matches(item.params, quantity.where)]
