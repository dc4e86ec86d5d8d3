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


def _joined(put_off: float) -> History:
    return {**CLEAN, "put_off_pull_count incident": _all(put_off, put_off)}


BY_RELEASE = {
    "4.6.0": {**_joined(9), "put_off_pull_count fix-newer-client": _all(0)},
    "4.9.7": _joined(0),
    "5.3.3": _joined(0),
    "5.5.0": _joined(0),
}
PARTS: dict[tuple[str, str], tuple[History, History]] = {
    (f"{NAME}-01", "put off"): (_joined(9), _joined(0)),
    (f"{NAME}-02", "put off"): (
        {"put_off_pull_count fix-newer-client": _all(0)},
        {"put_off_pull_count fix-newer-client": _all(1)},
    ),
    (f"{NAME}-02", "older clients"): (_joined(9), _joined(0)),
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


def test_older_clients_that_wait_for_nothing_leave_a_cure_undecided() -> None:
    history = {**_joined(0), "put_off_pull_count fix-newer-client": _all(0)}
    assert verdict(CLAIMS[f"{NAME}-02"], history) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_a_pull_put_off_of_one_queue_is_not_one_of_each() -> None:
    history = {"put_off_pull_count incident": _all(1, 0)}
    assert verdict(CLAIMS[f"{NAME}-01"], history) == (REFUTED, "")


def test_the_sentence_has_the_share() -> None:
    sentence = " ".join(said(CLAIMS[f"{NAME}-01"], _joined(9)).split())
    assert sentence.startswith("Of all queues whose lock they had been granted, 100 % of members (")
