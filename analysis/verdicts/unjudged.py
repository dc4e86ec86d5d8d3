"""Claims of a run that nobody judges, since the code that states them was not run: they are undecided, and say so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.findings import Finding
from harness.model.verdicts import Reason, VerdictKind
from harness.rundir.manifest import Manifest


@dataclass(frozen=True, kw_only=True)
class UnjudgedClaims:
    """Those of an incident whose file came with the run; of several such incidents ``incident`` names all, since nobody knows which
    claims are whose."""

    incident: str
    claims: tuple[str, ...]
    why: str
    """A sentence: what was not run, and how it would be."""


def findings_of(unjudged: Iterable[UnjudgedClaims], manifest: Manifest) -> list[Finding]:
    """One finding for each of the claims in each release of the run."""
    return [
        Finding(
            claim=claim,
            incident=group.incident,
            release=release,
            backend=manifest.backend,
            client="",
            injection="none",
            verdict=VerdictKind.UNDECIDED,
            reason=str(Reason.CODE_NOT_RUN),
            summary=group.why,
            expected=None,
            expected_from_code="",
            rule_commit=manifest.commit,
            rule_hash=manifest.rules.get(claim, ""),
            runs=(manifest.run,),
        )
        for group in unjudged
        for release in manifest.releases
        for claim in group.claims
    ]
