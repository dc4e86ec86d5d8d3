"""What a verdict is made from: the run's observations, and why some of its trials do not count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.verdicts.observations import Observation
from analysis.verdicts.tries import Tries
from harness.model.cells import Parameters, canonical
from harness.model.findings import Finding
from harness.model.measures import MEASURES
from harness.model.verdicts import Discard, Reason, VerdictKind
from harness.rundir.reading import RunDirectory

EVIDENCE_LINES_MAX = 8
"""A reader follows a few lines; the tables of the analysis hold all of them."""


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Why a trial does not count: the kind, and in words."""

    reason: Reason
    words: str


@dataclass(frozen=True, kw_only=True)
class TrialValidity:
    """A trial is shown as one that counts when nothing excludes it. ``notes`` say what could not be judged in it.

    ``discarded`` is why it does not count for claims, which ask for the host's noise part by part.
    """

    trial: str
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()
    hiccup_ms_max: float | None = None
    discarded: Discard | None = None

    @property
    def valid(self) -> bool:
        """Whether nothing excludes it."""
        return not self.exclusions


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What verdicts rest on: the run, which of its trials count, what was observed, and which measures failed.

    ``observations`` and ``tries`` are those of all trials. ``failed`` maps a measure to the error of the checker that should
    have given it.
    """

    run: RunDirectory
    validity: Mapping[str, TrialValidity]
    observations: Mapping[tuple[str, str, str, str, str], Sequence[Observation]]
    failed: Mapping[str, str] = field(default_factory=dict)
    tries: Sequence[Tries] = ()

    @classmethod
    def of(
        cls,
        *,
        run: RunDirectory,
        validity: Iterable[TrialValidity],
        observations: Iterable[Observation],
        failed: Mapping[str, str] | None = None,
        tries: Sequence[Tries] = (),
    ) -> Evidence:
        """Index the observations by incident, release, injection, arm and measure."""
        return cls(
            run=run,
            validity={item.trial: item for item in validity},
            observations=_indexed(observations),
            failed=dict(failed or {}),
            tries=tries,
        )

    def injections(self, incident: str, release: str) -> tuple[str, ...]:
        """The injections of an incident's trials, in their order; one empty one where there are none."""
        made = [
            trial.chosen_injection
            for trial in self.run.trials
            if (trial.incident, trial.release) == (incident, release)
        ]
        return tuple(dict.fromkeys(made)) or ("",)


def _indexed(observations: Iterable[Observation]) -> dict[tuple[str, str, str, str, str], list[Observation]]:
    index: dict[tuple[str, str, str, str, str], list[Observation]] = defaultdict(list)
    for item in observations:
        index[item.incident, item.release, item.injection, item.arm, item.measure].append(item)
    return dict(index)


def without_evidence(found: Finding) -> Finding:
    """The same finding when none of its lines could be read: undecided."""
    if found.verdict is VerdictKind.UNDECIDED:
        return replace(found, evidence=())
    return replace(found, verdict=VerdictKind.UNDECIDED, reason=str(Reason.MISSING_EVIDENCE), evidence=())


def unit_of(measure: str) -> str:
    """As the catalogue has it; empty for a measure that is not in it."""
    return MEASURES[measure].unit if measure in MEASURES else ""


def cell_of(params: Parameters) -> tuple[tuple[str, object], ...]:
    """A key that is the same for the same parameters, however they are written."""
    return tuple(sorted((name, canonical(value)) for name, value in params.items()))
