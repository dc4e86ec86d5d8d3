"""Each part of each claim, at the two numbers that its rule expects: it holds at one and does not hold at the other.

A claim holds where all of its parts do, and is undecided where one of its controls fails.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import pytest

import scenarios
from analysis.verdicts.claims import judge
from analysis.verdicts.events import tries_needed
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.tries import Tries
from harness.model.cells import ParameterValue
from harness.model.rules import Claim, Fold, Kind, Part, Role, Selection
from harness.model.verdicts import Reason, VerdictKind
from tests.lib.tries import Value, tries_of

DEPLOYMENTS = 5
SLOPE_OVER = (1, 2, 3, 4)
SCALE = 1000.0
"""What a ratio divides by: so much that a hiccup of the host moves it by nothing."""

PARTS = [(claim, part) for scenario in scenarios.ALL for claim in scenario.claims for part in claim.parts]


def _rows(selection: Selection, values: Sequence[Value], deployments: int, **cell: ParameterValue) -> list[Tries]:
    """Of each combination of the parameters that the selection allows, as a trial shows everything that is measured in it."""
    rows: list[Tries] = []
    for combination in itertools.product(*selection.where.values()):
        where: dict[str, ParameterValue] = dict(zip(selection.where, combination, strict=True)) | cell
        rows += tries_of(selection.measure, selection.arm, [values] * deployments, **where)  # type: ignore[arg-type]
    numbers = list(range(deployments * len(values))) * (len(rows) // (deployments * len(values)))
    return [
        dataclasses.replace(row, trial=f"{row.arm} {row.cell} {number}")
        for number, row in zip(numbers, rows, strict=True)
    ]


def _tries(part: Part, deployments: int) -> int:
    """As many of each deployment as the rule asks for on either side."""
    if part.fold is Fold.SHARE:
        return 20
    rates = {Kind.UNIVERSAL: part.rate_max, Kind.EXISTENCE: part.rate_min}
    return math.ceil(tries_needed(rates[part.kind]) / deployments) if part.kind in rates else 2


def _values(part: Part, expected: float, tries: int) -> Sequence[Value]:
    """Of the tries of a deployment, such that what is made of them is ``expected``."""
    if part.predicted is not None:
        return [part.predicted + expected] * tries
    if part.fold is Fold.SHARE:
        inside, outside = _inside(*part.within), _outside(*part.within)
        count = round(expected * tries)
        return [inside] * count + [outside] * (tries - count)
    return [expected * (SCALE if part.fold is Fold.RATIO else 1)] * tries


def _inside(low: float | None, high: float | None) -> float:
    """Away from the ends, since the host's hiccup may have moved a value."""
    if low is not None and high is not None:
        return (low + high) / 2
    return low * 2 + 1 if low is not None else (high or 0.0) / 2


def _outside(low: float | None, high: float | None) -> float:
    return high * 2 + 1 if high is not None else (low or 0.0) / 2 - 1


def tries_that_show(part: Part, expected: float, tries: int = 0) -> list[Tries]:
    """A run's tries of the part, at the number that its rule expects if it is true, or if it is false."""
    deployments = max(DEPLOYMENTS, part.deployments_min)
    tries = tries or _tries(part, deployments)
    if part.fold is Fold.SLOPE:
        return [row for at in SLOPE_OVER for row in _rows(part.of, [expected * at], deployments, **{part.slope_on: at})]
    rows = _rows(part.of, _values(part, expected, tries), deployments)
    if part.against is None:
        return rows
    return rows + _rows(part.against, [SCALE if part.fold is Fold.RATIO else part.if_false] * tries, deployments)


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=lambda one: one.id if isinstance(one, Claim) else one.name)
def test_a_part_holds_at_one_of_its_numbers_and_not_at_the_other(claim: Claim, part: Part) -> None:
    holds, fails = (judge_part(part, tries_that_show(part, number)) for number in (part.if_true, part.if_false))
    assert (holds.verdict, fails.verdict) == (VerdictKind.CONFIRMED, VerdictKind.REFUTED), (holds, fails)


CLAIMS = [claim for scenario in scenarios.ALL for claim in scenario.claims]


def shown(claim: Claim, fails: str = "") -> list[Tries]:
    """Tries at which every part holds but for the one named; of parts that ask for the same tries, that one's or the first's."""
    parts = sorted(claim.parts, key=lambda part: part.name != fails)
    tries = max(_tries(part, DEPLOYMENTS) for part in parts)
    expected = {part.name: part.if_false if part.name == fails else part.if_true for part in parts}
    rows = [row for part in parts for row in tries_that_show(part, expected[part.name], tries)]
    first: dict[tuple[object, ...], Tries] = {}
    for row in rows:
        first.setdefault((row.measure, row.arm, row.trial, str(row.params)), row)
    return list(first.values())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_holds_when_all_of_its_parts_do(claim: Claim) -> None:
    found = judge(claim, shown(claim))
    assert (found.verdict, found.reason) == (VerdictKind.CONFIRMED, "")


@pytest.mark.parametrize(
    ("claim", "part"),
    [(c, p) for c, p in PARTS if p.role == Role.CONTROL],
    ids=lambda one: one.id if isinstance(one, Claim) else one.name,
)
def test_a_claim_whose_control_fails_is_undecided(claim: Claim, part: Part) -> None:
    found = judge(claim, shown(claim, part.name))
    assert (found.verdict, found.reason) == (VerdictKind.UNDECIDED, Reason.CONTROL_FAILED)
