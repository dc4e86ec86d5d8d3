"""Claims of ordered consumption on hand-made tries: for each part tries that confirm it and tries that refute it."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.verdicts.claims import judge
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.tries import Tries
from harness.model.rules import Claim, Kind, Part
from harness.model.verdicts import Reason, VerdictKind
from scenarios import (
    broker_leaves_keys_move,
    ordered_lock_handover,
    ordered_lock_ratio,
    ordered_lock_signs,
    ordered_migration,
)
from tests.lib.tries import Value, tries_of

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED

SCENARIOS = (
    ordered_lock_handover.SCENARIO,
    ordered_lock_ratio.SCENARIO,
    broker_leaves_keys_move.SCENARIO,
    ordered_migration.SCENARIO,
)
CLAIMS = {claim.id: claim for scenario in SCENARIOS for claim in scenario.claims}

SHOWN: dict[tuple[str, str], tuple[Value, Value]] = {
    ("ORDER-01", "hand-over"): (51.2, 1.4),
    ("ORDER-01", "lock's age"): ((60.1, 72.5), (60.1, 20.3)),
    ("ORDER-01", "without a fault"): (0.4, 21.0),
    ("ORDER-02", "by default"): ((60.2, 73.0), (15.4, 61.0)),
    ("ORDER-02", "set by -D"): ((15.6, 34.0), (20.0, 60.4)),
    ("ORDER-02", "set as a variable"): ((15.6, 34.0), (60.4, 75.0)),
    ("ORDER-03", "by default"): (20.01, 30.0),
    ("ORDER-03", "with 5000"): (5.01, 20.0),
    ("ORDER-04", "all queues in lock.log"): ((2, 3, 2), (2, 0, 2)),
    ("ORDER-04", "with our logging"): (2, 0),
    ("ORDER-05", "granted by another"): (1, 0),
    ("ORDER-05", "refused by its own"): (0, 1),
    ("ORDER-06", "every queue within 3 s"): ((0.6, 1.4, 2.1), (0.6, 1.4, 63.4)),
    ("ORDER-07", "hand-over"): (13.7, 20.7),
    ("ORDER-09", "two at work"): ((0, 0, 0), (0, 8600, 0)),
    ("ORDER-09", "disorder in it"): (0, 3),
    ("ORDER-09", "disorder after a kill"): (0, 1),
    ("ORDER-11", "a storeerr.log"): ((1, 1), (0, 0)),
    ("ORDER-11", "lines in lock.log"): ((365, 420), (0, 0)),
    ("ORDER-14", "wait between the lines"): (0.95, 0.58),
    ("ORDER-14", "threads parked"): ((1, 1, 0.98), (0.5, 0.4, 0.5)),
    ("ORDER-15", "threads parked"): ((1, 1, 0.98), (0.5, 0.4, 0.5)),
    ("ORDER-15", "longest stop"): (221, 48_000),
    ("ORDER-15", "messages late"): ((74, 96), (0, 2)),
    ("ORDER-16", "first lock"): ((1, 1, 1), (1, 0, 1)),
    ("ORDER-16", "take-over"): ((1, 1, 1), (1, 0, 1)),
    ("ORDER-17", "granted to another group"): (1, 0),
    ("ORDER-17", "refused to its own"): (0, 1),
    ("ORDER-18", "first round"): (1.02, 20.1),
    ("ORDER-18", "broadcasting"): (0, 6),
    ("ORDER-18", "renewed"): (0, 1),
    **{("ORDER-19", part.name): ((1, 1, 1), (1, 0, 0)) for part in ordered_lock_signs.ORDER_19.parts},
    ("ORDER-08", "three times"): (0, 1),
    ("ORDER-08", "twice"): (1, 0),
    ("ORDER-10", "computed queue"): (1, 0),
    ("ORDER-10", "third broker"): (2, 1),
    ("ORDER-10", "queue with id 5"): (5, 4),
    ("ORDER-12", "spread"): (24, 1),
    ("ORDER-12", "one queue"): (1, 2),
    ("ORDER-12", "one queue always"): (1, 2),
    ("ORDER-13", "ordinary"): (2, 1),
    ("ORDER-13", "order topic"): (1, 2),
    ("ORDER-13", "fixed queue"): (1, 2),
    ("ORDER-13", "failed"): (0.48, 0.0),
    ("ORDER-20", "hand-over"): (51.2, 1.4),
    ("ORDER-20", "lock's age"): ((60.1, 72.5), (60.1, 20.3)),
    ("ORDER-20", "unlocked"): (0, 6),
    ("ORDER-20", "in shutdown()"): ((36.1, 54.0), (36.1, 9.2)),
    ("ORDER-21", "longest delay"): ((54.7, 54.2), (1.4, 1.2)),
    ("ORDER-21", "without a fault"): (0.4, 21.0),
}
"""What each try of a part shows, as a run would: first where the claim holds, then where it does not."""

DEPLOYMENTS, TRIES = 5, 15
"""As many as "may happen" needs to be refuted, 75 tries."""


def rows(part: Part, value: Value, *, deployments: int = DEPLOYMENTS, tries: int = TRIES) -> list[Tries]:
    """Every try shows the value; those that it is compared with show none of it."""

    def of(selection: object, shown: Value) -> list[Tries]:
        where = {name: allowed[0] for name, allowed in selection.where.items()}  # type: ignore[attr-defined]
        found = tries_of(selection.measure, selection.arm, [[shown] * tries] * deployments, **where)  # type: ignore[attr-defined]
        # A trial shows everything that is measured in it.
        return [dataclasses.replace(row, trial=f"{row.arm}-{row.cell}-{place}") for place, row in enumerate(found)]

    return of(part.of, value) + (of(part.against, part.if_false) if part.against else [])


def shown(claim: Claim, **values: Value) -> list[Tries]:
    """Tries that confirm every part of the claim, but for those parts that ``values`` names (``_`` for a blank)."""
    given = {name.replace("_", " "): value for name, value in values.items()}
    return [row for part in claim.parts for row in rows(part, given.get(part.name, SHOWN[claim.id, part.name][0]))]


def test_each_part_has_both_histories() -> None:
    assert set(SHOWN) == {(claim.id, part.name) for claim in CLAIMS.values() for part in claim.parts}


@pytest.mark.parametrize(("claim", "part"), SHOWN, ids=lambda value: value)
def test_each_part_is_confirmed_by_the_one_and_refuted_by_the_other(claim: str, part: str) -> None:
    judged = next(one for one in CLAIMS[claim].parts if one.name == part)
    holds, fails = SHOWN[claim, part]
    assert judge_part(judged, rows(judged, holds)).verdict is CONFIRMED
    assert judge_part(judged, rows(judged, fails)).verdict is REFUTED


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_full_run_has_as_many_deployments_as_each_part_asks_for(claim: Claim) -> None:
    scenario = next(one for one in SCENARIOS if claim in one.claims)
    for part in claim.parts:
        arms = {arm.name: arm for arm in scenario.arms}
        if part.of.arm not in arms or part.scope:
            continue
        arm = arms[part.of.arm]
        trials = arm.trials or scenario.budget.trials
        needed = {Kind.FACT: 2, Kind.EXISTENCE: 1, Kind.UNIVERSAL: part.deployments_min or 5}.get(part.kind, 5)
        assert part.role == "control" or trials >= needed, (claim.id, part.name)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_claim_is_confirmed_when_all_of_its_parts_are(claim: Claim) -> None:
    assert judge(claim, _once(shown(claim)))[1] is CONFIRMED


def _once(found: list[Tries]) -> list[Tries]:
    """Parts that share a measure and an arm share its tries."""
    return list({(row.measure, row.arm, row.trial, str(row.params)): row for row in found}.values())


def test_one_of_105_owners_that_waits_for_a_lock_refutes_at_once() -> None:
    claim = CLAIMS["ORDER-06"]
    owners: list[list[Value]] = [[(0.8, 1.4, 1.9)] * 21 for _ in range(5)]
    assert judge(claim, tries_of("handover_s", "fix-graceful-shutdown", owners))[1] is CONFIRMED
    owners[1][9] = (0.8, 63.4)
    _, verdict, _, _, said = judge(claim, tries_of("handover_s", "fix-graceful-shutdown", owners))
    assert verdict is REFUTED
    assert "1 of 105 owners (" in said
    assert "at worst 63.4" in said


def test_eight_of_42_owners_that_overlapped_refute_however_few_they_are() -> None:
    claim = CLAIMS["ORDER-09"]
    busy: list[Value] = [0, 0, 0, 0, 0, 0, *[8600] * 8]
    owners: list[list[Value]] = [[0] * 14, busy, [0] * 14]
    overlaps = tries_of("overlap_ms", "incident-slow-shutdown", owners)
    assert judge(claim, overlaps)[1] is REFUTED


def test_a_lock_that_its_own_broker_granted_shows_nothing_of_other_brokers() -> None:
    for name in ("ORDER-05", "ORDER-17"):
        claim = CLAIMS[name]
        assert judge(claim, shown(claim, refused_by_its_own=1, refused_to_its_own=1))[1:3] == (
            UNDECIDED,
            Reason.CONTROL_FAILED,
        )


def test_causes_of_a_standstill_are_undecided_as_long_as_some_are_not_made() -> None:
    claim = CLAIMS["ORDER-19"]
    told = [row for part in claim.parts[:3] for row in rows(part, 1)]
    assert judge(claim, told)[1:3] == (UNDECIDED, Reason.NOT_EXERCISED)
    assert judge(claim, shown(claim))[1] is CONFIRMED


def test_one_cause_that_is_not_told_refutes_and_the_sentence_says_which_are() -> None:
    claim = CLAIMS["ORDER-19"]
    missed = claim.parts[4]
    _, verdict, _, decisive, said = judge(
        claim, [row for part in claim.parts for row in rows(part, int(part != missed), deployments=8)]
    )
    assert (verdict, decisive) == (REFUTED, "cause: incident-throttled-disk")
    assert "with a full collection, for 0\N{NARROW NO-BREAK SPACE}% of owners (in each of 8 deployments" in said


def test_a_key_that_moved_in_the_baseline_proves_nothing_of_a_broker_that_left() -> None:
    claim = CLAIMS["ORDER-13"]
    ordinary = claim.parts[0]
    assert ordinary.against is not None
    moved = rows(dataclasses.replace(ordinary, against=None), 2)
    without = tries_of("queues_of_key_count", "baseline", [[2] * TRIES] * DEPLOYMENTS, send="hash")
    assert judge_part(ordinary, moved + without).reason == Reason.CONTROL_FAILED
