"""Committed transactions that the pool loses, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.pool_loses_transaction_commits import EACH, OFTEN, RATES_HZ, SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

REFUTED, UNSURE = VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR = (f"X-pool-loses-transaction-commits-{number:02}" for number in range(1, 5))


def _late(arm: str, share: float, rate_hz: int = 50) -> History:
    return {f"committed_late_share {arm} rate_hz={rate_hz}": [[share]] * 2}


def _takes(ms: float) -> History:
    return {f"transaction_ms {EACH} rate_hz=50": [[ms]] * 2}


AS_EXPECTED: History = {
    **_late("baseline", 0), **_late("incident", 1, 2), **_late("incident", 0.99), **_late("incident", 0.96, 400),
    **_late(OFTEN, 0.98), **_late(EACH, 0.01), **_takes(2),
}  # fmt: skip

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    **{(ONE, f"at {rate} a second"): ({}, _late("incident", 0, rate)) for rate in RATES_HZ},
    (ONE, "without the pool"): ({}, _late("baseline", 1)),
    (TWO, "late"): (_late(OFTEN, 0.02), {}),
    (TWO, "by default"): ({}, _late("incident", 0)),
    (THREE, "late"): ({}, _late(EACH, 0.95)),
    (THREE, "price"): ({}, _takes(200)),
    (THREE, "by default"): ({}, _late("incident", 0)),
    (FOUR, "late"): ({}, _late("baseline", 0.95)),
}
"""By part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_EXPECTED, PARTS)


@pytest.mark.parametrize("release", ["4.6.0", "4.9.7", "5.3.3", "5.5.0"])
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(release: str) -> None:
    for claim in CLAIMS.values():
        assert verdict(claim, AS_EXPECTED) == (claim.expected[release].verdict, ""), claim.id


def test_one_rate_at_which_they_come_refutes_what_is_said_of_all() -> None:
    assert verdict(CLAIMS[ONE], {**AS_EXPECTED, **_late("incident", 0, 2)})[0] is REFUTED


def test_a_setting_shows_nothing_where_they_come_anyway() -> None:
    for claim in (TWO, THREE):
        assert verdict(CLAIMS[claim], {**AS_EXPECTED, **_late("incident", 0)}) == (UNSURE, Reason.CONTROL_FAILED)


def test_the_sentence_says_in_how_many_deployments() -> None:
    assert said(CLAIMS[FOUR], AS_EXPECTED) == (
        "Without the pool committed transactions came within 5 s in 2 of 2 deployments."
    )
