from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.commands import ScheduleState
from harness.errors import ClientError
from harness.load import steady
from harness.load.base import BEHIND_S_MAX, IN_FLIGHT_MAX
from harness.load.steady import SteadySession
from harness.model.loads import SteadyClients

LOAD = SteadyClients(rate_hz=20.0)
ALLOWED = int(IN_FLIGHT_MAX + BEHIND_S_MAX * LOAD.rate_hz)
STEADY_S = 3.0


def _session(behind: Sequence[int], stays: list[float], *, is_over: bool = False) -> SteadySession:
    """Sends are behind by so many at one look after the other; the producer stops by itself after the last one.

    Of a load that is over none comes any more.
    """
    looks, dues = iter(behind), itertools.count(100, 0 if is_over else 10)

    def state(_name: str) -> ScheduleState:
        late, due = next(looks, None), next(dues)
        return ScheduleState(due=due, issued=due, ended=due - (late or 0), sending=late is not None)

    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="t", groups=("g",)),
        phases=SimpleNamespace(steady_s=STEADY_S),
        stay=stays.append,
        cancel=threading.Event(),
        on_rate=lambda rate_hz: None,
    )
    session = SteadySession(trial, dataclasses.replace(LOAD, producers=1))
    cast(Any, session)._started = SimpleNamespace(schedule_state=state)
    return session


def test_a_window_is_steady_where_sends_keep_up_at_every_look() -> None:
    stays: list[float] = []
    _session([0, ALLOWED, 1, ALLOWED], stays).steady()
    assert sum(stays) == STEADY_S


@pytest.mark.parametrize("late", [[ALLOWED + 1], [0, ALLOWED + 1], [0, 0, 0, ALLOWED + 1]])
def test_a_window_begins_anew_when_sends_fall_behind(late: list[int]) -> None:
    stays: list[float] = []
    _session([*late, 0, 0, 0, 0], stays).steady()
    assert sum(stays) == STEADY_S + len(late) - 1


def test_a_load_that_is_over_keeps_up_with_nothing() -> None:
    # Whoever waits for it is told at last that the producer has stopped.
    with pytest.raises(ClientError, match="stopped sending by itself"):
        _session([0] * 8, [], is_over=True).steady()


def test_a_producer_that_stops_by_itself_ends_the_trial_with_its_name() -> None:
    with pytest.raises(ClientError, match="the producer of producer-0 stopped sending by itself"):
        _session([0, 0], []).steady()


def test_clients_are_given_a_period_of_their_route_timer_within_the_phases_time() -> None:
    stays: list[float] = []
    session = cast(Any, _session([], stays))
    session._trial.arm = SimpleNamespace(fault=SimpleNamespace(lasts=False))
    session._watch = SimpleNamespace(agree=lambda: True)
    session._trial.phases.recover_s = 90.0
    session.recover()
    session._trial.phases.recover_s = 5.0
    session.recover()
    assert stays == [36.0, pytest.approx(5.0, abs=1.0)]


def test_each_group_has_a_consumer_at_either_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, str, bool, str]] = []
    settled: list[int] = []
    servers = [SimpleNamespace(kind="namesrv", address=f"s{number}") for number in (1, 2, 3)]
    masters = [SimpleNamespace(kind="broker", broker_id=0, address=name) for name in ("a", "b")]
    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="t", groups=("g0", "g1")),
        cluster=SimpleNamespace(nodes=[*servers, *masters]),
        events=None,
        cancel=threading.Event(),
    )
    load = SteadyClients(groups=2, ordered=True, first_servers=(0,), second_servers=(2,))
    session = cast(Any, SteadySession(trial, load))
    session._started = object()
    for nothing in ("_create_topic", "_start_process", "_start_producers"):
        monkeypatch.setattr(session, nothing, lambda: True)
    monkeypatch.setattr(
        session,
        "_start_member",
        lambda client, spec, servers: started.append((spec.instance, spec.group, spec.ordered, servers)),
    )
    monkeypatch.setattr(session, "_wait_settled", lambda clients, share: settled.append(share))
    monkeypatch.setattr(steady, "RouteWatch", lambda *given: SimpleNamespace(agree=lambda: True))
    session.up()
    assert started == [
        ("g0-first", "g0", True, "s1"),
        ("g0-second", "g0", True, "s3"),
        ("g1-first", "g1", True, "s1"),
        ("g1-second", "g1", True, "s3"),
    ]
    assert settled == [4]
