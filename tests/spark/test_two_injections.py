"""One incident made by two injections: each is judged by its own trials, and a freeze counts only when it was clean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.lib.own_scenarios import ENTRY_MS, stall
from tests.lib.runs import Analysis, Run
from tests.lib.trials import MS, Trial, at, stopped


@pytest.fixture(scope="module")
def run(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    def byteman(name: str, **about: Any) -> Trial:
        return stall(name, injection="byteman", chosen_injection="byteman", deployment="d-byteman", **about)

    def freeze(name: str, *, deployment: str = "d-freeze", engaged_late_ms: int = 0, **about: Any) -> Trial:
        trial = stall(name, injection="freeze", chosen_injection="freeze", deployment=deployment, **about)
        for event in trial.events:
            if event["type"] == "fault" and event["state"] == "injected":
                event["at_ns"] = at(ENTRY_MS + engaged_late_ms)
        return trial

    def stopped_at(at_ms: float, for_ms: float, age_s: float = 600.0) -> str:
        """A safepoint that ended so long after the append began."""
        return stopped(ENTRY_MS + at_ms, for_ms, age_s=age_s)

    def stalled_for(trial: Trial, in_lock_ms: float) -> Trial:
        for event in trial.events:
            if event["type"] == "append":
                event["exit_ns"] = event["entry_ns"] + round(in_lock_ms * MS)
        return trial

    def without_append(trial: Trial) -> Trial:
        """The store was frozen, whatever its appends did: nothing stamps them."""
        trial.events[:] = [event for event in trial.events if event["type"] != "append"]
        return trial

    trials = [
        byteman("b1", refused=30),
        byteman("b2", refused=30),
        freeze("f1", refused=2),
        freeze("f2", refused=2),
        freeze("stopped", deployment="d-stopped", refused=44),
        freeze("stopped-before", deployment="d-before", refused=2),
        freeze("unlogged", deployment="d-unlogged", refused=44),
        freeze("cut", deployment="d-cut", refused=2),
        freeze("rotated", deployment="d-rotated", refused=2),
        stalled_for(freeze("late", deployment="d-late", refused=44), 500),
        without_append(freeze("unstamped", deployment="d-unstamped", refused=3)),
        without_append(freeze("unstamped-stopped", deployment="d-stopped", refused=3)),
        stall("quiet", arm="baseline", stall_ms=0, refused=0, chosen_injection="freeze", deployment="d-freeze"),
    ]
    logs = {
        "d-freeze/broker-a/gc.log": [stopped_at(-2_000, 0.2), stopped_at(4_000, 0.2)],
        "d-byteman/broker-a/gc.log": [stopped_at(450, 400)],
        "d-stopped/broker-a/gc.log": [stopped_at(-60_000, 0.1, age_s=0.02), stopped_at(450.5, 300)],
        "d-before/broker-a/gc.log": [stopped_at(-1, 300), stopped_at(460, 0.3)],
        "d-unstamped/broker-a/gc.log": [stopped_at(-2_000, 0.2)],
        "d-late/broker-a/gc.log": [stopped_at(-2_000, 0.2)],
        "d-cut/broker-a/gc.log": [stopped_at(4_000, 0.2)],
        "d-rotated/broker-a/gc.log": [stopped_at(8_000, 0.2, age_s=0.02)],
        "d-rotated/broker-a/gc.log.0": [stopped_at(4_000, 0.2, age_s=0.02)],
    }
    return analysed(new_run(trials=trials, logs=logs))


def test_a_claim_has_a_finding_for_each_way_from_that_ways_trials_alone(run: Analysis) -> None:
    found = {item.injection: item for item in run.judged if item.claim == "STALL-01"}
    assert set(found) == {"byteman", "freeze"}
    assert (found["byteman"].trials, found["byteman"].parts[0].values) == (2, (30, 30))
    # What the broker does after the freeze is a result; only where no append was stamped nothing was stalled.
    assert (found["freeze"].trials, found["freeze"].parts[0].values) == (8, (2, 2, 2, 2, 2, 44, 44, 44))


def test_findings_and_trials_of_the_report_name_their_way(run: Analysis) -> None:
    assert [one.injection for one in run.judged if one.claim == "STALL-01"] == ["byteman", "freeze"]
    injections = {one.trial: one.chosen_injection for one in run.counted}
    assert (injections["b1"], injections["f1"], injections["quiet"]) == ("byteman", "freeze", "freeze")
    shown = {
        (item["injection"], tuple(item["values"])) for item in run.report["distributions"] if item["arm"] == "incident"
    }
    assert {name for name, _ in shown} == {"byteman", "freeze"}


def test_a_safepoint_within_the_freeze_is_noted(run: Analysis) -> None:
    (note,) = run.notes("stopped")
    assert note == "a safepoint stopped the whole broker for 300 ms of the freeze"


def test_a_freeze_whose_appends_nobody_stamped_is_looked_at_by_its_target(run: Analysis) -> None:
    notes = run.notes("unstamped") + run.notes("unstamped-stopped")
    assert "the broker's safepoint log says nothing" not in notes
    assert "a safepoint stopped the whole broker for 300 ms of the freeze" in notes


def test_a_safepoint_before_or_after_the_freeze_does_no_harm(run: Analysis) -> None:
    assert run.reasons("stopped-before") == run.notes("stopped-before") == []
    assert run.reasons("f1") == run.notes("f1") == []


def test_a_safepoint_in_a_stall_that_byteman_made_does_no_harm(run: Analysis) -> None:
    assert run.reasons("b1") == run.notes("b1") == []


@pytest.mark.parametrize("trial", ["unlogged", "cut", "rotated"])
def test_a_freeze_whose_safepoints_are_unknown_is_noted(run: Analysis, trial: str) -> None:
    assert run.notes(trial) == ["the broker's safepoint log says nothing"]


def test_a_freeze_that_stalled_the_append_for_another_time_is_noted(run: Analysis) -> None:
    assert run.notes("late") == ["the freeze stalled an append for 500.0 ms where 450 ms were asked"]
