"""The kind *this run*: true or false of one history, which is never pooled with another one."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.verdicts.claims import judge
from analysis.verdicts.tries import HistoryTries, Try
from harness.model.findings import Finding
from harness.model.verdicts import Discard
from scenarios.own_load import OWN_LOAD

(NOTHING_LOST,) = (one for one in OWN_LOAD.claims if one.id == "nothing-lost")
UNTOLD = HistoryTries(
    trial="load",
    deployment="load",
    release="5.3.3",
    arm="baseline",
    cell={},
    measure="nothing lost",
    words="in order, 3 of 5 was [not] seen",
)


def _with(violations: float) -> HistoryTries:
    return dataclasses.replace(UNTOLD, tries=(Try.of("load", [(violations, False)]),))


def _judged(row: HistoryTries) -> tuple[str, str, float | None]:
    found = judge(NOTHING_LOST, [row])
    (part,) = found.parts
    assert (found.summary, part.words, part.verdict) == (row.words, row.words, found.verdict)
    return found.verdict, found.reason, part.estimate


def test_a_history_without_a_violation_confirms_and_the_least_one_refutes() -> None:
    assert _judged(_with(0)) == ("confirmed", "", 0)
    assert _judged(_with(0.3)) == ("refuted", "", 0.3)
    assert _judged(_with(7)) == ("refuted", "", 7)


def test_what_nobody_can_tell_is_undecided_and_damage_is_its_reason() -> None:
    assert _judged(UNTOLD) == ("undecided", "missing evidence", None)
    assert _judged(dataclasses.replace(UNTOLD, discarded=Discard.DAMAGED)) == ("undecided", "evidence damaged", None)


def test_nothing_is_inferred_from_one_history() -> None:
    found: Finding = judge(NOTHING_LOST, [_with(0)])
    (part,) = found.parts
    assert (part.kind, part.unit, part.relation, part.bound) == ("R", "messages", "<=", 0)
    assert (part.low, part.high, part.right, part.wrong, part.line, part.deployments) == (None,) * 6


@pytest.mark.parametrize("rows", [[], [_with(0), _with(0)]], ids=["none", "two"])
def test_histories_are_never_pooled(rows: list[HistoryTries]) -> None:
    with pytest.raises(ValueError, match="the one history of a run"):
        judge(NOTHING_LOST, rows)


def test_each_claim_of_a_load_is_of_this_kind_and_named_after_its_part() -> None:
    names = [(claim.id, claim.parts[0].name, claim.parts[0].kind) for claim in OWN_LOAD.claims]
    assert ("a-key-a-queue", "a key, a queue", "R") in names
    assert {kind for _, _, kind in names} == {"R"}
    assert len({claim for claim, _, _ in names}) == len(names) == 14
