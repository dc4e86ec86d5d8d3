"""A node that stands still once, or again and again: what it is told, and what shows of it, with a process that answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clock import mono_ns
from harness.errors import LeaseError
from harness.faults.node_pause import flap, pause, shown_of_all
from harness.leases.proc import ProcessId
from harness.model.faults import FlappingNode, PauseNode
from harness.trial import Healed, Injected, LoadSession
from harness.wait import wait_until
from tests.lib.answering import Answering, answering

NOBODY = cast(LoadSession, None)
WAIT_S_MAX = 60.0


class Cluster:
    """One broker, which remembers what it was told, and cannot be paused any more after ``pauses_max`` times.

    What is stopped is ``stopped``, and nothing where that is None.
    """

    def __init__(self, broker: Answering, stopped: Answering | None, pauses_max: int = 1_000_000) -> None:
        self.nodes = (broker.node,)
        self.told: list[str] = []
        self._broker = broker
        self._stopped = stopped
        self._pauses_max = pauses_max

    def pause_node(self, name: str, *, until_s: float) -> Sequence[ProcessId]:
        if self.told.count("pause") == self._pauses_max:
            raise LeaseError(f"{name} has ended")
        self.told.append("pause")
        return [self._broker.process] if self._stopped is None else self._stopped.stop()

    def resume_node(self, name: str) -> None:
        self.told.append("resume")
        if self._stopped is not None:
            self._stopped.go_on()


@pytest.fixture
def broker() -> Iterator[Answering]:
    with answering() as one:
        yield one


@pytest.fixture
def decoy() -> Iterator[Answering]:
    with answering() as one:
        yield one


@pytest.fixture
def cluster(broker: Answering) -> Cluster:
    return Cluster(broker, broker)


def _trial(cluster: Cluster) -> Any:
    return SimpleNamespace(cluster=cluster, until_s=60.0, cancel=threading.Event())


def _ended(done: Injected) -> Healed:
    assert done.end is not None
    return done.end()


def test_a_node_is_paused_until_it_is_healed(cluster: Cluster) -> None:
    before_ns = mono_ns()
    done = pause(PauseNode(node="broker-a"), _trial(cluster), NOBODY)
    assert (cluster.told, done.target, done.exercised) == (["pause"], "broker-a", None)
    healed = _ended(done)
    assert healed.exercised is True, healed.achieved
    assert healed.achieved.startswith("paused for ")
    assert cluster.told == ["pause", "resume"]
    assert before_ns < (done.injected_ns or 0) < (healed.healed_ns or 0) < mono_ns()


def test_a_pause_that_stops_nothing_did_not_take_effect(broker: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.faults.pause_proof.STOPPING_S_MAX", 0.2)
    for fault, inject in ((PauseNode(node="broker-a"), pause), (FlappingNode(node="broker-a"), flap)):
        healed = _ended(inject(cast(Any, fault), _trial(Cluster(broker, None)), NOBODY))
        assert healed.exercised is False
        assert "were not stopped" in healed.achieved


def test_a_pause_of_another_process_did_not_take_effect(broker: Answering, decoy: Answering) -> None:
    for fault, inject in ((PauseNode(node="broker-a"), pause), (FlappingNode(node="broker-a"), flap)):
        healed = _ended(inject(cast(Any, fault), _trial(Cluster(broker, decoy)), NOBODY))
        assert healed.exercised is False
        assert f"another process than {decoy.process.pid} takes connections" in healed.achieved


def test_a_node_that_flaps_goes_on_between_its_pauses_and_at_last(cluster: Cluster) -> None:
    done = flap(FlappingNode(node="broker-a", stopped_s=0.001, runs_s=0.001), _trial(cluster), NOBODY)
    assert cluster.told[0] == "pause", "the first time at once"
    wait_until("several pauses", lambda: cluster.told.count("pause") > 3, timeout_s=WAIT_S_MAX)
    healed = _ended(done)
    in_turn = ["pause", "resume"] * cluster.told.count("pause")
    assert cluster.told in (in_turn, [*in_turn, "resume"])
    assert healed.exercised is True, healed.achieved
    assert healed.achieved.startswith(f"paused {cluster.told.count('pause')} times, number ")


@pytest.mark.parametrize("pauses_max", [1, 2])
def test_a_node_that_ended_meanwhile_was_paused_as_often_as_it_could_be(broker: Answering, pauses_max: int) -> None:
    cluster = Cluster(broker, broker, pauses_max)
    done = flap(FlappingNode(node="broker-a", stopped_s=0.001, runs_s=0.001), _trial(cluster), NOBODY)
    wait_until("its pauses", lambda: cluster.told.count("resume") == pauses_max, timeout_s=WAIT_S_MAX)
    assert _ended(done).achieved.startswith(f"paused {pauses_max} times, number ")


def test_a_node_that_is_healed_within_its_first_pause_was_paused_once(cluster: Cluster) -> None:
    done = flap(FlappingNode(node="broker-a", stopped_s=3600.0, runs_s=3600.0), _trial(cluster), NOBODY)
    assert _ended(done).achieved.startswith("paused 1 times, number ")
    assert cluster.told[:2] == ["pause", "resume"]


def test_of_several_pauses_the_one_that_shows_least_is_told() -> None:
    def told(exercised: bool | None) -> Any:
        return SimpleNamespace(
            shown=lambda achieved, cancel: Healed(achieved=f"{achieved}: {exercised}", exercised=exercised)
        )

    for pauses, exercised, words in (
        ([True, None, True], None, "paused 3 times, number 2: None"),
        ([True, None, False], False, "paused 3 times, number 3: False"),
        ([], False, "paused 0 times"),
    ):
        healed = shown_of_all([told(one) for one in pauses], threading.Event())
        assert (healed.exercised, healed.achieved) == (exercised, words)
