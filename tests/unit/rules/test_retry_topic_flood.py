"""Each part of the flood's claims, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from analysis.verdicts.kinds import judge_part
from harness.model.rules import Part
from harness.model.verdicts import Reason, VerdictKind
from scenarios.retry_topic_flood import EXPIRES_S, OUT, SCENARIO
from tests.lib.tries import rows_of

CONFIRMED, REFUTED = VerdictKind.CONFIRMED, VerdictKind.REFUTED
CLAIMS = {claim.id: claim for claim in SCENARIO.claims}
PARTS = [(name, part) for name, claim in CLAIMS.items() for part in claim.parts]


@pytest.mark.parametrize(("claim", "part"), PARTS, ids=[f"{name}-{part.name}" for name, part in PARTS])
def test_tries_of_its_own_numbers_confirm_and_refute_a_part(claim: str, part: Part) -> None:
    assert judge_part(part, rows_of(part, part.if_true, deployments=3)).verdict is CONFIRMED
    assert judge_part(part, rows_of(part, part.if_false, deployments=3)).verdict is REFUTED


def test_one_cluster_of_full_size_decides_and_one_with_a_small_frame_does_not() -> None:
    for part in CLAIMS["TOPICS-02"].parts:
        found = judge_part(part, rows_of(part, part.if_true, deployments=1))
        full_size = part.of.arm == "incident-full-size"
        assert found.verdict is (CONFIRMED if full_size else VerdictKind.UNDECIDED)
        assert found.reason == ("" if full_size else Reason.TOO_FEW_DEPLOYMENTS)


def test_a_broker_that_one_name_server_still_lists_is_not_out() -> None:
    (part,) = [part for part in CLAIMS["TOPICS-01"].parts if part.name == "slave"]
    rows = rows_of(part, 55.0, deployments=3) + rows_of(part, 0.5, deployments=3, mark="other")
    assert judge_part(part, rows).verdict is VerdictKind.UNDECIDED


def test_one_cluster_does_not_decide_whether_a_slave_follows_its_master() -> None:
    (part,) = [part for part in CLAIMS["TOPICS-01"].parts if part.name == "slave"]
    assert judge_part(part, rows_of(part, 55.0, deployments=1)).reason == Reason.TOO_FEW_DEPLOYMENTS


def test_a_slave_that_falls_silent_as_its_master_is_refused_is_watched_until_it_was_out_as_long() -> None:
    (slave,) = [part for part in CLAIMS["TOPICS-01"].parts if part.name == "slave"]
    held_s = SCENARIO.phases_of(SCENARIO.arm(slave.of.arm)).hold_s_min
    assert held_s >= EXPIRES_S + OUT.if_true
