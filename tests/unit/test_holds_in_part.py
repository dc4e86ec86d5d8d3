"""A claim that some of its scopes bear out: it is refuted as worded, and is said to hold in part."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.verdicts.words import verdict_words
from harness.model.findings import PartResult
from harness.model.verdicts import (
    HOLDS_IN_PART,
    REFUTED_IN_PART,
    Reason,
    VerdictKind,
    scopes_not_settled,
    scopes_that_hold,
    status_of,
)
from mqlab.ask.recorded import committed_ledger

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
PART = PartResult(name="it", verdict=CONFIRMED, relation="<=", bound=1)


def part(verdict: VerdictKind, scope: str = "", role: str = "claim") -> PartResult:
    return dataclasses.replace(PART, verdict=verdict, scope=scope, role=role)


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([part(CONFIRMED, "one broker"), part(REFUTED, "three")], HOLDS_IN_PART),
        ([part(CONFIRMED, "one broker"), part(REFUTED, "three"), part(CONFIRMED)], HOLDS_IN_PART),
        # What speaks of no scope is of all of them.
        ([part(CONFIRMED, "one broker"), part(REFUTED, "three"), part(REFUTED)], "refuted"),
        # A scope holds where all of its parts do.
        ([part(CONFIRMED, "one broker"), part(REFUTED, "one broker")], "refuted"),
        ([part(UNDECIDED, "one broker"), part(REFUTED, "three")], REFUTED_IN_PART),
        ([part(UNDECIDED, "three"), part(REFUTED, "three")], "refuted"),
        ([part(UNDECIDED, "one broker"), part(REFUTED, "three"), part(REFUTED)], "refuted"),
        ([part(CONFIRMED, "one broker", role="control"), part(REFUTED, "three")], "refuted"),
        ([part(REFUTED)], "refuted"),
        # Refuted by what was seen before its present rule.
        ([part(CONFIRMED, "one broker")], "refuted"),
    ],
)
def test_a_claim_holds_in_part_where_scopes_alone_refute_it_and_another_bears_it_out(
    parts: list[PartResult], status: str
) -> None:
    assert status_of(REFUTED, parts) == status
    assert status_of(UNDECIDED, parts) == "undecided"


def test_the_scopes_that_hold_are_named_in_their_order() -> None:
    parts = [part(CONFIRMED, "a"), part(REFUTED, "b"), part(CONFIRMED, "c"), part(UNDECIDED, "c"), part(CONFIRMED, "d")]
    assert scopes_that_hold(parts) == ("a", "d")


def test_the_longer_wait_of_the_article_holds_for_the_stalls_that_it_is_advised_for() -> None:
    found = [line for line in committed_ledger() if (line.claim, line.backend) == ("BUSY-12", "local")]
    decided = [line for line in found if line.verdict is not UNDECIDED]
    assert {line.status for line in decided} == {HOLDS_IN_PART}
    where = "It holds in these scopes: a stall of 250 ms; a stall of 450 ms; a stall of 700 ms."
    assert all(line.summary.endswith(where) for line in decided)


def test_a_refuted_claim_says_which_scopes_it_leaves_open_and_why() -> None:
    lost = dataclasses.replace(part(UNDECIDED, "one broker"), reason=str(Reason.DAMAGED))
    parts = (
        lost,
        part(CONFIRMED, "one broker"),
        part(REFUTED, "three"),
        part(UNDECIDED, "three"),
        part(CONFIRMED, "two"),
    )
    assert scopes_not_settled(parts) == ("one broker (evidence damaged)",)
    line = next(line for line in committed_ledger() if line.verdict is REFUTED)
    refuted = dataclasses.replace(line, parts=parts[:3], expected=REFUTED, reason="")
    assert verdict_words(refuted) == "refuted in part, not settled where one broker (evidence damaged)"
    assert verdict_words(dataclasses.replace(refuted, parts=parts[2:3])) == "refuted"
    assert not dataclasses.replace(refuted, verdict=UNDECIDED).not_settled


def test_ordered_sends_of_the_oldest_release_are_left_open_where_they_are_synchronous() -> None:
    (found,) = (line for line in committed_ledger() if line.cell()[:3] == ("SENDS-05", "4.6.0", "local"))
    assert (found.status, found.not_settled) == (REFUTED_IN_PART, ("synchronous (unverified counterexample)",))
