"""A group that leaves and comes back: in which order its load sends, waits and starts, on a client of values."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.java import ConsumerSpec
from harness.clients.leased import ScheduleSpec
from harness.load import one_group, returning_group
from harness.load.returning_group import ReturningGroupSession
from harness.model.loads import ReturningGroup
from harness.trial import TrialContext


class Client:
    """Every schedule is through at once."""

    def __init__(self, did: list[str]) -> None:
        self._did = did

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self._did.append(f"{spec.operations} sends from {spec.sends.first}")

    def schedule_state(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(is_through=True)

    def wait_consumer_started(self, spec: ConsumerSpec, addresses: str, cancel: threading.Event) -> None:
        self._did.append(f"{spec.group} starts")

    def shut_down_consumers(self) -> None:
        self._did.append("the group leaves")


def test_the_group_leaves_when_it_has_committed_its_history_and_comes_back_to_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did: list[str] = []
    left = iter([20, -1, 0])

    def unconsumed(*asked: object) -> int:
        did.append(f"{(found := next(left))} left")
        return found

    monkeypatch.setattr(one_group, "unconsumed", unconsumed)
    monkeypatch.setattr(returning_group, "POLL_S", 0.001)
    monkeypatch.setattr("harness.load.base.namesrv_addresses", lambda cluster: "127.0.0.1:9876")
    phases = SimpleNamespace(steady_s=0.0, hold_s_min=1.0)
    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=["g0"]), phases=phases, cluster=None, cancel=threading.Event(),
        stay=lambda seconds: did.append(f"stay {seconds:g}"),
    )  # fmt: skip
    session = ReturningGroupSession(cast(TrialContext, trial), ReturningGroup(history=20, later=4))
    session._started = cast(Any, Client(did))
    session.steady()
    session.hold()
    assert did == [
        "20 sends from 0", "20 left", "-1 left", "0 left", "the group leaves", "4 sends from 20", "g0 starts", "stay 1"
    ]  # fmt: skip
