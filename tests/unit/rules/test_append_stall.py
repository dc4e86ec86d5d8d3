"""Two hand-made histories for each part of append-stall's rules: one that confirms it, one that refutes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from analysis.verdicts.claims import judge
from analysis.verdicts.tries import Tries
from harness.model.verdicts import VerdictKind
from scenarios.append_stall import RATE_HZ, SCENARIO, STALLED, TIMEOUT
from tests.lib.tries import tries_of

CONFIRMED, REFUTED = VerdictKind.CONFIRMED, VerdictKind.REFUTED
CLAIMS = {claim.id: claim for claim in SCENARIO.claims}
DEPLOYMENTS = 8
CELLS = [*((float(cell["stall_ms"]), RATE_HZ) for cell in STALLED), (450.0, 200), (450.0, 1000)]


class Broker:
    """What a broker would show, as its code says; each history changes one thing."""

    found_in_log = 1.0
    short = 0.9998
    code = 2.0
    limit_ms, fix_limit_ms, busy_ms = 200.0, 400.0, 1000.0
    over_ms = (1.0, 9.0)
    size = -0.5
    waited_ms = 201.0
    at_once_share = 1.0
    check_share = 1.0
    append_ms = 0.0
    baseline = 0.0
    grows = True

    def __init__(self, **changed: float | tuple[float, float]) -> None:
        for name, value in changed.items():
            assert hasattr(self, name)
            setattr(self, name, value)

    def refused(self, stall_ms: float, rate_hz: float, limit_ms: float) -> tuple[float, float]:
        """For age, and in all: once the lock is as old as the page cache's limit, all that wait are refused."""
        hz = rate_hz if self.grows else float(RATE_HZ)
        aged = max(0.0, min(stall_ms, self.busy_ms) - limit_ms) * hz / 1000
        return aged, stall_ms * hz / 1000 if stall_ms > self.busy_ms else aged

    def rows(self) -> list[Tries]:
        found = tries_of("append_short_share", "baseline", [[self.short]] * DEPLOYMENTS, stall_ms=0)
        for keyword in ("any", "page-cache"):
            found += tries_of(
                "rejected_count", "baseline", [[self.baseline]] * DEPLOYMENTS, keyword=keyword, stall_ms=0
            )
        for stall_ms in (700, 1200):
            by_deployment = [[self.found_in_log] * 3] * DEPLOYMENTS
            arm = "incident-stock-logging"
            found += tries_of("store_log_line", arm, by_deployment, file="store.log", stall_ms=stall_ms)
        for stalled_ms, rate_hz in CELLS:
            found += self._stall(stalled_ms, rate_hz)
        return found

    def _stall(self, stall_ms: float, rate_hz: float) -> list[Tries]:
        cell: dict[str, Any] = {"stall_ms": stall_ms, "rate_hz": rate_hz}

        def each(measure: str, *values: float, arm: str = "incident", **params: Any) -> list[Tries]:
            # Some deployments show nothing where the check comes by seldom.
            shown = [values if place < self.check_share * DEPLOYMENTS else (0.0,) for place in range(DEPLOYMENTS)]
            return tries_of(measure, arm, [[one] for one in shown], **cell, **params)

        aged, every = self.refused(stall_ms, rate_hz, self.limit_ms)
        fixed = self.refused(stall_ms, rate_hz, self.fix_limit_ms)[1]
        rows = each("rejected_count", aged, keyword=TIMEOUT) + each("rejected_count", every, keyword="any")
        rows += each("rejected_count", every if stall_ms > self.busy_ms else 0.0, keyword="page-cache")
        rows += each("rejected_count", fixed, arm="fix-send-queue-wait-400", keyword="any")
        rows += each("rejected_within_1s_max", max(1.0, aged * self.at_once_share))
        rows += tries_of("append_in_lock_ms", "incident", [[self.append_ms or stall_ms]] * DEPLOYMENTS, **cell)
        if stall_ms > self.busy_ms:
            rows += each("first_rejected_after_ms", self.busy_ms + 3, keyword="page-cache")
        if aged:
            rows += each("refusal_code", self.code, keyword=TIMEOUT) + each("size_over_arrivals", self.size)
            rows += each("period_over_limit_ms", *self.over_ms, keyword=TIMEOUT)
            rows += each("period_in_queue_ms", self.waited_ms, self.waited_ms + 8, keyword=TIMEOUT)
        return rows


def _verdict(claim: str, broker: Broker) -> tuple[VerdictKind, str]:
    _, verdict, reason, _, _ = judge(CLAIMS[claim], broker.rows())
    return verdict, reason


EXPECTED = {claim.id: claim.expected["5.3.3"].verdict for claim in SCENARIO.claims}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_broker_that_does_as_its_code_says_gives_what_is_expected(claim: str) -> None:
    assert _verdict(claim, Broker()) == (EXPECTED[claim], "")


@pytest.mark.parametrize(
    ("claim", "part", "changed"),
    [
        ("BUSY-07", "stalls in store.log", {"found_in_log": 0.0}),
        ("BUSY-08", "appends below 1 ms", {"short": 0.4}),
        ("BUSY-20", "code 2", {"code": 1.0}),
        ("BUSY-20", "not younger", {"over_ms": (-60.0, 9.0)}),
        ("BUSY-20", "not left behind", {"over_ms": (1.0, 420.0)}),
        ("BUSY-20", "size", {"size": 0.5}),
        ("BUSY-09", "refused above 200 ms", {"limit_ms": 5000.0}),
        ("BUSY-09", "waited", {"waited_ms": 150.0}),
        ("BUSY-11", "within one second", {"at_once_share": 0.0}),
        ("BUSY-11", "growth", {"grows": False}),
        ("BUSY-12", "a stall of 250 ms", {"fix_limit_ms": 150.0}),
        ("BUSY-12", "a stall of 450 ms", {"fix_limit_ms": 220.0}),
        ("BUSY-14", "up to 700 ms", {"busy_ms": 400.0}),
        ("BUSY-14", "not before", {"busy_ms": 500.0}),
        ("BUSY-14", "soon after", {"busy_ms": 1150.0}),
    ],
)
def test_each_part_can_be_refuted(claim: str, part: str, changed: Mapping[str, float | tuple[float, float]]) -> None:
    found = {one.name: one for one in judge(CLAIMS[claim], Broker(**changed).rows())[0]}
    confirmed = {one.name: one for one in judge(CLAIMS[claim], Broker().rows())[0]}
    # 24 stalls without an event are not yet the 72 that refute "it happens".
    wanted = REFUTED if found[part].kind != "E" else VerdictKind.UNDECIDED
    assert (found[part].verdict, confirmed[part].verdict) == (wanted, CONFIRMED)


def test_a_check_every_10_s_would_confirm_that_claim() -> None:
    assert _verdict("BUSY-10", Broker(check_share=0.0)) == (CONFIRMED, "")


def test_a_longer_wait_that_helps_at_every_length_would_confirm_that_claim() -> None:
    assert _verdict("BUSY-12", Broker(busy_ms=5000.0, fix_limit_ms=450.0)) == (CONFIRMED, "")


def test_what_the_load_alone_has_refused_makes_undecided() -> None:
    assert _verdict("BUSY-09", Broker(baseline=9.0)) == (VerdictKind.UNDECIDED, "control failed")


def test_a_stall_that_reached_a_second_makes_undecided() -> None:
    assert _verdict("BUSY-09", Broker(append_ms=1100.0)) == (VerdictKind.UNDECIDED, "control failed")


def test_the_sentence_names_each_length() -> None:
    said = judge(CLAIMS["BUSY-12"], Broker().rows())[4]
    assert "It holds in these scopes: a stall of 250 ms; a stall of 450 ms; a stall of 700 ms." in said
