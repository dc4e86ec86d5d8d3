"""Each part of the claims on kinds of send, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.send_retries import BUSY, KILLED, READ_ONLY, SCENARIO, STOPPED
from tests.lib.histories import History, both_ways, claims_of, part, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(SCENARIO)
OLD, SINCE_4_9_7, ON_5X = "4.6.0", "4.9.7", "5.5.0"
ONCE, THRICE = [[1]] * 5, [[3]] * 5
NONE_OF_5_KEYS, TWO_MORE = [[0] * 5] * 5, [[0, 0, 0, 0, 8]] * 5


def _of(measure: str, arm: str, send: str, *, retries: str = "two", avoidance: str = "off", topic: str = "both") -> str:
    return f"{measure} {arm} send={send} retries={retries} avoidance={avoidance} topic={topic}"


def _attempts(arm: str, send: str) -> str:
    return _of("attempts_most", arm, send)


def _alone(arm: str) -> str:
    return _of("attempts_median", arm, "normal-sync", topic="one")


def _failing(arm: str, send: str = "normal-sync", retries: str = "five", avoidance: str = "off") -> str:
    return _of("failed_for_good_share", arm, send, retries=retries, avoidance=avoidance)


WELL = _of("failed_for_good_share", "baseline", "normal-sync", topic="one")
SENT_AGAIN, NOT_AGAIN = _failing(KILLED, "again-sync", "two"), _failing(KILLED, "selector-sync", "two")
ROUTES = ("selector", "fixed")
ARMS = (KILLED, STOPPED, BUSY, READ_ONLY)


def _each(name: str, arm: str, mode: str, values: list[list[int]]) -> History:
    return {_of(name, arm, f"{route}-{mode}"): values for route in ROUTES}


COPIES = _each("copies_of_key_count", STOPPED, "sync", NONE_OF_5_KEYS)
COPIES_ASYNC = _each("copies_of_key_count", STOPPED, "async", NONE_OF_5_KEYS)
DISORDER = {key: value for mode in ("sync", "async") for key, value in
            _each("disorder_of_key_count", KILLED, mode, NONE_OF_5_KEYS).items()}  # fmt: skip

AS_4_9_7_SAYS: History = {
    _alone(KILLED): THRICE, _alone(STOPPED): ONCE, _alone(BUSY): ONCE, _alone(READ_ONLY): THRICE, WELL: [[0]] * 5,
    **{_attempts(arm, f"{route}-{mode}"): ONCE for arm in ARMS for route in ROUTES for mode in ("sync", "oneway")},
    **{_attempts(KILLED, f"{route}-async"): THRICE for route in ROUTES},
    **{_attempts(STOPPED, f"{route}-async"): ONCE for route in ROUTES},
    **{_of("aimed_count", KILLED, f"{route}-sync"): [[20]] * 5 for route in ROUTES},
    _failing(KILLED): [[0]] * 5, _failing(STOPPED): [[0.55]] * 5, _failing(BUSY): [[0.5]] * 5,
    _failing(KILLED, "selector-sync"): [[0.5]] * 5,
    _failing(STOPPED, avoidance="on"): [[0.03]] * 5, _failing(BUSY, avoidance="on"): [[0.05]] * 5,
    _failing(KILLED, retries="none"): [[0.5]] * 5, _failing(STOPPED, retries="none"): [[0.55]] * 5,
    **COPIES, **COPIES_ASYNC, **DISORDER,
    SENT_AGAIN: [[0]] * 5, NOT_AGAIN: [[0.5]] * 5,
}  # fmt: skip

BY_RELEASE: dict[str, History] = {
    OLD: {
        **AS_4_9_7_SAYS,
        **{_attempts(KILLED, f"{route}-async"): ONCE for route in ROUTES},
        **{_attempts(STOPPED, f"{route}-async"): THRICE for route in ROUTES},
        **_each("copies_of_key_count", STOPPED, "async", TWO_MORE),
    },
    SINCE_4_9_7: AS_4_9_7_SAYS,
    ON_5X: {**AS_4_9_7_SAYS, _alone(BUSY): THRICE, _failing(BUSY): [[0.02]] * 5},
}


def _retried(route: str) -> dict[tuple[str, str], tuple[History, History]]:
    claim = {"selector": "SENDS-02", "fixed": "SENDS-03"}[route]
    found: dict[tuple[str, str], tuple[History, History]] = {}
    for name, arm in zip(("dead", "still", "busy", "read-only"), ARMS, strict=True):
        tried = {_attempts(arm, f"{route}-{mode}"): THRICE for mode in ("sync", "oneway")}
        found[claim, name] = ({}, tried)
    for name, arm in (("async, dead", KILLED), ("async, still", STOPPED)):
        found[claim, name] = ({_attempts(arm, f"{route}-async"): ONCE}, {_attempts(arm, f"{route}-async"): THRICE})
    found[claim, "aimed"] = ({}, {_of("aimed_count", KILLED, f"{route}-sync"): [[0]] * 5})
    return found


PARTS: dict[tuple[str, str], tuple[History, History]] = {
    ("SENDS-01", "dead"): ({}, {_alone(KILLED): ONCE}),
    ("SENDS-01", "still"): ({_alone(STOPPED): THRICE}, {}),
    ("SENDS-01", "busy"): ({_alone(BUSY): THRICE}, {}),
    ("SENDS-01", "read-only"): ({}, {_alone(READ_ONLY): ONCE}),
    ("SENDS-01", "well"): ({}, {WELL: [[1]] * 5}),
    **_retried("selector"),
    **_retried("fixed"),
    ("SENDS-04", "dead"): ({_failing(KILLED): [[0.5]] * 5}, {}),
    ("SENDS-04", "still"): ({}, {_failing(STOPPED): [[0.05]] * 5}),
    ("SENDS-04", "busy"): ({}, {_failing(BUSY): [[0.02]] * 5}),
    ("SENDS-04", "selector"): ({}, {_failing(KILLED, "selector-sync"): [[0]] * 5}),
    ("SENDS-04", "avoided, still"): ({}, {_failing(STOPPED, avoidance="on"): [[0.5]] * 5}),
    ("SENDS-04", "avoided, busy"): ({}, {_failing(BUSY, avoidance="on"): [[0.5]] * 5}),
    ("SENDS-04", "no retry"): ({}, {_failing(KILLED, retries="none"): [[0]] * 5}),
    ("SENDS-04", "no retry, still"): ({}, {_failing(STOPPED, retries="none"): [[0]] * 5}),
    ("SENDS-05", "tried once, dead"): ({}, {_attempts(KILLED, f"{route}-sync"): THRICE for route in ROUTES}),
    ("SENDS-05", "tried once, still"): ({}, {_attempts(STOPPED, f"{route}-sync"): THRICE for route in ROUTES}),
    ("SENDS-05", "twice"): ({}, _each("copies_of_key_count", STOPPED, "sync", TWO_MORE)),
    ("SENDS-05", "twice, async"): ({}, _each("copies_of_key_count", STOPPED, "async", TWO_MORE)),
    ("SENDS-05", "disorder"): ({}, _each("disorder_of_key_count", KILLED, "sync", TWO_MORE)),
    ("SENDS-05", "sent again"): ({}, {SENT_AGAIN: [[0.5]] * 5}),
    ("SENDS-05", "not sent again"): ({}, {NOT_AGAIN: [[0]] * 5}),
}
"""By claim and part what is changed to confirm it and to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(CLAIMS, AS_4_9_7_SAYS, PARTS)


@pytest.mark.parametrize("claim", sorted(CLAIMS))
@pytest.mark.parametrize("release", BY_RELEASE)
def test_clients_that_do_as_their_code_says_give_what_is_expected(claim: str, release: str) -> None:
    assert verdict(CLAIMS[claim], BY_RELEASE[release]) == (CLAIMS[claim].expected[release].verdict, "")


def test_the_sentence_says_where_a_claim_holds() -> None:
    told = said(CLAIMS["SENDS-02"], AS_4_9_7_SAYS)
    assert "asynchronous ones were when it was dead in none of 5 deployments and when it stood still in 5 of 5" in told
    assert "synchronous and one-way: dead" in told


def test_a_send_that_is_well_retried_in_some_deployments_only_is_no_fact() -> None:
    found = part(CLAIMS["SENDS-01"], "dead", {**AS_4_9_7_SAYS, _alone(KILLED): [[3], [3], [1], [3], [3]]})
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.DIFFERS)


def test_shares_of_four_deployments_are_too_few() -> None:
    found = part(CLAIMS["SENDS-04"], "still", {_failing(STOPPED): [[0.5]] * 4})
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)


def test_a_broker_that_fails_nobody_shows_nothing() -> None:
    well = {**AS_4_9_7_SAYS, _failing(KILLED, retries="none"): [[0]] * 5}
    assert verdict(CLAIMS["SENDS-04"], well) == (UNDECIDED, Reason.CONTROL_FAILED)
