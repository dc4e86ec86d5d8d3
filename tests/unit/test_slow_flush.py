"""Flushes that are held up: what the rule is told, and what is recorded of its answers, on a rule of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ConfigurationError
from harness.faults import slow_flush
from harness.faults.injections import injection_of
from harness.model.faults import SlowFlush
from harness.trial import Injected


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the rule was told; each time it has held up three flushes more."""
    lines: list[str] = []

    def asked(broker: Any, line: str, count: int) -> list[int]:
        lines.append(f"{broker.name}: {line}")
        return [3 * len(lines)]

    monkeypatch.setattr(slow_flush, "asked_rule", asked)
    return lines


def _inject(fault: SlowFlush, readings: list[tuple[str, float]]) -> Injected:
    events = SimpleNamespace(reading=lambda name, value, **of: readings.append((name, value)))
    cluster = SimpleNamespace(nodes=[SimpleNamespace(name="broker-a"), SimpleNamespace(name="broker-b")])
    trial = cast(Any, SimpleNamespace(cluster=cluster, events=events))
    return injection_of(fault).inject(fault, trial, cast(Any, None))


def test_flushes_are_held_up_until_it_ends_which_records_how_many(told: list[str]) -> None:
    readings: list[tuple[str, float]] = []
    done = _inject(SlowFlush(flush_ms=5.0, node="broker-b"), readings)
    assert (done.target, done.healed_ns, readings) == ("broker-b", None, [])
    assert done.end is not None
    healed = done.end()
    assert told == ["broker-b: FlushHelper 5.0", "broker-b: FlushHelper 0"]
    assert readings == [("flush_count", 3), ("flush_held_ms", 5.0)]
    assert (healed.achieved, healed.exercised) == ("3 flushes were held up for 5 ms each", True)


def test_a_broker_that_flushed_nothing_was_not_slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_flush, "asked_rule", lambda *of: [7])
    done = _inject(SlowFlush(), [])
    assert done.end is not None
    assert done.end().exercised is False


def test_a_broker_that_is_not_there_is_told(told: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="no node broker-x"):
        _inject(SlowFlush(node="broker-x"), [])
    assert told == []
