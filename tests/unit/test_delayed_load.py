"""Delayed messages: what their load sends, and for how long it waits for the last one, on a client of values."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.leased import ScheduleSpec
from harness.load import delayed, one_group
from harness.load.delayed import LATE_S_MAX, DelayedSession
from harness.model.loads import DelayedMessages
from harness.model.rocketmq import delays_s
from harness.trial import TrialContext


class Client:
    """A schedule that sends until it is stopped."""

    def __init__(self) -> None:
        self.specs: list[ScheduleSpec] = []
        self.stopped: list[str] = []
        self.due = 0

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self.specs.append(spec)

    def schedule_state(self, name: str) -> SimpleNamespace:
        sending = name not in self.stopped
        self.due += sending
        return SimpleNamespace(due=self.due, ended=self.due, sending=sending, is_through=not sending)

    def stop_schedule(self, name: str) -> None:
        self.stopped.append(name)


@pytest.fixture
def client() -> Client:
    return Client()


def _session(load: DelayedMessages, client: Client, stayed_s: list[float], drained: list[bool]) -> DelayedSession:
    trial = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=["g0"]),
        phases=SimpleNamespace(steady_s=13.0, settle_s_max=60.0, drain_s_max=60.0),
        cluster=None,
        stay=stayed_s.append,
        cancel=threading.Event(),
        events=SimpleNamespace(record=lambda kind, complete, remaining: drained.append(complete)),
    )
    session = DelayedSession(cast(TrialContext, trial), load)
    session._started = cast(Any, client)
    return session


@pytest.mark.parametrize(("levels", "longest_s"), [(3, 10.0), (1, 1.0), (0, 0.0)])
def test_levels_are_sent_in_turn_and_the_last_message_has_its_time(
    levels: int, longest_s: float, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = iter([False, False, True])
    monkeypatch.setattr("harness.load.base.POLL_S", 0.01)
    monkeypatch.setattr(delayed, "has_committed", lambda cluster, topic, queues, group: next(committed))
    monkeypatch.setattr(one_group, "unconsumed", lambda cluster, topic, queues, groups: 0)
    stayed_s: list[float] = []
    drained: list[bool] = []
    session = _session(DelayedMessages(levels=levels), client, stayed_s, drained)
    session.steady()
    assert next(committed, None) is None  # it went on when the group had read, and no sooner
    (spec,) = client.specs
    assert (spec.sends.keys, spec.sends.key_prefix, spec.sends.delayed) == (levels + 1, "level", True)
    assert spec.sends.key_distribution == "cycle"
    assert sum(stayed_s) == 13.0
    stayed_s.clear()
    session.drain()
    assert stayed_s[0] == longest_s + LATE_S_MAX
    assert drained == [True]


def test_the_default_delays_are_what_the_documentation_lists() -> None:
    assert delays_s()[:6] == [1, 5, 10, 30, 60, 120]
    assert (len(delays_s()), delays_s()[-1]) == (18, 7200)
    assert delays_s("2s 1d") == [2, 86_400]
