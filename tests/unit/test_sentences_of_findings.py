"""The sentence of each claim's finding is whole, whatever its parts show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest

import scenarios
from analysis.verdicts.claims import summary, verdict_of
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.tries import Tries
from harness.model.findings import PartResult
from harness.model.rules import NOT_SO, PLACEHOLDER, Claim, Fold, Kind, Part
from tests.lib.tries import Value, tries_of

CLAIMS = [claim for scenario in scenarios.ALL for claim in scenario.claims]

SO, NOT_IT = "so", "not so"
SHOWN: dict[str, list[list[str | None]]] = {
    "in all": [[SO]] * 6,
    "in none": [[NOT_IT]] * 6,
    "in some": [[SO], [NOT_IT], [SO], [SO], [NOT_IT]],
    "in one deployment": [[SO]],
    "in none of one": [[NOT_IT]],
    "of several tries": [[SO, NOT_IT, SO], [SO, SO, SO]],
    "in part unmeasured": [[SO], [None], [NOT_IT], [None], [SO], [SO]],
    "unmeasured": [[None]] * 3,
    "no trial": [],
}
"""By what it shows: the tries of each deployment."""


def _values(part: Part) -> dict[str | None, Value]:
    """One try of which it is so, and one of which it is not."""
    low, high = part.within
    if part.fold is Fold.SHARE:
        inside = low if low is not None else high
        return {SO: inside, NOT_IT: low - 1 if low is not None else (high or 0.0) + 1, None: None}
    first = part.predicted or 0.0
    return {SO: first + part.if_true, NOT_IT: first + part.if_false, None: None}


def _rows(part: Part, shown: Sequence[Sequence[str | None]]) -> list[Tries]:
    values = _values(part)
    by_deployment = [[values[one] for one in tries] for tries in shown]
    where: Any = {name: allowed[0] for name, allowed in part.of.where.items()}
    rows = [] if part.slope_on else tries_of(part.of.measure, part.of.arm, by_deployment, **where)
    for x in (200, 1000) if part.slope_on else ():
        on_it = [[None if one is None else x * one for one in tries] for tries in by_deployment]
        rows += tries_of(part.of.measure, part.of.arm, on_it, **{**where, part.slope_on: x})
    if part.against is not None:
        beside: Any = {name: allowed[0] for name, allowed in part.against.where.items()}
        control = 1.0 if part.fold is Fold.RATIO else part.if_false
        rows += tries_of(part.against.measure, part.against.arm, [[control]] * len(shown), mark="beside", **beside)
    return rows


def _part(part: Part, shown: str) -> PartResult:
    return judge_part(part, _rows(part, SHOWN[shown]))


def _said(claim: Claim, shown: Sequence[str]) -> str:
    """The sentence of a claim whose parts show these in turn."""
    parts = [_part(part, one) for part, one in zip(claim.parts, itertools.cycle(shown), strict=False)]
    beside = [_part(part, shown[0]) for part in claim.beside]
    return summary(claim, parts, *verdict_of(parts), beside).replace("\N{NARROW NO-BREAK SPACE}", " ")


KINDS = [(one,) for one in SHOWN] + [("in all", "unmeasured"), ("no trial", "in some"), ("in none", "in all")]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_sentence_has_each_part_that_it_names_whatever_the_parts_show(claim: Claim) -> None:
    for kinds in KINDS:
        said = _said(claim, kinds)
        assert said.endswith("."), said
        assert not re.search(r"[{}]", said), said


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_is_denied_is_a_fact(claim: Claim) -> None:
    plain = {part.name for part in claim.parts if part.kind is Kind.FACT and part.predicted is None}
    assert {name for form, name in PLACEHOLDER.findall(claim.summary) if form == NOT_SO} <= plain
