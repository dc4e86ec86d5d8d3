"""A stall of the first master's append, and one of each master's at the same time."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.faults import append_stall
from harness.model.faults import AppendStall
from harness.trial import LoadSession, TrialContext

MS = 1_000_000
NAMES = ("broker-a", "broker-b")
STAMPS = {"broker-a": [5 * MS, 1204 * MS, 1205 * MS], "broker-b": [3 * MS, 1213 * MS, 1223 * MS]}
"""Entry, end of the delay, exit: 1200 ms and 1220 ms."""


class Events:
    def __init__(self) -> None:
        self.appends: dict[str, tuple[int, int]] = {}

    def record(self, kind: str, *, node: str, entry_ns: int, delay_end_ns: int, exit_ns: int) -> None:
        assert kind == "append"
        self.appends[node] = entry_ns, exit_ns


@pytest.fixture
def stalled(monkeypatch: pytest.MonkeyPatch) -> Any:
    def stall(fault: AppendStall) -> tuple[Any, Events]:
        events = Events()
        brokers = [SimpleNamespace(name=name) for name in NAMES]
        both_are_asked = threading.Barrier(2 if fault.every_master else 1)

        def asked(broker: Any, line: str, count: int) -> list[int]:
            both_are_asked.wait(10)
            assert (line, count) == ("stall 1200.0", 3)
            return STAMPS[broker.name]

        monkeypatch.setattr(append_stall, "masters", lambda cluster: brokers)
        monkeypatch.setattr(append_stall, "asked_rule", asked)
        trial = SimpleNamespace(cluster=None, params={"stall_ms": 1200}, events=events)
        return append_stall.stall_append(fault, cast(TrialContext, trial), cast(LoadSession, None)), events

    return stall


def test_a_stall_is_one_of_the_first_master(stalled: Any) -> None:
    done, events = stalled(AppendStall())
    assert events.appends == {"broker-a": (5 * MS, 1205 * MS)}
    assert (done.target, done.achieved_ms, done.injected_ns, done.healed_ns) == ("broker-a", 1200, 5 * MS, 1205 * MS)


def test_every_master_stalls_at_once_and_the_stall_that_is_farthest_from_what_was_asked_is_told(stalled: Any) -> None:
    done, events = stalled(AppendStall(every_master=True))
    assert events.appends == {"broker-a": (5 * MS, 1205 * MS), "broker-b": (3 * MS, 1223 * MS)}
    assert (done.target, done.asked_ms, done.achieved_ms) == ("broker-a, broker-b", 1200, 1220)
    assert (done.injected_ns, done.healed_ns) == (3 * MS, 1223 * MS)
