"""Each part of the claims on queue numbers, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.verdicts.claims import judge
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.tries import Tries
from harness.model.rules import Kind, Part
from harness.model.verdicts import Reason, VerdictKind
from scenarios.queue_number_mismatch import GROUPS_IN_ORDER, IN_ORDER, SCENARIO
from tests.lib.histories import claims_of
from tests.lib.tries import Value, tries_of

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
PARTS = [(name, part) for name, claim in CLAIMS.items() for part in claim.parts]
DEPLOYMENTS = 5


def _rows(part: Part, value: float) -> list[Tries]:
    """As many groups as the scenario has, on one broker and on three; nothing happens in the arm that is compared with."""
    rows: list[Tries] = []
    for selection, number in ((part.of, value), (part.against, 0.0)):
        if selection is not None:
            where: dict[str, Any] = {name: values[0] for name, values in selection.where.items()}
            groups: list[Value] = [number] * (2 * GROUPS_IN_ORDER)
            rows += tries_of(selection.measure, selection.arm, [groups] * DEPLOYMENTS, **where)
    return rows


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=[f"{name}-{part.name}" for name, part in PARTS])
def test_tries_of_its_own_numbers_confirm_and_refute_a_part(claim: str, part: Part) -> None:
    assert judge_part(part, _rows(part, part.if_true)).verdict is CONFIRMED
    assert judge_part(part, _rows(part, part.if_false)).verdict is REFUTED


def _members(second: dict[int, float]) -> list[Tries]:
    part = CLAIMS["QUEUES-03"].parts[0]
    return [
        row
        for brokers, share in second.items()
        for row in tries_of(
            "member_share", part.of.arm, [[share] * 5] * 2, mark=str(brokers), brokers=brokers, member="second"
        )
    ]


def test_a_second_member_with_a_third_on_three_brokers_refutes_and_one_broker_is_where_it_holds() -> None:
    _, verdict, _, _, summary = judge(CLAIMS["QUEUES-03"], _members({1: 0.0, 3: 1 / 3}))
    assert verdict is REFUTED
    assert summary.endswith("It holds in this scope: brokers: 1.")


def test_one_broker_alone_says_nothing_of_three() -> None:
    assert judge(CLAIMS["QUEUES-03"], _members({1: 0.0}))[1] is UNDECIDED


def _in_order(by_deployment: list[list[Value]], proof: str | None = None) -> list[Tries]:
    return tries_of("stranded_count", IN_ORDER, by_deployment, proof=proof, moment="held", brokers=1)


def test_a_group_with_a_stranded_message_after_shrinking_in_order_refutes() -> None:
    (part,) = (part for part in CLAIMS["QUEUES-04"].parts if part.name == "in order")
    assert part.kind is Kind.UNIVERSAL
    clean: list[Value] = [0] * (2 * GROUPS_IN_ORDER)
    assert judge_part(part, _in_order([clean] * 5)).verdict is CONFIRMED
    assert judge_part(part, _in_order([clean] * 4 + [[*clean[1:], 53]])).verdict is REFUTED
    unverified = judge_part(part, _in_order([clean] * 4 + [[*clean[1:], 53]], proof=""))
    assert (unverified.verdict, unverified.reason) == (UNDECIDED, Reason.UNVERIFIED)
    few = judge_part(part, _in_order([clean] * 4))
    assert (few.verdict, few.reason) == (UNDECIDED, Reason.TOO_FEW_TRIES)
