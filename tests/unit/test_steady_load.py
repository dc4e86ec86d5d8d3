from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.commands import ScheduleState
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
