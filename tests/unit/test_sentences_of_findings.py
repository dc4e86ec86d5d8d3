"""The sentences of findings: every claim's, whatever its parts show, reads as English."""

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
from mqlab.recorded import committed_ledger
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

WRECKAGE = {
    r"\bnone in\b": '"none in 36 stalls" is no adverb: sends were refused in none of 36 stalls',
    r"\b(in|of|for|by|to|from|at|with|than|after) in\b": "a preposition before what begins with one",
    r"\b(in|of|for|by|to|from|at|with|than|and|or|times|was|were|of the) ?[,;:.]": "a clause that ends before its noun",
    r": in (none|all|\d)": "a label in place of a verb",
    r"\b(no|nothing|never|nobody|neither|nor|not|none(?! of \d))\b[^,;:.()\[\]]* in none of": "a denial that is denied",
    r"\babouts\b|serverss": "no plural",
    r"\bof 1 [a-z]{3,}s\b": "one of several",
    r" {2}| [,;.]|\.\.|,,|;;|\(\)|\[\]": "punctuation",
    r"[{}]": "a part that is not named",
    r"\bstranger": "a private word",
}
"""What no sentence may have, and why."""


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
def test_a_sentence_reads_as_english_whatever_the_parts_show(claim: Claim) -> None:
    for kinds in KINDS:
        said = _said(claim, kinds)
        for wreckage, why in WRECKAGE.items():
            assert not re.search(wreckage, said, re.IGNORECASE), f"{why}: {said}"
        assert re.fullmatch(r"([A-Z\d\[\N{MINUS SIGN}].*\.)", said), said
        assert all(said.count(one) == said.count(other) for one, other in ("()", "[]")), said


def test_the_ledger_s_sentences_read_so_too() -> None:
    for line in committed_ledger():
        assert [why for wreckage, why in WRECKAGE.items() if re.search(wreckage, line.summary, re.IGNORECASE)] == [], (
            line
        )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_what_is_denied_is_a_fact(claim: Claim) -> None:
    plain = {part.name for part in claim.parts if part.kind is Kind.FACT and part.predicted is None}
    assert {name for form, name in PLACEHOLDER.findall(claim.summary) if form == NOT_SO} <= plain
