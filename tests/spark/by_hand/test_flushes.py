"""Sends while flushes are held up: how many share one, how many are accepted and refused, which wait: one planted fact a trial."""

from __future__ import annotations

import pytest

from scenarios import sync_flush_one_thread
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial, at

MEASURES = ("accepted_per_flush", "accepted_per_s", "refused_in_hold_share", "waited_flush_share")
PER_FLUSH, ACCEPTED, REFUSED, WAITED = MEASURES
HOLD_MS = 2_000.0


def _trial(run: Run, name: str, *, flushes: int | None = 4, held_ms: float = 5.0) -> Trial:
    """A send that ended before the fault and one that ended after the hold are not counted."""
    fault = "slow-flush" if flushes is not None else "none"
    trial = run.trial(name, "sync-flush-one-thread", "incident", fault=fault, hold_ms=HOLD_MS, injected_after_ms=0.0)
    for reading, value in {"flush_count": flushes, "flush_held_ms": held_ms}.items():
        if flushes is not None:
            trial.event(
                "reading",
                at_ns=at(HOLD_MS + 1),
                name=reading,
                value=value,
                target="broker-a",
                moment="after",
                detail="",
            )
    trial.send(0, due_ms=-50, took_ms=10, offset=0)
    trial.send(1, due_ms=HOLD_MS - 5, took_ms=300, offset=1)
    return trial


def plant(run: Run) -> Asked:
    one = _trial(run, "one_a_flush")
    for seq in range(2, 6):
        one.send(seq, due_ms=100.0 * seq, took_ms=8, offset=seq)
    for seq in range(6, 8):
        one.refused(seq, "TIMEOUT_CLEAN_QUEUE", due_ms=100.0 * seq, took_ms=210)
    shared = _trial(run, "two_a_flush")
    for seq in range(2, 10):
        shared.send(seq, due_ms=100.0 * seq, took_ms=8 if seq < 8 else 2, offset=seq)
    # Due long before the fault, and sent when its turn came.
    _trial(run, "sent_late").send(2, due_ms=-1_500, took_ms=1_900, offset=2)
    _trial(run, "nothing_held_up", flushes=None).send(2, due_ms=500, offset=2)
    return Asked(scenarios=(sync_flush_one_thread.SCENARIO,), measures=MEASURES)


def test_accepted_sends_share_the_flushes_of_the_hold(seen: Analysis) -> None:
    assert [seen.one(PER_FLUSH, name) for name in ("one_a_flush", "two_a_flush")] == [1, 2]


def test_sends_count_by_when_they_ended(seen: Analysis) -> None:
    assert [seen.one(ACCEPTED, name) for name in ("one_a_flush", "two_a_flush", "sent_late")] == [
        pytest.approx(count / 2, rel=0.01) for count in (4, 8, 1)
    ]


def test_refused_is_what_ended_with_a_keyword(seen: Analysis) -> None:
    assert [seen.one(REFUSED, name) for name in ("one_a_flush", "two_a_flush")] == [pytest.approx(2 / 6), 0]
    assert seen.shown_record(REFUSED, "one_a_flush")["seq"] == 6


def test_a_send_that_is_answered_sooner_did_not_wait_for_a_flush(seen: Analysis) -> None:
    assert [seen.one(WAITED, name) for name in ("one_a_flush", "two_a_flush")] == [1, 0.75]


def test_without_held_up_flushes_none_are_counted(seen: Analysis) -> None:
    assert [seen.values(measure, "nothing_held_up") for measure in (PER_FLUSH, WAITED)] == [[], []]
    assert seen.one(ACCEPTED, "nothing_held_up") == pytest.approx(0.5, rel=0.01)
