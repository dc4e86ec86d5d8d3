"""Each part of the dead letters' claims, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from analysis.verdicts.claims import judge
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.tries import Tries
from harness.model.rules import Kind, Part
from harness.model.verdicts import Reason, VerdictKind
from scenarios.dead_letter import SCENARIO
from tests.lib.tries import rows_of

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = {claim.id: claim for claim in SCENARIO.claims}
PARTS = [(name, part) for name, claim in CLAIMS.items() for part in claim.parts]
FALSE_OF = {"retry_late_s": 20.0, "consumption_count": 16.0, "other_delay_s": 2.0}
"""What a try shows when the claim is false, where that is not the rule's own number."""


def _rows(part: Part, value: float) -> list[Tries]:
    return rows_of(part, value, against=2.0, deployments=2 if part.kind is Kind.FACT else 7)


def _true(part: Part) -> float:
    return {"other_delay_s": 0.02, "consumption_count": 17.0}.get(part.of.measure, part.if_true)


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=[f"{name}-{part.name}" for name, part in PARTS])
def test_tries_of_its_own_numbers_confirm_and_refute_a_part(claim: str, part: Part) -> None:
    assert judge_part(part, _rows(part, _true(part))).verdict is CONFIRMED
    assert judge_part(part, _rows(part, FALSE_OF.get(part.of.measure, part.if_false))).verdict is REFUTED


def test_a_retry_that_is_early_is_as_wrong_as_a_late_one() -> None:
    (part,) = [part for part in CLAIMS["TOPICS-08"].parts if part.name == "late"]
    assert judge_part(part, _rows(part, -4.0)).verdict is REFUTED


def test_a_topic_that_was_there_before_proves_nothing() -> None:
    claim = CLAIMS["TOPICS-04"]
    rows = [row for part in claim.parts for row in _rows(part, 1.0)]
    _, verdict, reason, decisive, _ = judge(claim, rows)
    assert (verdict, reason, decisive) == (UNDECIDED, Reason.CONTROL_FAILED, "before the group started")


def test_the_sentence_says_in_how_many_deployments() -> None:
    claim = CLAIMS["TOPICS-06"]
    rows = [row for part in claim.parts for row in _rows(part, float(part.name == "topic"))]
    _, verdict, _, _, summary = judge(claim, rows)
    assert verdict is REFUTED
    assert summary == (
        "The retry topic was back in 2 of 2 deployments; a retry that was due was kept in none of 2 deployments, and one that was "
        "due later in none of 2 deployments; the next retry was reached in none of 2 deployments."
    )
