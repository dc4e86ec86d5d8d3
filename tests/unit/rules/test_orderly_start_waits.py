"""A member that joins an ordered group, by hand: for each part a history that confirms it and one that refutes it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.orderly_start_waits import SCENARIO
from scenarios.releases import RELEASES
from tests.lib.histories import History, claims_of, part, said, verdict

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
NAME = "X-orderly-start-waits"


def _all(*values: float) -> list[list[tuple[float, ...]]]:
    """What each of eight owners' queues showed in five deployments."""
    return [[values] * 8 for _ in range(5)]


CLEAN: History = {"message_delay_max_s baseline": _all(0.02)}


def _joined(wait_s: float) -> History:
    return {**CLEAN, "lock_wait_s incident": _all(wait_s, wait_s)}


BY_RELEASE = {
    "4.6.0": {**_joined(3.0), "lock_wait_s fix-newer-client": _all(0.05)},
    "4.9.7": _joined(0.05),
    "5.3.3": _joined(0.05),
    "5.5.0": _joined(0.05),
}
PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (f"{NAME}-01", "waits"): (_joined(3.0), _joined(0.05)),
    (f"{NAME}-02", "waits"): (
        {"lock_wait_s fix-newer-client": _all(0.05)},
        {"lock_wait_s fix-newer-client": _all(3.0)},
    ),
    (f"{NAME}-02", "older clients"): (_joined(3.0), _joined(0.05)),
    (f"{NAME}-01", "nobody joins"): (CLEAN, {"message_delay_max_s baseline": _all(20.0)}),
    (f"{NAME}-03", "longest delay"): (CLEAN, {"message_delay_max_s baseline": _all(20.0)}),
}


def test_no_part_is_left_out() -> None:
    assert set(PARTS) == {(name, one.name) for name, claim in CLAIMS.items() for one in claim.parts}


@pytest.mark.parametrize(("claim", "name"), PARTS)
def test_a_part_is_confirmed_and_refuted(claim: str, name: str) -> None:
    found = [part(CLAIMS[claim], name, history).verdict for history in PARTS[claim, name]]
    assert found == [CONFIRMED, REFUTED]


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_code_of_a_release_does_gives_what_is_expected_of_it(release: str) -> None:
    for name, claim in CLAIMS.items():
        if release in claim.expected:
            assert verdict(claim, BY_RELEASE[release]) == (claim.expected[release].verdict, ""), name


def test_a_load_that_delays_messages_by_itself_shows_nothing() -> None:
    history = {**_joined(3.0), "message_delay_max_s baseline": _all(20.0)}
    assert verdict(CLAIMS[f"{NAME}-01"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_has_the_time() -> None:
    sentence = " ".join(said(CLAIMS[f"{NAME}-01"], _joined(3.0)).split())
    assert sentence.startswith("A member had a queue's lock for 3 s in each of 5 deployments")
