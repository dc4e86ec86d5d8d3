"""A node that stands still once, or again and again: what it is told, on a cluster of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import LeaseError
from harness.faults.node_pause import flap, pause
from harness.model.faults import FlappingNode, PauseNode
from harness.trial import Injected, LoadSession
from harness.wait import wait_until

NOBODY = cast(LoadSession, None)


class Cluster:
    """One broker that remembers what it was told, and that cannot be paused any more after ``pauses_max`` times."""

    nodes = (SimpleNamespace(name="broker-a", kind="broker", broker_id=0),)

    def __init__(self, pauses_max: int = 1_000_000) -> None:
        self.told: list[str] = []
        self._pauses_max = pauses_max

    def pause_node(self, name: str, *, until_s: float) -> None:
        if self.told.count("pause") == self._pauses_max:
            raise LeaseError(f"{name} has ended")
        self.told.append("pause")

    def resume_node(self, name: str) -> None:
        self.told.append("resume")


def _trial(cluster: Cluster) -> Any:
    return SimpleNamespace(cluster=cluster, until_s=60.0)


def _ended(done: Injected) -> Any:
    assert done.end is not None
    return done.end()


def test_a_node_is_paused_until_it_is_healed() -> None:
    cluster = Cluster()
    done = pause(PauseNode(node="broker-a"), _trial(cluster), NOBODY)
    assert (cluster.told, done.target) == (["pause"], "broker-a")
    assert _ended(done).exercised
    assert cluster.told == ["pause", "resume"]


def test_a_node_that_flaps_goes_on_between_its_pauses_and_at_last() -> None:
    cluster = Cluster()
    done = flap(FlappingNode(node="broker-a", stopped_s=0.001, runs_s=0.001), _trial(cluster), NOBODY)
    assert cluster.told[0] == "pause", "the first time at once"
    wait_until("several pauses", lambda: cluster.told.count("pause") > 3, timeout_s=60)
    healed = _ended(done)
    in_turn = ["pause", "resume"] * cluster.told.count("pause")
    assert cluster.told in (in_turn, [*in_turn, "resume"])
    assert healed.exercised
    assert healed.achieved == f"paused {cluster.told.count('pause')} times"


@pytest.mark.parametrize("pauses_max", [1, 2])
def test_a_node_that_ended_meanwhile_was_paused_as_often_as_it_could_be(pauses_max: int) -> None:
    cluster = Cluster(pauses_max)
    done = flap(FlappingNode(node="broker-a", stopped_s=0.001, runs_s=0.001), _trial(cluster), NOBODY)
    wait_until("its pauses", lambda: cluster.told.count("resume") == pauses_max, timeout_s=60)
    assert _ended(done).achieved == f"paused {pauses_max} times"


def test_a_node_that_is_healed_within_its_first_pause_was_paused_once() -> None:
    cluster = Cluster()
    done = flap(FlappingNode(node="broker-a", stopped_s=3600.0, runs_s=3600.0), _trial(cluster), NOBODY)
    assert _ended(done).achieved == "paused 1 times"
    assert cluster.told[:2] == ["pause", "resume"]
