"""From a run's tries and a claim's rule to a finding. Nothing is decided without a line of evidence from a trial that counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.verdicts.claim_evidence import ClaimEvidence
from analysis.verdicts.claims import judge
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.settings import settings_of
from analysis.verdicts.support import reservations, sources, summaries
from harness.model.findings import EvidenceLine, Finding
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import Reason, VerdictKind


def findings(scenarios: Sequence[Scenario], evidence: Evidence) -> list[Finding]:
    """One finding for each claim of the run's incidents in each release that it is of, and injection, without excerpts."""
    wanted = set(evidence.run.manifest.incidents)
    return [
        finding(claim, scenario, release, evidence, injection)
        for scenario in scenarios
        if scenario.name in wanted
        for release in evidence.run.manifest.releases
        for injection in evidence.injections(scenario.name, release)
        for claim in scenario.claims
        if scenario.asks(claim, release)
    ]


def finding(claim: Claim, scenario: Scenario, release: str, evidence: Evidence, injection: str = "") -> Finding:
    """Judge one claim in one release, by the trials of one injection."""
    on = ClaimEvidence(claim=claim, scenario=scenario, release=release, injection=injection, evidence=evidence)
    parts, verdict, reason, deciding, said = judge(claim, on.tries(), evidence.failed)
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
        settings=settings_of(claim, scenario),
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


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(word for word in words if word))
