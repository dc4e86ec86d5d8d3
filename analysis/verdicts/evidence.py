"""What a verdict is made from: the run's observations, and why some of its trials do not count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from analysis.verdicts.observations import Observation
from analysis.verdicts.tries import Tries, is_left_out
from harness.model.findings import Finding
from harness.model.measures import MEASURES
from harness.model.verdicts import Discard, Reason, VerdictKind
from harness.rundir.reading import RunDirectory

EVIDENCE_LINES_MAX = 8
"""A reader follows a few lines; the tables of the analysis hold all of them."""


_GRAVEST = (Discard.DAMAGED, Discard.HARNESS, Discard.HOST, Discard.CLOCK, Discard.NOISE, Discard.INJECTOR)
"""Of several reasons the first is named."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What is not as it should be in a trial, in words; with ``discard`` it is why no claim counts the trial."""

    words: str
    discard: Discard | None = None


class PartName(NamedTuple):
    """A part of a claim."""

    claim: str
    part: str


@dataclass(frozen=True, kw_only=True)
class TrialValidity:
    """Whether a trial counts, why not, and what else is to be said of it.

    ``noise`` tells a hiccup that its incident calls long, ``notes`` what could not be judged. ``parts`` are those of claims that
    ask for its arm and cell; ``too_noisy_for`` are the ones of them that leave it out, as its worst hiccup may have moved what
    they measure.
    """

    trial: str
    remarks: tuple[Remark, ...] = ()
    superseded_by: str = ""
    noise: str = ""
    notes: tuple[str, ...] = ()
    hiccup_ms_max: float | None = None
    parts: tuple[PartName, ...] = ()
    too_noisy_for: tuple[PartName, ...] = ()

    @property
    def discarded(self) -> Discard | None:
        """Why no claim counts it, of the closed list."""
        found = {remark.discard for remark in self.remarks}
        return next((one for one in _GRAVEST if one in found), None)

    @property
    def left_out(self) -> bool:
        """Whether it counts for no claim whatever is measured in it."""
        return is_left_out(self.discarded, bool(self.superseded_by))

    @property
    def is_clean(self) -> bool:
        """Whether it went exactly as planned: also what counts as a result may not have disturbed it."""
        return not (self.remarks or self.superseded_by or self.noise)

    def counts(self, claim: str = "") -> bool:
        """Whether it counts, for one claim or for any: it is not left out, nor too noisy for every part that asks for it."""
        asking = self._of(claim, self.parts)
        return not self.left_out and not (asking and set(asking) <= set(self.too_noisy_for))

    def why_not(self, claim: str = "") -> tuple[str, ...]:
        """Why it does not count, in words; empty where it does."""
        if self.counts(claim):
            return ()
        why = [f"it was repeated as {self.superseded_by}"] if self.superseded_by else []
        why += [remark.words for remark in self.remarks if remark.discard is not None]
        return tuple(why or [f"{self._hiccup} is too much for every part that asks for it"])

    def told(self, claim: str = "") -> tuple[str, ...]:
        """What else is notable of it, in words, whether it counts or not; of its noise only what ``claim`` is judged by."""
        words = [remark.words for remark in self.remarks if remark.discard is None]
        noisy = self._of(claim, self.too_noisy_for) if self.counts(claim) else []
        if noisy:
            names = dict.fromkeys(one.part if claim else one.claim for one in noisy)
            words.append(f"{self._hiccup} is too much for {'' if claim else 'parts of '}{', '.join(names)}")
        elif self.noise and not claim:
            words.append(self.noise)
        return (*words, *self.notes)

    @property
    def _hiccup(self) -> str:
        return f"a hiccup of {self.hiccup_ms_max or 0.0:.1f} ms"

    @staticmethod
    def _of(claim: str, parts: Sequence[PartName]) -> list[PartName]:
        return [part for part in parts if claim in ("", part.claim)]


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
