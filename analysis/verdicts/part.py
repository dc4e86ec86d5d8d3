"""One part of a claim: from its quantity's values to a verdict with an estimate and an interval.

A part is confirmed when its whole 95 % interval lies at or beyond the bound, refuted when the whole interval lies on
the other side, and undecided otherwise.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np

from analysis.verdicts import stats
from analysis.verdicts.claim_evidence import ClaimEvidence, sample_of, where_known
from analysis.verdicts.observations import Observation
from harness.model.cells import matches
from harness.model.claims import Part, Quantity, Statistic
from harness.model.findings import PartResult
from harness.model.verdicts import Reason, VerdictKind
from harness.rundir.manifest import TrialRecord


def judge_part(on: ClaimEvidence, part: Part) -> PartResult:
    """Compare the part's quantity with its bound, or say what keeps it from being judged."""
    quantity = part.quantity
    reason = _obstacle(on, quantity) or (_obstacle(on, quantity.against) if quantity.against else None)
    if reason is not None:
        return _result(part, VerdictKind.UNDECIDED, str(reason), None)
    estimate = _estimate(on, quantity, seed=_seed(on, part.name))
    if estimate.estimate is None or estimate.low is None or estimate.high is None:
        return _result(part, VerdictKind.UNDECIDED, str(Reason.MISSING_EVIDENCE), estimate)
    if estimate.units < part.units_min:
        return _result(part, VerdictKind.UNDECIDED, str(Reason.TOO_FEW_TRIALS), estimate)
    verdict = compare(estimate, part)
    reason_words = str(Reason.STRADDLES) if verdict is VerdictKind.UNDECIDED else ""
    return _result(part, verdict, reason_words, estimate)


def _obstacle(on: ClaimEvidence, quantity: Quantity) -> Reason | None:
    """What keeps a quantity from being estimated at all."""
    if quantity.measure in on.evidence.failed:
        return Reason.CHECKER_FAILED
    trials = on.trials_of(quantity)
    if not any(on.evidence.counts(trial) for trial in trials):
        return _why_none_counts(on, trials)
    return None if on.observed(quantity) else Reason.MISSING_EVIDENCE


def _why_none_counts(on: ClaimEvidence, trials: Sequence[TrialRecord]) -> Reason:
    reasons = [
        {exclusion.reason for exclusion in on.evidence.validity[trial.trial].exclusions}
        for trial in trials
        if trial.trial in on.evidence.validity
    ]
    if any(found == {Reason.TOO_NOISY} for found in reasons):
        return Reason.TOO_NOISY
    if any(Reason.MISSING_EVIDENCE in found and Reason.NOT_EXERCISED not in found for found in reasons):
        return Reason.MISSING_EVIDENCE
    return Reason.NOT_EXERCISED


def _estimate(on: ClaimEvidence, quantity: Quantity, *, seed: int) -> stats.Estimate:
    sample = _sample(on, quantity)
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
            return stats.ratio_of_means(sample, _sample(on, quantity.against), seed=seed)
        case Statistic.SLOPE:
            return stats.slope(sample, seed=seed)


def _sample(on: ClaimEvidence, quantity: Quantity) -> stats.Sample:
    observed = on.observed(quantity)
    if quantity.statistic is not Statistic.SLOPE:
        return sample_of(observed)
    placed = [(item, x) for item in observed if (x := _abscissa(on, item, quantity)) is not None]
    return sample_of([item for item, _ in placed], x=[x for _, x in placed])


def _abscissa(on: ClaimEvidence, item: Observation, quantity: Quantity) -> float | None:
    """The parameter ``slope_on``; where a cell has none of that name, the same trial's measure of that name."""
    value = item.params.get(quantity.slope_on)
    if value is not None:
        return float(value)
    beside = [
        other.value
        for other in on.values(quantity.slope_on, quantity.arm)
        if other.trial == item.trial and matches(other.params, where_known(quantity, other.params))
    ]
    return float(np.mean(beside)) if beside else None


def _seed(on: ClaimEvidence, name: str) -> int:
    """The run's seed, different for each part, so that parts do not share their luck."""
    return (on.evidence.run.manifest.seed << 32) + zlib.crc32(f"{on.claim.id} {name} {on.release}".encode())


def _result(part: Part, verdict: VerdictKind, reason: str, estimate: stats.Estimate | None) -> PartResult:
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
