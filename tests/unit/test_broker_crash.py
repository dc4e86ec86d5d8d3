from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import WaitTimeout
from harness.faults import broker_crash
from harness.faults.broker_crash import evenly
from harness.model.faults import BrokerCrash

FILE_BYTES = 1000


@pytest.mark.parametrize("deaths", [3, 5, 8, 13])
def test_deaths_share_a_period_out_whatever_their_number(deaths: int) -> None:
    moments = sorted(evenly(number) for number in range(1, deaths + 1))
    assert moments[0] > 0.0
    assert moments[-1] < 1.0
    gaps = [later - earlier for earlier, later in itertools.pairwise([*moments, 1.0 + moments[0]])]
    assert max(gaps) < 2.0 / deaths
    assert min(gaps) > 0.5 / deaths


class Sends:
    """A load that can stop sending."""

    def __init__(self) -> None:
        self.stopped = False

    def stop_sending(self) -> None:
        self.stopped = True

    def send_one(self) -> None:
        raise AssertionError

    def record_ends(self, moment: str, on: Any = ()) -> None:
        raise AssertionError

    def restore_topic(self) -> None:
        """It is there."""


def _trial(at_bytes: list[int], told: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A trial whose broker is at these places of its log when it is asked, one after the other."""
    places = iter(at_bytes)

    @contextmanager
    def ask(broker: Any, timeout_s: float) -> Any:
        yield SimpleNamespace(runtime_info=lambda: {"commitLogMaxOffset": str(next(places, at_bytes[-1]))})

    monkeypatch.setattr(broker_crash, "ask", ask)
    monkeypatch.setattr(broker_crash, "ROLL_POLL_S", 0.001)
    monkeypatch.setattr(broker_crash, "ROLL_S_MAX", 0.2)
    broker = SimpleNamespace(name="broker-a", broker_name="broker-a", kind="broker", broker_id=0)
    conf = {"mappedFileSizeCommitLog": str(FILE_BYTES)}

    def kill_node(name: str) -> tuple[int, int]:
        told.append(f"kill {name}")
        return 1, 2

    spec = SimpleNamespace(settings=SimpleNamespace(conf=conf))
    return SimpleNamespace(
        cluster=SimpleNamespace(nodes=[broker], spec=spec, kill_node=kill_node),
        record=SimpleNamespace(repetition=1, topic="T"),
        stay=lambda seconds: told.append(f"stay {seconds:.2f}"),
        cancel=threading.Event(),
    )


def test_a_death_after_a_roll_waits_for_the_log_to_go_on_in_a_new_file(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    trial, sends = _trial([2100, 2500, 2999, 3000], told, monkeypatch), Sends()
    broker_crash.crash(BrokerCrash(after_roll=True, spread_s=60.0), trial, cast(Any, sends))
    assert told == ["stay 37.08", "kill broker-a"]
    assert sends.stopped


def test_a_load_that_fills_no_file_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with pytest.raises(WaitTimeout, match="the commit log's next file"):
        broker_crash.crash(BrokerCrash(after_roll=True), _trial([2100], told, monkeypatch), cast(Any, Sends()))
    assert told == []


def test_the_ends_by_the_log_on_the_disk_are_recorded_queue_by_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[tuple[str, dict[str, Any]]] = []
    events = SimpleNamespace(record=lambda kind, **values: recorded.append((kind, values)))
    trial = cast(Any, SimpleNamespace(record=SimpleNamespace(topic="T"), events=events))
    monkeypatch.setattr(
        broker_crash, "queue_ends", lambda folder, topic: {1: 7, 0: 5} if folder == tmp_path / "commitlog" else {}
    )
    broker = cast(Any, SimpleNamespace(broker_name="broker-a", store=SimpleNamespace(mountpoint=tmp_path)))
    broker_crash._record_log(trial, broker)
    assert recorded == [
        ("log_end", {"topic": "T", "broker": "broker-a", "queue": 0, "max_offset": 5}),
        ("log_end", {"topic": "T", "broker": "broker-a", "queue": 1, "max_offset": 7}),
    ]
