"""Hand-made histories: for each arm and measure the tries that a run would have shown, by a name that says which."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from analysis.verdicts.claims import judge
from analysis.verdicts.tries import Tries
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from tests.lib.tries import Value, tries_of

History = Mapping[str, Sequence[Sequence[Value]]]
"""``"rejected_count baseline keyword=REJECTREQUEST rate_hz=500"``: what each deployment's tries showed."""


def tries_in(history: History) -> list[Tries]:
    """A trial for each value; what an arm shows of several measures in a cell is of the same trials."""
    rows: list[Tries] = []
    for name, by_deployment in history.items():
        measure, arm, *where = name.split()
        pairs = (pair.split("=") for pair in where)
        cell = {key: int(value) if value.isdigit() else value for key, value in pairs}
        made = tries_of(measure, arm, by_deployment, **cell)  # type: ignore[arg-type]
        numbers = [number for tries in by_deployment for number in range(len(tries))]
        rows += (
            dataclasses.replace(row, trial=f"{arm} {row.cell} {row.deployment} {number}")
            for row, number in zip(made, numbers, strict=True)
        )
    return rows


def claims_of(*scenarios: Scenario) -> dict[str, Claim]:
    """By their ids."""
    return {claim.id: claim for one in scenarios for claim in one.claims}


def verdict(claim: Claim, history: History) -> tuple[VerdictKind, str]:
    """The claim's, with its reason."""
    found = judge(claim, tries_in(history))
    return found.verdict, found.reason


def said(claim: Claim, history: History) -> str:
    """The finding's sentence."""
    return judge(claim, tries_in(history)).summary
