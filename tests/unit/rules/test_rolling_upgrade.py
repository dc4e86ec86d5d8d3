"""Each part of the claims on a rolling upgrade, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import rolling_upgrade
from scenarios.releases import RELEASES
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(rolling_upgrade.SCENARIO)

LOST, LOST_BACK, LOST_CALM = (f"step_lost_count {arm}" for arm in ("incident", "incident-rollback", "baseline"))
KEYS, KEYS_CALM = (f"key_out_of_order_count {arm} send=hash" for arm in ("incident", "baseline"))
SILENT = "step_silent_s incident role=master send=normal"
SILENT_CALM = "step_silent_s incident role=slave send=normal"
DRAINED = "step_failed_share fix-drained role=master send=hash"
AT_ONCE = "step_failed_share incident role=master send=hash"


def _five(value: float, tries: int = 8) -> list[list[float]]:
    return [[value] * tries for _ in range(5)]


def _but_one(value: float, other: float, tries: int = 8) -> list[list[float]]:
    return [[other, *[value] * (tries - 1)], *_five(value, tries)[1:]]


AS_THE_CODE_SAYS: History = {
    LOST: _five(0),
    LOST_BACK: _five(0, 10),
    LOST_CALM: [[0], [0]],
    KEYS: _but_one(0, 1, 97),
    KEYS_CALM: [[0] * 97] * 2,
    SILENT: _but_one(0.2, 9.4, 2),
    SILENT_CALM: _five(0.2, 4),
    DRAINED: [[0, 0]] * 2,
    AT_ONCE: _five(0.2, 2),
}

PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("X-rolling-upgrade-01", "restarts"): ({}, {LOST: _but_one(0, 3)}),
    ("X-rolling-upgrade-01", "without a restart"): ({}, {LOST_CALM: [[30], [30]]}),
    ("X-rolling-upgrade-02", "restarts"): ({}, {LOST_BACK: _but_one(0, 3, 10)}),
    ("X-rolling-upgrade-03", "keys"): ({KEYS: _five(0, 97)}, {}),
    ("X-rolling-upgrade-03", "without a restart"): ({}, {KEYS_CALM: [[1] * 97] * 2}),
    ("X-rolling-upgrade-04", "silence"): ({}, {SILENT: _five(0.2, 15), SILENT_CALM: _five(0.2, 15)}),
    ("X-rolling-upgrade-05", "drained"): ({}, {DRAINED: [[0.2, 0.2]] * 2}),
    ("X-rolling-upgrade-05", "at once"): ({}, {AT_ONCE: _five(0, 2)}),
}
"""By claim and part what is changed to confirm it, and what is to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_CODE_SAYS, PARTS)


@pytest.mark.parametrize("claim", sorted(CLAIMS))
@pytest.mark.parametrize("release", RELEASES)
def test_brokers_and_clients_that_do_as_their_code_says_give_what_is_expected(claim: str, release: str) -> None:
    assert verdict(CLAIMS[claim], AS_THE_CODE_SAYS) == (CLAIMS[claim].expected[release].verdict, "")


def test_five_upgrades_of_eight_restarts_are_enough_for_never_and_four_are_not() -> None:
    seen = {**AS_THE_CODE_SAYS, LOST: _five(0)[:4]}
    assert verdict(CLAIMS["X-rolling-upgrade-01"], seen) == (UNDECIDED, Reason.TOO_FEW_TRIES)


def test_a_silence_that_comes_with_the_restart_of_a_slave_shows_nothing_of_masters() -> None:
    seen = {**AS_THE_CODE_SAYS, SILENT_CALM: _but_one(0.2, 9.0, 4)}
    assert verdict(CLAIMS["X-rolling-upgrade-04"], seen) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_counts_restarts() -> None:
    assert "missing after none of 40 restarts (" in said(CLAIMS["X-rolling-upgrade-01"], AS_THE_CODE_SAYS)
