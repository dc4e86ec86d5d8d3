"""Consumers of a broker that restarts, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.releases import RELEASES
from scenarios.restarted_broker_forgets_consumers import (
    GROUPS,
    KNOWN,
    NEW_CLIENT,
    OFTEN,
    OFTEN_BY_DEFAULT,
    OFTEN_HZ,
    SCENARIO,
    USUAL_HZ,
)
from tests.lib.histories import History, claims_of, part, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (
    f"X-restarted-broker-forgets-consumers-{number:02}" for number in range(1, 8)
)
TRIALS = {arm.name: arm.trials for arm in SCENARIO.arms}


def _is(measure: str, arm: str, value: float) -> History:
    """One value a deployment, of which there are as many as the arm has trials."""
    return {f"{measure} {arm}": [[value]] * TRIALS[arm]}


def _groups(measure: str, arm: str, value: float, first: float | None = None, times: int = 1) -> History:
    """One value a group; the very first may be another one."""
    tries = [[value] * GROUPS for _ in range(TRIALS[arm] * times)]
    tries[0][0] = value if first is None else first
    return {f"{measure} {arm}": tries}


OF_4X: History = {
    **_is("slowest_again_s", "baseline", 0.01), **_is("median_again_s", "baseline", 0.01), **_is("median_again_s", KNOWN, 27),
    **_groups("again_s", KNOWN, 27), **_groups("again_s", NEW_CLIENT, 3), **_groups("again_s", OFTEN_BY_DEFAULT, 4, first=29),
    **_is("median_again_s", OFTEN, 28), **_is("heartbeats_per_s", OFTEN, OFTEN_HZ),
    **_is("heartbeats_per_s", NEW_CLIENT, USUAL_HZ),
    **_groups("again_s", "baseline", 0.01), **_groups("again_s", "incident", 4, first=29),
    **_groups("doubled_elsewhere_count", "baseline", 0), **_groups("doubled_elsewhere_count", "incident", 0, first=12),
}  # fmt: skip
OF_5X: History = {**OF_4X, **_is("median_again_s", KNOWN, 4), **_groups("again_s", KNOWN, 4)}

PARTS: dict[tuple[str, str], History] = {
    (ONE, "half"): _groups("again_s", KNOWN, 4),
    (ONE, "without a restart"): _is("median_again_s", "baseline", 27),
    (TWO, "waits"): _groups("again_s", "incident", 4, times=3),
    (THREE, "half"): _is("median_again_s", OFTEN, 28),
    (THREE, "price"): _is("heartbeats_per_s", OFTEN, USUAL_HZ),
    (THREE, "by default"): _is("median_again_s", KNOWN, 4),
    (FOUR, "half"): _groups("again_s", NEW_CLIENT, 27),
    (FOUR, "price"): _is("heartbeats_per_s", NEW_CLIENT, OFTEN_HZ),
    (FOUR, "its own client"): _groups("again_s", KNOWN, 4),
    (FIVE, "twice"): _groups("doubled_elsewhere_count", "incident", 0, times=3),
    (SIX, "slowest"): _is("slowest_again_s", "baseline", 28),
    (SIX, "twice"): _groups("doubled_elsewhere_count", "baseline", 40),
    (SEVEN, "waits"): _groups("again_s", OFTEN_BY_DEFAULT, 4, times=3),
}
"""By part what is changed to refute it."""
CONFIRMS: dict[tuple[str, str], History] = {(THREE, "half"): _is("median_again_s", OFTEN, 4)}
"""By part what has to be changed to confirm it, where something has."""


def test_no_part_is_left_out() -> None:
    assert set(PARTS) == {(claim.id, one.name) for claim in CLAIMS.values() for one in claim.parts}


@pytest.mark.parametrize(("claim", "name"), PARTS)
def test_a_part_is_confirmed_and_refuted(claim: str, name: str) -> None:
    found = [
        part(CLAIMS[claim], name, {**OF_4X, **change}).verdict
        for change in (CONFIRMS.get((claim, name), {}), PARTS[claim, name])
    ]
    assert found == [CONFIRMED, REFUTED]


@pytest.mark.parametrize("release", RELEASES)
def test_clients_that_do_as_their_code_says_give_what_is_expected(release: str) -> None:
    for claim in CLAIMS.values():
        if SCENARIO.asks(claim, release):
            history = OF_4X if release.startswith("4.") else OF_5X
            assert verdict(claim, history) == (claim.expected[release].verdict, ""), claim.id


def test_a_cure_shows_nothing_where_nobody_waited_without_it() -> None:
    assert not SCENARIO.asks(CLAIMS[FOUR], "5.5.0")
    assert verdict(CLAIMS[FOUR], OF_5X) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_groups_that_wait_without_a_restart_say_nothing_of_one() -> None:
    waits = _groups("again_s", "baseline", 0.01, first=40)
    assert verdict(CLAIMS[TWO], {**OF_4X, **waits})[0] is UNDECIDED


def test_the_sentence_says_who_waited() -> None:
    assert said(CLAIMS[ONE], OF_4X) == (
        "After the restart, 100\N{NARROW NO-BREAK SPACE}% of groups (in each of 5 deployments of 8 groups) waited for 10 s or more."
    )


def test_four_of_eight_groups_are_half_of_them() -> None:
    half = [[27.0] * 4 + [4.0] * 4] * TRIALS[KNOWN]
    assert part(CLAIMS[ONE], "half", {**OF_4X, f"again_s {KNOWN}": half}).verdict is CONFIRMED
    fewer = [[27.0] * 3 + [4.0] * 5] * TRIALS[KNOWN]
    assert part(CLAIMS[ONE], "half", {**OF_4X, f"again_s {KNOWN}": fewer}).verdict is REFUTED
