"""What an idle broker's threads take, by hand."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError
from harness.faults import idle_broker
from harness.faults.idle_broker import heal, leave_alone
from harness.host.meter import times_of_threads
from harness.model.faults import IdleBroker

MS = 1_000_000
Times = Mapping[tuple[int, str], tuple[int, int]]
CALM: Times = {(1, "main"): (2000 * MS, 0), (2, "TransactionalOp"): (5000 * MS, 10 * MS)}
BUSY: Times = {
    (1, "main"): (2100 * MS, 0), (2, "TransactionalOp"): (8200 * MS, 4410 * MS), (3, "new"): (99_000 * MS, 0),
}  # fmt: skip
"""The second thread computed for 3.2 s of 8 s, and waited for a core for 4.4 s."""


class Cluster:
    nodes = (SimpleNamespace(name="broker-a", kind="broker", broker_id=0),)

    def __init__(self, pid: int | None = 17, *, restarts: bool = True) -> None:
        self.done: list[str] = []
        self._pid = pid
        self._restarts = restarts

    def pid(self, name: str) -> int | None:
        return self._pid if self._pid is None or not self._restarts else self._pid + self.done.count(f"start {name}")

    def stop_node(self, name: str, *, grace_s: float) -> None:
        self.done.append(f"stop {name}")

    def start_node(self, name: str) -> None:
        self.done.append(f"start {name}")


def _trial(cluster: Cluster) -> tuple[Any, list[Mapping[str, Any]]]:
    told: list[Mapping[str, Any]] = []

    def probe(measure: str, value: float, *, of: str, params: Mapping[str, Any]) -> None:
        told.append({"measure": measure, "value": value, "of": of, **params})

    return SimpleNamespace(cluster=cluster, events=SimpleNamespace(probe=probe), stay=lambda seconds: None), told


@pytest.fixture
def log() -> list[int]:
    """Where the commit log ends at each look; it grows by one message a second."""
    return [1000, 3000, 4000, 6000]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch, log: list[int]) -> None:
    """Two looks, 8 s apart, and two more in which nothing is computed."""
    ends = iter(log)
    monkeypatch.setattr(idle_broker, "_end_of_log", lambda broker: next(ends))
    monkeypatch.setattr(
        idle_broker, "proc", SimpleNamespace(identify=lambda pid: SimpleNamespace(is_alive=lambda: True))
    )
    seen, now = iter([CALM, BUSY, CALM, CALM]), iter([0, 8_000_000_000, 20_000_000_000, 28_000_000_000])
    monkeypatch.setattr(idle_broker, "times_of_threads", lambda pid: next(seen))
    monkeypatch.setattr(idle_broker, "mono_ns", lambda: next(now))
    monkeypatch.setattr(idle_broker, "wait_registered", lambda cluster: cluster.done.append("registered"))


@pytest.mark.usefixtures("looks")
def test_the_busiest_thread_is_named_and_one_that_came_meanwhile_does_not_count() -> None:
    trial, told = _trial(Cluster())
    done = heal(IdleBroker(), trial, cast(Any, None))
    assert [(one["measure"], one["when"]) for one in told] == [("thread_busy_share", "idle")]
    assert told[0]["value"] == pytest.approx(3.2 / 3.6)
    assert told[0]["of"] == "idle: TransactionalOp computed for 40% of the time, of 0.41 cores in all"
    assert done.achieved == f"{told[0]['of']}; its commit log grew by 0.2 KiB/s"
    assert done.exercised is True


@pytest.mark.usefixtures("looks")
def test_a_restarted_broker_is_looked_at_again() -> None:
    trial, told = _trial(cluster := Cluster())
    assert heal(IdleBroker(cure="restart"), trial, cast(Any, None)).exercised is True
    assert cluster.done == ["stop broker-a", "start broker-a", "registered"]
    assert {one["when"]: one["value"] for one in told} == {"idle": pytest.approx(3.2 / 3.6), "restarted": 0.0}


@pytest.mark.parametrize("log", [[1000, 1_001_000]])
@pytest.mark.usefixtures("looks")
def test_a_broker_that_was_sent_something_was_not_idle() -> None:
    trial, _ = _trial(Cluster())
    done = heal(IdleBroker(), trial, cast(Any, None))
    assert done.exercised is False
    assert done.achieved.endswith("it was not idle: its commit log grew by 122.1 KiB/s")


@pytest.mark.usefixtures("looks")
def test_a_broker_that_ended_meanwhile_was_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = SimpleNamespace(identify=lambda pid: SimpleNamespace(is_alive=lambda: False))
    monkeypatch.setattr(idle_broker, "proc", gone)
    done = heal(IdleBroker(), _trial(Cluster())[0], cast(Any, None))
    assert done.exercised is False
    assert done.achieved.endswith("it ended meanwhile")


@pytest.mark.usefixtures("looks")
def test_a_cure_that_leaves_the_process_is_none() -> None:
    trial, _ = _trial(Cluster(restarts=False))
    assert heal(IdleBroker(cure="restart"), trial, cast(Any, None)).exercised is False


def test_nothing_is_done_to_it_and_a_broker_that_is_down_is_an_error() -> None:
    trial, _ = _trial(Cluster(pid=None))
    done = leave_alone(IdleBroker(), trial, cast(Any, None))
    assert (done.target, done.exercised) == ("broker-a", None)
    with pytest.raises(ClientError, match="broker-a is down"):
        heal(IdleBroker(), trial, cast(Any, None))


def test_a_thread_that_computes_is_told_from_one_that_waits() -> None:
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=compute), threading.Thread(target=ended.wait)]
    for thread in threads:
        thread.start()
    try:
        ids = [cast(int, thread.native_id) for thread in threads]
        before = _sums(os.getpid())
        deadline, computed_ns, waited_ns = time.monotonic() + 60.0, 0, 0
        while computed_ns < 300 * MS and time.monotonic() < deadline:
            time.sleep(0.05)
            after = _sums(os.getpid())
            computed_ns, waited_ns = (after[one] - before[one] for one in ids)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert computed_ns >= 300 * MS
    assert waited_ns < 100 * MS


def _sums(pid: int) -> dict[int, int]:
    return {number: computed for (number, _), (computed, _) in times_of_threads(pid).items()}
