"""Each part of the claims on outages with avoidance on and off, by tries that confirm it and by tries that refute it."""

from __future__ import annotations

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios import avoidance_in_outages
from tests.lib.histories import History, both_ways, claims_of, said, verdict

UNDECIDED = VerdictKind.UNDECIDED
CLAIMS = claims_of(avoidance_in_outages.SCENARIO)
RELEASES = ("4.6.0", "4.9.7", "5.3.3", "5.5.0")
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT = (f"X-avoidance-in-outages-0{number}" for number in range(1, 9))


def _arm(outage: str) -> str:
    return f"incident-{outage}" if outage == "killed" else f"fix-{outage}"


def _during(measure: str, outage: str, producer: str) -> str:
    return f"{measure} {_arm(outage)} producer={producer} when=during"


def _late(outage: str, producer: str) -> str:
    return _during("late_of_producer_share", outage, producer)


def _back(outage: str, producer: str = "on") -> str:
    return f"to_faulty_share {_arm(outage)} producer={producer} when=after"


def _five(value: float) -> list[list[float]]:
    return [[value]] * 5


SLOW, FLAPPING = ("slow", "slow-of-three"), ("flapping", "flapping-of-three")
AS_4X: History = {
    _late("killed", "off"): _five(0.002),
    _late("stopped", "on"): _five(0.05),
    _late("stopped", "off"): _five(0.48),
    **{_late(outage, "on"): _five(0.02) for outage in SLOW},
    **{_late(outage, "off"): _five(0.5) for outage in SLOW},
    **{_late(outage, "on"): _five(0.02) for outage in FLAPPING},
    **{_late(outage, "off"): _five(0.08) for outage in FLAPPING},
    _during("p99_of_producer_ms", "all-slow", "on"): _five(1230),
    _during("p99_of_producer_ms", "all-slow", "off"): _five(1220),
    _back("stopped"): _five(0),
    _back("slow"): _five(0),
    _back("stopped", "off"): _five(0.5),
}
AS_5X: History = {
    **AS_4X,
    **{_late(outage, "on"): _five(0.08) for outage in FLAPPING},
    _back("stopped"): _five(0.45),
    _back("slow"): _five(0.5),
}
CONFIRMING: History = {_late("killed", "off"): _five(0.3), _back("stopped"): _five(0.45), _back("slow"): _five(0.5)}

PARTS: dict[tuple[str, str], History] = {
    (ONE, "late"): {},
    (TWO, "fewer"): {_late("stopped", "on"): _five(0.4)},
    (TWO, "late"): {_late("stopped", "off"): _five(0.01)},
    (THREE, "fewer"): {_late("slow", "on"): _five(0.4)},
    (THREE, "late"): {_late("slow", "off"): _five(0.01)},
    (FOUR, "fewer"): {_late("flapping", "on"): _five(0.08)},
    (FOUR, "late"): {_late("flapping", "off"): _five(0)},
    (FIVE, "p99"): {_during("p99_of_producer_ms", "all-slow", "on"): _five(2900)},
    (SIX, "stopped"): {},
    (SIX, "slow"): {},
    (SIX, "switch off"): {_back("stopped", "off"): _five(0)},
    (SEVEN, "fewer"): {_late("slow-of-three", "on"): _five(0.4)},
    (SEVEN, "late"): {_late("slow-of-three", "off"): _five(0.01)},
    (EIGHT, "fewer"): {_late("flapping-of-three", "on"): _five(0.08)},
    (EIGHT, "late"): {_late("flapping-of-three", "off"): _five(0)},
}
"""By claim and part what is changed of what 4.x does to refute it."""


test_no_part_is_left_out, test_a_part_is_confirmed_and_refuted = both_ways(
    CLAIMS, AS_4X, {key: (CONFIRMING, change) for key, change in PARTS.items()}
)


@pytest.mark.parametrize("claim", sorted(CLAIMS))
@pytest.mark.parametrize("release", RELEASES)
def test_a_client_that_does_as_its_code_says_gives_what_is_expected(claim: str, release: str) -> None:
    seen = AS_4X if release.startswith("4.") else AS_5X
    assert verdict(CLAIMS[claim], seen) == (CLAIMS[claim].expected[release].verdict, "")


def test_an_outage_that_nobody_felt_says_nothing_of_avoidance() -> None:
    seen = {**AS_4X, _late("stopped", "on"): _five(0.001), _late("stopped", "off"): _five(0.01)}
    assert verdict(CLAIMS[TWO], seen) == (UNDECIDED, Reason.CONTROL_FAILED)


def test_the_sentence_tells_how_many_times_as_many() -> None:
    assert "was 0.104 (in each of 5 pairs) times as large with the switch on as with it off" in said(CLAIMS[TWO], AS_4X)
