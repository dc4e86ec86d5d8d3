"""Each part of the claims on kinds of send of Python's clients, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.releases import RELEASES
from scenarios.send_retries import BUSY, KILLED, STOPPED
from scenarios.send_retries_python import CLIENTS, LAYER, NATIVE, SCENARIO
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CLAIMS = claims_of(SCENARIO)
ONE, TWO, THREE = CLAIMS
FAULTS = {"dead": KILLED, "still": STOPPED, "busy": BUSY}


def _of(measure: str, arm: str, send: str, client: str, *, retries: str = "own", topic: str = "both") -> str:
    return f"{measure} {arm} send={send} retries={retries} avoidance=off topic={topic} client={client}"


def _ordered(measure: str, arm: str, retries: str) -> str:
    return _of(measure, arm, "selector-sync", NATIVE, retries=retries)


def _sync(measure: str, arm: str, client: str, *, topic: str = "both") -> str:
    return _of(measure, arm, "normal-sync", client, topic=topic)


def _alone(client: str) -> str:
    return _sync("attempts_median", KILLED, client, topic="one")


AS_THE_SOURCE_SAYS: History = {
    **{_alone(client): [[3]] * 2 for client in CLIENTS},
    **{_sync("failed_for_good_share", arm, client): [[0]] * 2 for client in CLIENTS for arm in FAULTS.values()},
    **{_sync("copies_count", STOPPED, client): [[9]] * 2 for client in CLIENTS},
    **{_sync("aimed_count", STOPPED, client): [[9]] * 2 for client in CLIENTS},
    **{_ordered("brokers_tried_most", arm, "three"): [[2]] * 2 for arm in (KILLED, STOPPED)},
    **{_ordered("attempts_most", arm, "none"): [[1]] * 2 for arm in (KILLED, STOPPED)},
    _ordered("aimed_count", KILLED, "three"): [[20]] * 2,
}  # fmt: skip


def _taken_elsewhere(client: str) -> dict[tuple[str, str], tuple[History, History]]:
    found: dict[tuple[str, str], tuple[History, History]] = {
        (TWO, f"{client}, {what}"): ({}, {_sync("failed_for_good_share", arm, client): [[0.5]] * 2})
        for what, arm in FAULTS.items()
    }
    found[TWO, f"{client}, twice"] = ({}, {_sync("copies_count", STOPPED, client): [[0]] * 2})
    found[TWO, f"{client}, to it"] = ({}, {_sync("aimed_count", STOPPED, client): [[0]] * 2})
    return found


PARTS: dict[tuple[str, str], tuple[History, History]] = {
    **{(ONE, client): ({_alone(client): [[5]] * 2}, {}) for client in CLIENTS},
    **_taken_elsewhere(NATIVE),
    **_taken_elsewhere(LAYER),
    (THREE, "dead"): ({}, {_ordered("brokers_tried_most", KILLED, "three"): [[1]] * 2}),
    (THREE, "still"): ({}, {_ordered("brokers_tried_most", STOPPED, "three"): [[1]] * 2}),
    (THREE, "told not to, dead"): ({}, {_ordered("attempts_most", KILLED, "none"): [[2]] * 2}),
    (THREE, "told not to, still"): ({}, {_ordered("attempts_most", STOPPED, "none"): [[2]] * 2}),
    (THREE, "to it"): ({}, {_ordered("aimed_count", KILLED, "three"): [[0]] * 2}),
}
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_THE_SOURCE_SAYS, PARTS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_clients_that_do_as_their_source_says_give_what_is_expected_of_all_releases(claim: str) -> None:
    expected = {CLAIMS[claim].expected[release].verdict for release in RELEASES}
    assert {verdict(CLAIMS[claim], AS_THE_SOURCE_SAYS)[0]} == expected


def test_a_broker_to_which_nothing_was_sent_shows_nothing() -> None:
    nothing = {**AS_THE_SOURCE_SAYS, _ordered("aimed_count", KILLED, "three"): [[0]] * 2}
    assert verdict(CLAIMS[THREE], nothing) == (VerdictKind.UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_names_both_clients() -> None:
    told = said(CLAIMS[TWO], AS_THE_SOURCE_SAYS)
    assert (
        "Of rocketmq 0.4.4 synchronous sends failed for good when one of two brokers was dead in none of 2 deployments"
        in told
    )
    assert "of rocketmq-client-python 2.0.0 when it was dead in none of 2 deployments" in told
