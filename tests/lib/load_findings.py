"""Findings of a load, as its judge makes them of counts that a test states."""

from __future__ import annotations

from analysis.verdicts.claims import judge
from analysis.verdicts.tries import HistoryTries, Try
from harness.model.findings import Finding
from scenarios.own_load import OWN_LOAD


def found(name: str, violations: float | None, words: str) -> Finding:
    """Of the claim with a part of that name; without a number of violations nobody could tell."""
    (claim,) = (claim for claim in OWN_LOAD.claims if claim.parts[0].name == name)
    row = HistoryTries(
        trial="load",
        deployment="load",
        release="5.5.0",
        arm="baseline",
        cell={},
        measure=name,
        words=words,
        tries=() if violations is None else (Try.of("load", [(violations, False)]),),
    )
    return judge(claim, [row])
