"""From a run's tries and a claim's rule to a finding. Nothing is decided without a line of evidence from a trial that counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from analysis.verdicts.claim_evidence import ClaimEvidence
from analysis.verdicts.claims import judge, verdict_of
from analysis.verdicts.evidence import Evidence
from analysis.verdicts.settings import settings_of
from analysis.verdicts.support import figures, reservations, sources
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
    manifest = evidence.run.manifest
    found = judge(claim, on.tries(), evidence.failed, release)
    _, _, deciding = verdict_of(found.parts)
    cited = sources(on, deciding)
    verdict, reason = found.verdict, found.reason
    if verdict is not VerdictKind.UNDECIDED and not cited:
        verdict, reason = VerdictKind.UNDECIDED, str(Reason.MISSING_EVIDENCE)
    trials = on.trials()
    counting = [trial for trial in trials if on.counts(trial)]
    return replace(
        found,
        incident=scenario.name,
        backend=_listed([trial.backend for trial in trials]) or manifest.backend,
        injection=injection or _listed([trial.injection for trial in trials if trial.injection != "none"]) or "none",
        client=_listed([trial.client for trial in trials]),
        verdict=verdict,
        reason=reason,
        rule_commit=manifest.commit,
        settings=settings_of(claim, scenario),
        runs=(manifest.run,),
        trials=len(counting),
        notes=reservations(on, trials, counting),
        figures=figures(on),
        evidence=tuple(
            EvidenceLine(excerpt="", file=source.file, line=source.line, operation=source.operation, run=manifest.run)
            for source in cited
        ),
    )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(word for word in words if word))
