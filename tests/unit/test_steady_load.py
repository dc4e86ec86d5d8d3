from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.commands import ScheduleState
from harness.load import steady
from harness.load.steady import BEHIND_S_MAX, THREADS, SteadySession
from harness.model.loads import SteadyClients
from harness.wait import NotYet

LOAD = SteadyClients(rate_hz=20.0)
ALLOWED = int(THREADS + BEHIND_S_MAX * LOAD.rate_hz)


def _session(behind: Sequence[int], stays: list[float]) -> SteadySession:
    """Sends are behind by so many at one look after the other."""
    looks = iter(behind)
    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="t", groups=("g",)), phases=SimpleNamespace(steady_s=8.0), stay=stays.append
    )
    session = SteadySession(trial, LOAD)
    cast(Any, session)._started = SimpleNamespace(
        schedule_state=lambda name: ScheduleState(due=100, issued=100, ended=100 - next(looks), sending=True)
    )
    return session


def test_a_window_counts_when_sends_keep_up_at_its_start_and_at_its_end() -> None:
    stays: list[float] = []
    assert _session([0, ALLOWED], stays)._has_kept_up()
    assert sum(stays) == 8.0


@pytest.mark.parametrize("behind", [[ALLOWED + 1], [0, ALLOWED + 1]])
def test_sends_that_fall_behind_are_no_steady_window(behind: list[int]) -> None:
    with pytest.raises(NotYet, match=f"{ALLOWED + 1} of 100 sends were due and had not ended"):
        _session(behind, [])._has_kept_up()


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
