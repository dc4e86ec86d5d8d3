"""A stall of the first master's append, one of each master's at the same time, and several of each at moments of its own."""

from __future__ import annotations

import itertools
import threading
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError
from harness.faults import append_stall
from harness.faults.append_stall import moments
from harness.faults.store_freeze import freeze
from harness.model.faults import AppendStall
from harness.trial import LoadSession, TrialContext

MS = 1_000_000
NAMES = ("broker-a", "broker-b")
STAMPS = {"broker-a": [5 * MS, 1204 * MS, 1205 * MS], "broker-b": [3 * MS, 1213 * MS, 1223 * MS]}
"""Entry, end of the delay, exit: 1200 ms and 1220 ms."""


AT_RANDOM = AppendStall(times=3, within_s=10.0, every_master=True)


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


def test_moments_at_random_are_of_the_seed_and_leave_each_stall_its_time() -> None:
    for seed in range(200):
        found = moments(AT_RANDOM, 1.2, partial(str, seed))
        assert found == moments(AT_RANDOM, 1.2, partial(str, seed))
        assert len(found) == 3
        assert found[0] >= 0
        assert found[-1] + 1.2 <= 10
        assert all(later - one >= 1.2 for one, later in itertools.pairwise(found))
    firsts = [moments(AT_RANDOM, 1.2, partial(str, seed))[0] for seed in range(200)]
    assert min(firsts) < 0.5
    assert max(firsts) > 4


def test_without_a_time_for_them_stalls_come_at_once() -> None:
    assert moments(AppendStall(), 1.2, lambda: "") == [0.0]


def test_each_master_stalls_at_moments_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[str] = []
    stays: list[float] = []
    monkeypatch.setattr(append_stall, "masters", lambda cluster: [SimpleNamespace(name=name) for name in NAMES])
    monkeypatch.setattr(append_stall, "asked_rule", lambda broker, line, count: STAMPS[broker.name])
    monkeypatch.setattr(append_stall, "mono_ns", lambda: 0)
    trial = SimpleNamespace(
        cluster=None,
        params={"stall_ms": 1200},
        record=SimpleNamespace(seed=7),
        stay=stays.append,
        events=SimpleNamespace(record=lambda kind, *, node, **stamps: recorded.append(node)),
    )
    append_stall.stall_append(AT_RANDOM, cast(TrialContext, trial), cast(LoadSession, None))
    of_each = {name: moments(AT_RANDOM, 1.2, partial(str, f"7 {name}")) for name in NAMES}
    assert of_each["broker-a"] != of_each["broker-b"]
    assert sorted(stays) == sorted(one for of_one in of_each.values() for one in of_one)
    assert recorded == ["broker-a"] * 3 + ["broker-b"] * 3


@pytest.mark.parametrize("fault", [AppendStall(every_master=True), AT_RANDOM])
def test_a_freeze_makes_no_more_than_the_stall_of_one_master(fault: AppendStall) -> None:
    with pytest.raises(ClientError, match="byteman alone"):
        freeze(fault, cast(TrialContext, None), cast(LoadSession, None))
