"""Each part of the claims on what helps avoidance, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import avoidance_mended
from tests.lib.histories import History, both_ways, claims_of, said, verdict

CLAIMS = claims_of(avoidance_mended.SCENARIO)
ONE, TWO, THREE, FOUR, FIVE, SIX = (f"X-avoidance-mended-0{number}" for number in range(1, 7))
ONCE = "better-no-retries"


def _late(producer: str, arm: str = "incident-stopped") -> str:
    return f"late_of_producer_share {arm} producer={producer} when=during"


def _back(client: str, producer: str = "on") -> str:
    return f"to_faulty_share fix-{client}-client producer={producer} when=after"


def _five(value: float) -> list[list[float]]:
    return [[value]] * 5


AS_READ: History = {
    _late("off"): _five(0.3),
    _late("on"): _five(0.28),
    **{_late(producer): _five(0.01) for producer in ("limit", "limit-on", "detector")},
    _late("once", ONCE): _five(0.1),
    _late("off", ONCE): _five(0.3),
    _back("newer"): _five(0.45),
    _back("older"): _five(0.0),
    **{_back(client, "off"): _five(0.5) for client in ("newer", "older")},
}
CONFIRMING: History = {_back("older"): _five(0.4)}
PARTS: dict[tuple[str, str], History] = {
    (ONE, "fewer"): {_late("limit"): _five(0.25)},
    (ONE, "late"): {_late("off"): _five(0.01)},
    (TWO, "fewer"): {_late("limit-on"): _five(0.25)},
    (TWO, "late"): {_late("on"): _five(0.01)},
    (THREE, "fewer"): {_late("detector"): _five(0.25)},
    (THREE, "late"): {_late("on"): _five(0.01)},
    (FOUR, "fewer"): {_late("once", ONCE): _five(0.25)},
    (FOUR, "late"): {_late("off", ONCE): _five(0.01)},
    (FIVE, "share"): {_back("newer"): _five(0)},
    (FIVE, "switch off"): {_back("newer", "off"): _five(0)},
    (SIX, "share"): {},
    (SIX, "switch off"): {_back("older", "off"): _five(0)},
}
"""By claim and part what is changed to refute it."""

test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(
    CLAIMS, AS_READ, {key: (CONFIRMING, change) for key, change in PARTS.items()}
)


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_a_client_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    expected = {one.verdict for one in CLAIMS[claim].expected.values()}
    assert {verdict(CLAIMS[claim], AS_READ)[0]} == expected


def test_an_outage_that_avoidance_already_covers_says_nothing_of_the_detector() -> None:
    seen = {**AS_READ, _late("on"): _five(0.01), _late("detector"): _five(0.001)}
    assert verdict(CLAIMS[THREE], seen) == (VerdictKind.UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_says_how_many_times_as_many() -> None:
    assert "was 0.0333 (in each of 5 pairs) times that with avoidance off" in said(CLAIMS[ONE], AS_READ)
