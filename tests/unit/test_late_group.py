"""A group that starts late: in which order its load sends, commits and starts, on a client of values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.java import ConsumerSpec
from harness.clients.leased import ScheduleSpec
from harness.load import base, late_group, one_group
from harness.load.late_group import LateGroupSession
from harness.model.loads import LateGroup
from harness.trial import TrialContext

TOPIC, GROUP = "T", "g0"


class Client:
    """Every schedule is through at once, and a consumer has its queues at the second question."""

    def __init__(self, did: list[str]) -> None:
        self._did = did
        self.asked = 0

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self._did.append(f"{spec.operations} sends from {spec.sends.first}")

    def schedule_state(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(is_through=True)

    def wait_consumer_started(self, spec: ConsumerSpec, addresses: str, cancel: threading.Event) -> None:
        self._did.append(f"{spec.group} starts at {spec.begins}{', in order' if spec.ordered else ''}")

    def queue_counts(self, topic: str) -> dict[str, int]:
        self.asked += 1
        return {"consumer": 2 if self.asked > 1 else 0}


class Broker:
    def __init__(self, did: list[str]) -> None:
        self._did = did

    def create_group(self, group: str) -> None:
        self._did.append(f"{group} is made")

    def max_offset(self, topic: str, queue: int) -> int:
        return 10 + queue

    def commit_offset(self, group: str, topic: str, queue: int, offset: int) -> None:
        self._did.append(f"{group} has {offset} in {queue}")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Callable[[LateGroup], list[str]]:
    """What a load's session did in its steady and hold phases, in order."""

    def run(load: LateGroup) -> list[str]:
        did: list[str] = []

        @contextmanager
        def ask(node: object, timeout_s: float) -> Iterator[Broker]:
            yield Broker(did)

        for module in (late_group, one_group):
            monkeypatch.setattr(module, "masters", lambda cluster: [SimpleNamespace()])
        monkeypatch.setattr(late_group, "ask", ask)
        monkeypatch.setattr(base, "POLL_S", 0.001)
        monkeypatch.setattr("harness.load.base.namesrv_addresses", lambda cluster: "127.0.0.1:9876")
        phases = SimpleNamespace(steady_s=0.0, hold_s_min=0.0, settle_s_max=20.0)
        trial = SimpleNamespace(
            record=SimpleNamespace(topic=TOPIC, groups=[GROUP]), phases=phases, cluster=None, cancel=threading.Event(),
            stay=lambda seconds: None,
        )  # fmt: skip
        session = LateGroupSession(cast(TrialContext, trial), load)
        session._started = cast(Any, Client(did))
        session.steady()
        session.hold()
        return did

    return run


def test_the_history_is_there_before_the_group_and_the_rest_comes_when_it_has_its_queues(
    held: Callable[[LateGroup], list[str]],
) -> None:
    assert held(LateGroup(history=20, later=4)) == ["20 sends from 0", "g0 starts at last", "4 sends from 20"]
    assert held(LateGroup(begins="first", history=2, later=1))[1] == "g0 starts at first"


def test_offsets_that_are_committed_are_the_ends_of_the_queues_before_the_group_starts(
    held: Callable[[LateGroup], list[str]],
) -> None:
    did = held(LateGroup(committed=True, queues=2, history=20, later=4))
    assert did[1:5] == ["g0 is made", "g0 has 10 in 0", "g0 has 11 in 1", "g0 starts at last"]


def test_a_group_that_gets_no_more_messages_is_not_waited_for(held: Callable[[LateGroup], list[str]]) -> None:
    assert held(LateGroup(begins="first", ordered=True, history=2, later=0)) == [
        "2 sends from 0",
        "g0 starts at first, in order",
    ]
