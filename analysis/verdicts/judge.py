"""From observations and a claim's rule to a finding.

A part is confirmed when its whole 95 % interval lies at or beyond the bound, refuted when the whole interval lies on
the other side, and undecided otherwise. A claim is as good as its worst part: refuted beats undecided beats confirmed
(the order of Jepsen's checkers). Nothing is confirmed without a line of evidence from a trial that counts.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.evidence.run_directory import Deployment, Trial
from analysis.verdicts import stats
from analysis.verdicts.evidence import EVIDENCE_LINES_MAX, Evidence, unit_of
from analysis.verdicts.numbers import estimate as estimate_words
from analysis.verdicts.numbers import number
from analysis.verdicts.observations import Observation, Source, canonical, matches
from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.findings import EvidenceLine, Finding, MeasureSummary, PartResult
from harness.model.scenario import Arm, Scenario
from harness.model.verdicts import Reason, VerdictKind

_WORST_FIRST = (VerdictKind.REFUTED, VerdictKind.UNDECIDED, VerdictKind.CONFIRMED)

_REASONS_WORST_FIRST = (
    Reason.CHECKER_FAILED,
    Reason.NOT_MEASURABLE,
    Reason.NOT_EXERCISED,
    Reason.TOO_NOISY,
    Reason.MISSING_EVIDENCE,
    Reason.TOO_FEW_TRIALS,
    Reason.STRADDLES,
)


def findings(scenarios: Sequence[Scenario], evidence: Evidence) -> list[Finding]:
    """One finding for each claim of the run's incidents in each release and way of injection, without excerpts."""
    wanted = set(evidence.run.manifest.incidents)
    return [
        finding(claim, scenario, release, evidence, way)
        for scenario in scenarios
        if scenario.name in wanted
        for release in evidence.run.manifest.releases
        for way in evidence.ways(scenario.name, release)
        for claim in scenario.claims
    ]


def finding(claim: Claim, scenario: Scenario, release: str, evidence: Evidence, way: str = "") -> Finding:
    """Judge one claim in one release, by the trials of one way of injection."""
    judged = _Judge(claim=claim, scenario=scenario, release=release, way=way, evidence=evidence)
    parts = tuple(judged.part(part) for part in claim.parts)
    decisive = _decisive(parts)
    verdict = decisive.verdict if decisive else VerdictKind.UNDECIDED
    reason = decisive.reason if decisive else str(Reason.NOT_MEASURABLE)
    cited = judged.sources(decisive.name if decisive else "")
    if verdict is not VerdictKind.UNDECIDED and not cited:
        verdict, reason = VerdictKind.UNDECIDED, str(Reason.MISSING_EVIDENCE)
    expected = claim.expected.get(release)
    trials = judged.trials()
    counting = [trial for trial in trials if evidence.counts(trial)]
    return Finding(
        claim=claim.id,
        incident=scenario.name,
        release=release,
        backend=_listed([trial.backend for trial in trials]) or evidence.run.manifest.backend,
        client=_listed([trial.client for trial in trials]),
        injection=way or _listed([trial.injection for trial in trials if trial.injection != "none"]) or "none",
        rule_commit=evidence.run.manifest.commit,
        rule_hash=claim.rule_hash(),
        validity=judged.validity(trials, counting),
        expected=expected.verdict if expected else VerdictKind.UNDECIDED,
        expected_from_code=f"{expected.because} ({expected.source})" if expected else "",
        verdict=verdict,
        reason=reason,
        truth=truth(claim, parts, verdict, reason),
        trials=len(counting),
        parts=parts,
        measures=judged.summaries(),
        evidence=tuple(
            EvidenceLine(excerpt="", file=source.file, line=source.line, operation=source.operation) for source in cited
        ),
    )


def truth(claim: Claim, parts: Sequence[PartResult], verdict: VerdictKind, reason: str) -> str:
    """The ledger's sentence: the claim's own with the parts' numbers, or one made of the decisive part."""
    by_name = {part.name: part for part in parts}
    named = [by_name[name] for name in re.findall(r"\{([^{}]+)\}", claim.truth) if name in by_name]
    unmeasured = any(part.estimate is None for part in named) if named else not parts
    if claim.truth and not unmeasured:
        filled = re.sub(
            r"\{([^{}]+)\}",
            lambda match: _number_words(by_name[match[1]]) if match[1] in by_name else match[0],
            claim.truth,
        )
        return filled if verdict is not VerdictKind.UNDECIDED else f"Undecided ({reason}): {filled}"
    decisive = _decisive(parts)
    if decisive is None:
        return f"Undecided: {reason}."
    asked = f"the rule asks for {decisive.relation} {number(decisive.bound)}"
    if decisive.estimate is None:
        return f"Undecided ({reason}): {decisive.name} was not measured; {asked}."
    measured = estimate_words(decisive.estimate, decisive.low, decisive.high, decisive.unit)
    start = f"Undecided ({reason}): " if verdict is VerdictKind.UNDECIDED else ""
    return f"{start}{decisive.name}: {measured}; {asked}."


def _number_words(part: PartResult) -> str:
    """``54.7 (53.1-56.0)``, a share as a percentage; the sentence around it names the unit."""
    return estimate_words(part.estimate, part.low, part.high, "share" if part.unit == "share" else "")


def _decisive(parts: Sequence[PartResult]) -> PartResult | None:
    if not parts:
        return None

    def badness(part: PartResult) -> tuple[int, int]:
        reason = next((index for index, item in enumerate(_REASONS_WORST_FIRST) if item == part.reason), 99)
        return _WORST_FIRST.index(part.verdict), reason

    return min(parts, key=badness)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(word for word in words if word))


@dataclass(frozen=True, kw_only=True)
class _Judge:
    """One claim in one release and way of injection, with what was observed there."""

    claim: Claim
    scenario: Scenario
    release: str
    way: str
    evidence: Evidence

    # --- what there is -----------------------------------------------------------------------------------------------

    def trials(self) -> list[Trial]:
        arms = {quantity.arm for quantity in self.claim.quantities()}
        return [trial for trial in self._trials_of_release() if trial.arm in arms]

    def _trials_of_release(self) -> list[Trial]:
        return [
            trial
            for trial in self.evidence.run.trials
            if (trial.incident, trial.release, trial.way) == (self.scenario.name, self.release, self.way)
        ]

    def _trials_of(self, quantity: Quantity) -> list[Trial]:
        """The trials of the quantity's arm whose cell it is about."""
        return [
            trial
            for trial in self._trials_of_release()
            if trial.arm == quantity.arm
            and matches(
                trial.params, {name: allowed for name, allowed in quantity.where.items() if name in trial.params}
            )
        ]

    def _all(self, measure: str, arm: str) -> Sequence[Observation]:
        return self.evidence.observations.get((self.scenario.name, self.release, self.way, arm, measure), ())

    def _observed(self, quantity: Quantity) -> list[Observation]:
        return [item for item in self._all(quantity.measure, quantity.arm) if matches(item.params, quantity.where)]

    # --- one part ----------------------------------------------------------------------------------------------------

    def part(self, part: Part) -> PartResult:
        quantity = part.quantity
        reason = self._obstacle(quantity) or (self._obstacle(quantity.against) if quantity.against else None)
        if reason is not None:
            return self._result(part, VerdictKind.UNDECIDED, str(reason), None)
        estimate = self._estimate(quantity, seed=self._seed(part.name))
        if estimate.estimate is None or estimate.low is None or estimate.high is None:
            return self._result(part, VerdictKind.UNDECIDED, str(Reason.MISSING_EVIDENCE), estimate)
        if estimate.units < part.units_min:
            return self._result(part, VerdictKind.UNDECIDED, str(Reason.TOO_FEW_TRIALS), estimate)
        verdict = compare(estimate, part)
        reason_words = str(Reason.STRADDLES) if verdict is VerdictKind.UNDECIDED else ""
        return self._result(part, verdict, reason_words, estimate)

    def _obstacle(self, quantity: Quantity) -> Reason | None:
        """What keeps a quantity from being estimated at all."""
        if quantity.measure in self.evidence.failed:
            return Reason.CHECKER_FAILED
        trials = self._trials_of(quantity)
        if not any(self.evidence.counts(trial) for trial in trials):
            return self._why_none_counts(trials)
        return None if self._observed(quantity) else Reason.MISSING_EVIDENCE

    def _why_none_counts(self, trials: Sequence[Trial]) -> Reason:
        reasons = [
            {doubt.reason for doubt in self.evidence.validity[trial.trial].doubts}
            for trial in trials
            if trial.trial in self.evidence.validity
        ]
        if any(found == {Reason.TOO_NOISY} for found in reasons):
            return Reason.TOO_NOISY
        if any(Reason.MISSING_EVIDENCE in found and Reason.NOT_EXERCISED not in found for found in reasons):
            return Reason.MISSING_EVIDENCE
        return Reason.NOT_EXERCISED

    def _estimate(self, quantity: Quantity, *, seed: int) -> stats.Estimate:
        sample = self._sample(quantity)
        match quantity.statistic:
            case Statistic.MEDIAN:
                return stats.median(sample, seed=seed)
            case Statistic.MEAN:
                return stats.mean(sample, seed=seed)
            case Statistic.SHARE:
                return stats.share(sample, within=quantity.within)
            case Statistic.RATIO_OF_MEANS:
                if quantity.against is None:
                    return stats.Estimate(estimate=None, low=None, high=None, units=sample.units)
                return stats.ratio_of_means(sample, self._sample(quantity.against), seed=seed)
            case Statistic.SLOPE:
                return stats.slope(sample, seed=seed)

    def _sample(self, quantity: Quantity) -> stats.Sample:
        observed = self._observed(quantity)
        if quantity.statistic is not Statistic.SLOPE:
            return sample_of(observed)
        placed = [(item, x) for item in observed if (x := self._abscissa(item, quantity)) is not None]
        return sample_of([item for item, _ in placed], x=[x for _, x in placed])

    def _abscissa(self, item: Observation, quantity: Quantity) -> float | None:
        """The parameter ``slope_on``; where a cell has none of that name, the same trial's measure of that name."""
        value = item.params.get(quantity.slope_on)
        if value is not None:
            return float(value)
        beside = [
            other.value
            for other in self._all(quantity.slope_on, quantity.arm)
            if other.trial == item.trial
            and matches(
                other.params, {name: allowed for name, allowed in quantity.where.items() if name in other.params}
            )
        ]
        return float(np.mean(beside)) if beside else None

    def _seed(self, name: str) -> int:
        """Of the run's seed, and different for each part, so that parts do not share their luck."""
        return (self.evidence.run.manifest.seed << 32) + zlib.crc32(f"{self.claim.id} {name} {self.release}".encode())

    def _result(self, part: Part, verdict: VerdictKind, reason: str, estimate: stats.Estimate | None) -> PartResult:
        return PartResult(
            name=part.name,
            verdict=verdict,
            reason=reason,
            estimate=estimate.estimate if estimate else None,
            low=estimate.low if estimate else None,
            high=estimate.high if estimate else None,
            relation=part.relation,
            bound=part.bound,
            unit=part.unit,
            why=part.why,
            units=estimate.units if estimate else 0,
        )

    # --- what goes with the verdict ----------------------------------------------------------------------------------

    def sources(self, decisive: str) -> list[Source]:
        """Lines to cite: of each part the values in the middle and at both ends, the decisive part's first."""
        ordered = sorted(self.claim.parts, key=lambda part: part.name != decisive)
        picked: list[list[Source]] = []
        for part in ordered:
            for quantity in part.quantities():
                picked.append(_telling([item for item in self._observed(quantity) if item.source is not None]))
        # In turns, so that every part shows its best line before any part shows its second.
        turns = [source for turn in range(3) for sources in picked for source in sources[turn : turn + 1]]
        first = picked[0] if picked else []
        return list(dict.fromkeys([*first, *turns]))[:EVIDENCE_LINES_MAX]

    def summaries(self) -> tuple[MeasureSummary, ...]:
        wanted: dict[str, set[tuple[tuple[str, tuple[str, ...]], ...]]] = {}
        for quantity in self.claim.quantities():
            where = tuple(sorted((name, tuple(map(str, allowed))) for name, allowed in quantity.where.items()))
            wanted.setdefault(quantity.measure, set()).add(where)
        return tuple(
            summary
            for measure, wheres in wanted.items()
            for arm in self.scenario.arms
            for summary in self._cells(measure, arm, wheres)
        )

    def _cells(
        self, measure: str, arm: Arm, wheres: Iterable[tuple[tuple[str, tuple[str, ...]], ...]]
    ) -> list[MeasureSummary]:
        """One summary for each cell; of the measure's own parameters only the ones that the claim is about."""
        cells: dict[tuple[tuple[str, object], ...], list[Observation]] = {}
        for item in self._all(measure, arm.name):
            if any(
                matches(item.extra, {name: allowed for name, allowed in where if name in item.extra})
                for where in wheres
            ):
                key = tuple(sorted((name, canonical(value)) for name, value in item.params.items()))
                cells.setdefault(key, []).append(item)
        ordered = sorted(cells.items(), key=lambda cell: [(name, str(type(v)), v) for name, v in cell[0]])
        return [self._summary(measure, arm.name, observed) for _, observed in ordered]

    def _summary(self, measure: str, arm: str, observed: Sequence[Observation]) -> MeasureSummary:
        sample = sample_of(observed)
        found = stats.quantiles(sample)
        middle = stats.median(sample, seed=self.evidence.run.manifest.seed)
        return MeasureSummary(
            name=measure,
            arm=arm,
            params=dict(observed[0].params),
            unit=unit_of(measure),
            independent=sample.units,
            n=sample.size,
            censored=int(sample.censored.sum()),
            p50=found.p50,
            p90=found.p90,
            p99=found.p99,
            min=found.min,
            max=found.max,
            low=middle.low,
            high=middle.high,
        )

    def validity(self, trials: Sequence[Trial], counting: Sequence[Trial]) -> tuple[str, ...]:
        """How far the finding carries, and which trials do not count, in words."""
        run = self.evidence.run
        said = [f"{len(counting)} of {len(trials)} trials count"]
        superseded = [trial for trial in trials if trial.superseded_by]
        if superseded:
            said.append(f"{len(superseded)} trials were repeated because of noise and do not count")
        for trial in trials:
            known = self.evidence.validity.get(trial.trial)
            if known is not None and not trial.superseded_by:
                said.extend(f"{trial.trial} does not count: {doubt.words}" for doubt in known.doubts)
                said.extend(f"{trial.trial}: {note}" for note in known.notes)
        said.extend(
            f"{measure} was not judged: {self.evidence.failed[measure]}"
            for measure in sorted(
                {quantity.measure for quantity in self.claim.quantities()} & set(self.evidence.failed)
            )
        )
        if run.manifest.effort == "quick":
            said.append("a reduced number of trials (quick effort)")
        host = run.manifest.host
        said.append(f"Java {host.get('java', 'unknown')} on {host.get('cores', 'an unknown number of')} shared cores")
        deployments = [found for trial in counting if (found := run.deployment(trial.deployment)) is not None]
        said.extend(dict.fromkeys(map(_settings_words, deployments)))
        committed = run.manifest.rules.get(self.claim.id)
        if committed is not None and committed != self.claim.rule_hash():
            said.append("the rule that judged is not the one that was committed before the run")
        return tuple(item for item in said if item)


def _settings_words(deployment: Deployment) -> str:
    conf, properties = deployment.conf, deployment.properties
    scaled = [f"{key}={conf[key]}" for key in sorted(conf) if key.startswith("mappedFileSize")]
    scaled += [f"-D{key}={properties[key]}" for key in sorted(properties)]
    words = [f"{deployment.logging} logging"] + ([f"settings {', '.join(scaled)}"] if scaled else [])
    words += [f"its store on a file system of its own ({deployment.store})"] if deployment.store != "folder" else []
    words += [f"JVM options {' '.join(deployment.jvm)}"] if deployment.jvm else []
    words += [f"timers up to {deployment.timer_slack_ms:g} ms late"] if deployment.timer_slack_ms else []
    return "broker with " + ", ".join(words)


def compare(estimate: stats.Estimate, part: Part) -> VerdictKind:
    """Confirmed when the whole interval lies on the right side of the bound, refuted when on the wrong one."""
    if estimate.low is None or estimate.high is None or math.isnan(estimate.low) or math.isnan(estimate.high):
        return VerdictKind.UNDECIDED
    if part.relation == "<=":
        right, wrong = estimate.high <= part.bound, estimate.low > part.bound
    else:
        right, wrong = estimate.low >= part.bound, estimate.high < part.bound
    if right:
        return VerdictKind.CONFIRMED
    return VerdictKind.REFUTED if wrong else VerdictKind.UNDECIDED


def sample_of(observed: Sequence[Observation], *, x: Sequence[float] | None = None) -> stats.Sample:
    """The observations as a sample: units within deployments."""
    return stats.sample_of(
        [item.value for item in observed],
        units=[item.unit for item in observed],
        blocks=[item.block for item in observed],
        censored=[item.censored for item in observed],
        x=x,
    )


def _telling(observed: Sequence[Observation]) -> list[Source]:
    """The sources of the middle, the largest and the smallest value."""
    if not observed:
        return []
    ordered = sorted(observed, key=lambda item: item.value)
    chosen = (ordered[len(ordered) // 2], ordered[-1], ordered[0])
    return list(dict.fromkeys(item.source for item in chosen if item.source is not None))
