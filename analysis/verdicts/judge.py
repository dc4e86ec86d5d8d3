"""From observations and a claim's rule to a finding.

A claim is as good as its worst part: refuted beats undecided beats confirmed (the order of Jepsen's checkers). Nothing is
confirmed without a line of evidence from a trial that counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from analysis.verdicts import claims as by_kinds
from analysis.verdicts.claim_evidence import ClaimEvidence
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.numbers import estimate as estimate_words
from analysis.verdicts.numbers import number
from analysis.verdicts.part import judge_part
from analysis.verdicts.support import reservations, sources, summaries
from harness.model import rules
from harness.model.claims import Claim
from harness.model.findings import EvidenceLine, Finding, PartResult
from harness.model.scenario import Scenario
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
    """One finding for each claim of the run's incidents in each release and injection, without excerpts."""
    wanted = set(evidence.run.manifest.incidents)
    return [
        finding(claim, scenario, release, evidence, injection)
        for scenario in scenarios
        if scenario.name in wanted
        for release in evidence.run.manifest.releases
        for injection in evidence.injections(scenario.name, release)
        for claim in scenario.claims
    ]


def finding(
    claim: Claim | rules.Claim, scenario: Scenario, release: str, evidence: Evidence, injection: str = ""
) -> Finding:
    """Judge one claim in one release, by the trials of one injection."""
    on = ClaimEvidence(claim=claim, scenario=scenario, release=release, injection=injection, evidence=evidence)
    if isinstance(claim, rules.Claim):
        parts, verdict, reason, deciding, said = by_kinds.judge(claim, on.tries(), evidence.failed)
    else:
        parts = tuple(judge_part(on, part) for part in claim.parts)
        decisive = _decisive(parts)
        verdict = decisive.verdict if decisive else VerdictKind.UNDECIDED
        reason = decisive.reason if decisive else str(Reason.NOT_MEASURABLE)
        deciding = decisive.name if decisive else ""
        said = summary(claim, parts, verdict, reason)
    cited = sources(on, deciding)
    if verdict is not VerdictKind.UNDECIDED and not cited:
        verdict, reason = VerdictKind.UNDECIDED, str(Reason.MISSING_EVIDENCE)
    expected = claim.expected.get(release)
    trials = on.trials()
    counting = [trial for trial in trials if on.counts(trial)]
    return Finding(
        claim=claim.id,
        incident=scenario.name,
        release=release,
        backend=_listed([trial.backend for trial in trials]) or evidence.run.manifest.backend,
        client=_listed([trial.client for trial in trials]),
        injection=injection or _listed([trial.injection for trial in trials if trial.injection != "none"]) or "none",
        rule_commit=evidence.run.manifest.commit,
        rule_hash=claim.rule_hash(),
        validity=reservations(on, trials, counting),
        expected=expected.verdict if expected else None,
        expected_from_code=f"{expected.because} ({expected.source})" if expected else "",
        verdict=verdict,
        reason=reason,
        summary=said,
        trials=len(counting),
        parts=parts,
        measures=summaries(on),
        evidence=tuple(
            EvidenceLine(excerpt="", file=source.file, line=source.line, operation=source.operation) for source in cited
        ),
    )


def summary(claim: Claim, parts: Sequence[PartResult], verdict: VerdictKind, reason: str) -> str:
    """The ledger's sentence: the claim's own with the parts' numbers, or one made of the decisive part."""
    by_name = {part.name: part for part in parts}
    named = [by_name[name] for name in re.findall(r"\{([^{}]+)\}", claim.summary) if name in by_name]
    unmeasured = any(part.estimate is None for part in named) if named else not parts
    if claim.summary and not unmeasured:
        filled = re.sub(
            r"\{([^{}]+)\}",
            lambda match: _number_words(by_name[match[1]]) if match[1] in by_name else match[0],
            claim.summary,
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
