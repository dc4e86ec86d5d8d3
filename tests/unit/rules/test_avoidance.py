"""Each part of the claims on avoidance, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import all_brokers_avoided, broker_killed, broker_slow
from tests.lib.histories import History, both_ways, claims_of, part, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(broker_slow.SCENARIO, broker_killed.SCENARIO, all_brokers_avoided.SCENARIO)
RELEASES = ("4.6.0", "4.9.7", "5.3.3", "5.5.0")
STEPS_S = {"75": 0.2, "300": 0.2, "775": 30.1, "1400": 60.2, "2400": 120.1, "4000": 180.2, "17000": 600.1}
STEPS_5X_S = {"75": 0.2, "300": 0.2, "775": 2.1, "1400": 2.2, "2400": 5.1, "4000": 6.2, "17000": 30.1}


def _avoided(producer: str, arm: str = "fix-avoidance") -> str:
    return f"avoided_s {arm} producer={producer}"


def _turn(producer: str) -> str:
    return f"out_of_turn_share baseline producer={producer}"


def _five(value: float) -> list[list[float]]:
    return [[value]] * 5


KILLED, KILLED_OFF = _avoided("once"), _avoided("once", "incident")
FIRST_CHOICE = "out_of_turn_share incident producer=once"
RETRIED, DEAD = (f"failed_of_producer_share incident producer={name}" for name in ("retried", "once"))
TO_ONE, BUSIEST = (f"{name}_share fix-avoidance producer=one" for name in ("first_broker", "busiest_queue"))
TO_FASTER, TO_FASTER_OFF = (f"first_broker_share {arm} producer=all" for arm in ("fix-avoidance", "incident"))
AT_LAST, LACKS = "failed_of_producer_share fix-avoidance producer=last", "fault_item_lacks fix-avoidance moment=after"


AS_4X: History = {
    KILLED: _five(600.1),
    KILLED_OFF: _five(0.9),
    FIRST_CHOICE: _five(0),
    RETRIED: _five(0),
    DEAD: _five(0.45),
    TO_ONE: _five(0),
    BUSIEST: _five(0.63),
    TO_FASTER: _five(1),
    TO_FASTER_OFF: _five(0.5),
    AT_LAST: _five(0),
    LACKS: _five(0),
    **{_avoided(f"after-{ms}"): _five(seconds) for ms, seconds in STEPS_S.items()},
    _avoided("async"): _five(120.2),
    _avoided("fixed"): _five(0.1),
    _avoided("success"): _five(0.2),
    _avoided("failure"): _five(600.2),
    _avoided("off", "incident"): _five(0.2),
    _avoided("off-failure", "incident"): _five(0.2),
    _turn("on"): _five(0),
    _turn("off"): _five(0),
}
AS_5X: History = {
    **AS_4X,
    **{_avoided(f"after-{ms}"): _five(seconds) for ms, seconds in STEPS_5X_S.items()},
    _avoided("async"): _five(5.2),
    _avoided("success"): _five(30.2),
    _avoided("failure"): _five(10.2),
    KILLED: _five(10.1),
    BUSIEST: _five(0.25),
    TO_FASTER: _five(0.5),
}
CONFIRMING: History = {_avoided("fixed"): _five(120.1), KILLED: _five(30.1), RETRIED: _five(0.22), BUSIEST: _five(0.25)}
"""What no release does."""

PARTS: dict[tuple[str, str], History] = {
    ("AVOID-01", "synchronous"): {_avoided("after-2400"): _five(0.2)},
    ("AVOID-01", "asynchronous"): {_avoided("async"): _five(0.2)},
    ("AVOID-01", "to a fixed queue"): {_avoided("fixed"): _five(0.2)},
    ("AVOID-01", "failed"): {_avoided("failure"): _five(0.2)},
    ("AVOID-01", "off, slow"): {_avoided("off", "incident"): _five(600.2)},
    ("AVOID-01", "off, failed"): {_avoided("off-failure", "incident"): _five(10.2)},
    ("AVOID-03", "after a success"): {_avoided("success"): _five(30.2)},
    ("AVOID-03", "without one"): {_avoided("after-17000"): _five(0.2)},
    ("AVOID-04", "75 ms"): {_avoided("after-75"): _five(30.1)},
    ("AVOID-04", "300 ms"): {_avoided("after-300"): _five(30.1)},
    **{("AVOID-04", f"{ms} ms"): {_avoided(f"after-{ms}"): _five(STEPS_5X_S[ms])}
       for ms in ("775", "1400", "2400", "4000", "17000")},
    ("AVOID-07", "after a timeout"): {_avoided("failure"): _five(30.2)},
    ("AVOID-02", "avoided"): {},
    ("AVOID-02", "without avoidance"): {KILLED_OFF: _five(30.1)},
    ("AVOID-06", "first choice"): {FIRST_CHOICE: _five(0.4)},
    ("AVOID-06", "retry"): {},
    ("AVOID-06", "dead"): {DEAD: _five(0)},
    ("AVOID-05", "not avoided"): {TO_ONE: _five(0.5)},
    ("AVOID-05", "in turn"): {},
    ("AVOID-05", "low latency"): {TO_FASTER: _five(0.5)},
    ("AVOID-05", "at last"): {AT_LAST: _five(1)},
    ("AVOID-05", "switch off"): {TO_FASTER_OFF: _five(1)},
    ("AVOID-08", "lacks"): {LACKS: _five(1)},
    ("AVOID-09", "switch on"): {_turn("on"): _five(1)},
    ("AVOID-09", "switch off"): {_turn("off"): _five(1)},
}  # fmt: skip
"""By claim and part what is changed of what 4.x does to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(
    CLAIMS, AS_4X, {key: (CONFIRMING, change) for key, change in PARTS.items()}
)


@pytest.mark.parametrize("claim", sorted(CLAIMS))
@pytest.mark.parametrize("release", RELEASES)
def test_a_client_that_does_as_its_code_says_gives_what_is_expected(claim: str, release: str) -> None:
    seen = AS_4X if release.startswith("4.") else AS_5X
    assert verdict(CLAIMS[claim], seen) == (CLAIMS[claim].expected[release].verdict, "")


def test_a_duration_takes_five_deployments() -> None:
    found = part(CLAIMS["AVOID-07"], "after a timeout", {_avoided("failure"): _five(600.2)[:4]})
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)


def test_a_broker_that_was_not_avoided_shows_nothing_of_what_ends_it() -> None:
    seen = {**AS_4X, _avoided("after-17000"): _five(0.2)}
    assert verdict(CLAIMS["AVOID-03"], seen) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_tells_the_measured_durations() -> None:
    assert "of 2.4 s for 120\u202fs in 5 deployments" in said(CLAIMS["AVOID-04"], AS_4X)
    seen = {**AS_5X, _avoided("after-2400"): [[5.1], [5.2], [5.1], [5.3], [5.2]]}
    assert "of 2.4 s for 5.1\N{EN DASH}5.3\u202fs in 5 deployments" in said(CLAIMS["AVOID-04"], seen)
