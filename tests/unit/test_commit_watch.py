"""Commits that are only seen: what the rule is told, and what is recorded of its answer, on a rule of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.faults import commit_watch
from harness.faults.injections import injection_of
from harness.model.faults import CommitWatch
from harness.trial import Injected


def _watch(monkeypatch: pytest.MonkeyPatch, answer: list[int], readings: dict[str, float], told: list[str]) -> Injected:
    def asked(broker: Any, line: str, count: int) -> list[int]:
        told.append(line)
        return answer

    monkeypatch.setattr(commit_watch, "asked_rule", asked)
    node = SimpleNamespace(name="broker-a", kind="broker", broker_id=0)
    trial = SimpleNamespace(
        cluster=SimpleNamespace(nodes=[node]),
        events=SimpleNamespace(reading=lambda name, value, **of: readings.update({name: value})),
        params={"watch_ms": 1},
        stay=lambda seconds: None,
    )
    fault = CommitWatch()
    return injection_of(fault).inject(fault, cast(Any, trial), cast(Any, None))


def test_the_share_of_commits_that_come_by_a_timer_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    readings, told = dict[str, float](), list[str]()
    done = _watch(monkeypatch, [40, 10], readings, told)
    assert told == ["CommitHelper begin 150.0", "CommitHelper end"]
    assert readings == {"commit_after_period_share": 0.25}
    assert (done.target, done.exercised, done.healed_ns is not None) == ("broker-a", True, True)


def test_a_broker_that_commits_nothing_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = dict[str, float]()
    done = _watch(monkeypatch, [0, 0], readings, [])
    assert (readings, done.exercised) == ({}, False)
