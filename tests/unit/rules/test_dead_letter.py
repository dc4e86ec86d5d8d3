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
SHOWN = {"retry_late_s": (0.0, 20.0), "consumption_count": (17.0, 16.0), "other_delay_s": (0.02, 2.0)}
"""What a try of a law or a comparison shows when the claim is true and when it is false; else it is the rule's own number."""


def _rows(part: Part, value: float) -> list[Tries]:
    return rows_of(part, value, against=2.0, deployments=2 if part.kind is Kind.FACT else 7)


def _shown(part: Part, *, holds: bool) -> float:
    own = part.if_true if holds else part.if_false
    return own if part.kind is Kind.FACT else SHOWN[part.of.measure][0 if holds else 1]


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=[f"{name}-{part.name}" for name, part in PARTS])
def test_tries_of_its_own_numbers_confirm_and_refute_a_part(claim: str, part: Part) -> None:
    assert judge_part(part, _rows(part, _shown(part, holds=True))).verdict is CONFIRMED
    assert judge_part(part, _rows(part, _shown(part, holds=False))).verdict is REFUTED


def test_a_retry_that_is_early_is_as_wrong_as_a_late_one() -> None:
    (part,) = [part for part in CLAIMS["TOPICS-08"].parts if part.name == "late"]
    assert judge_part(part, _rows(part, -4.0)).verdict is REFUTED


def test_what_times_out_is_judged_by_itself() -> None:
    claim = CLAIMS["TOPICS-08"]
    rows = [row for part in claim.parts for row in _rows(part, _shown(part, holds=part.name != "timed out twice"))]
    _, verdict, _, decisive, summary = judge(claim, rows)
    assert (verdict, decisive) == (REFUTED, "timed out twice")
    assert (
        "the second time after the second in none of 2 deployments, and became a dead letter in 2 of 2 deployments"
        in summary
    )
    assert summary.endswith("It holds in these scopes: what fails; a first time-out.")


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
