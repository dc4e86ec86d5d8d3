"""A topic that a restarted name server hears of too early: what the fault does, on a cluster of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError
from harness.faults import early_topic
from harness.faults.early_topic import RESTARTS_MAX, heal, restart
from harness.model.faults import EarlyTopic

OLD, NEW, ANOTHER = "T", "T-early", "T-another"


class Cluster:
    """One name server and one broker. ``hides`` is what the server makes of one topic from a broker that it does not know."""

    nodes = (
        SimpleNamespace(name="namesrv-1", kind="namesrv", broker_id=0),
        SimpleNamespace(name="broker-a", kind="broker", broker_id=0),
    )

    def __init__(self, *, hides: bool = True, comes_up_with: int = 0) -> None:
        self.topics, self.listed = [OLD], {OLD}
        self.done: list[str] = []
        self._hides, self._comes_up_with = hides, comes_up_with

    def kill_node(self, name: str) -> tuple[int, int]:
        self.done.append(f"kill {name}")
        self.listed.clear()
        return 10, 20

    def start_node(self, name: str) -> None:
        self.done.append(f"start {name}")
        if name == "broker-a" or self._comes_up_with:
            self._comes_up_with -= name != "broker-a"
            self.listed = set(self.topics)

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        self.done.append(f"stop {name}")
        return True

    def create(self, topic: str) -> None:
        self.topics.append(topic)
        if self._hides or self.listed:
            self.listed.add(topic)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Cluster, Any, list[Mapping[str, Any]]]]:
    """A cluster, a trial on it, and what the trial's events were told."""

    def make(**more: Any) -> tuple[Cluster, Any, list[Mapping[str, Any]]]:
        cluster, told = Cluster(**more), cast(list[Mapping[str, Any]], [])

        def probe(measure: str, value: float, *, of: str, params: Mapping[str, Any]) -> None:
            told.append({"measure": measure, "value": value, **params})

        monkeypatch.setattr(early_topic, "_listed", lambda server, topic: topic in cluster.listed)
        monkeypatch.setattr(early_topic, "_create", lambda broker, topic: cluster.create(topic))
        monkeypatch.setattr(early_topic, "REGISTERED_S", 0.0)
        trial = SimpleNamespace(
            cluster=cluster, record=SimpleNamespace(topic=OLD), events=SimpleNamespace(probe=probe), stay=lambda seconds: None
        )  # fmt: skip
        return cluster, trial, told

    return make


def _values(told: list[Mapping[str, Any]], when: str) -> dict[str, float]:
    return {one["topic"]: one["value"] for one in told if one["when"] == when}


def test_the_topic_is_made_while_the_server_does_not_know_the_broker(made: Any) -> None:
    _, trial, told = made()
    done = restart(EarlyTopic(), trial, cast(Any, None))
    assert (done.target, done.injecting_ns, done.injected_ns, done.exercised) == ("namesrv-1", 10, 20, True)
    heal(EarlyTopic(), trial, cast(Any, None))
    assert (_values(told, "before"), _values(told, "held")) == ({"old": 1.0, "new": 0.0}, {"old": 0.0, "new": 1.0})
    assert _values(told, "cured") == {}


def test_without_a_topic_none_is_made(made: Any) -> None:
    cluster, trial, _ = made()
    restart(EarlyTopic(creates=False), trial, cast(Any, None))
    assert cluster.topics == [OLD]


def test_a_server_that_comes_up_with_the_broker_is_restarted_again_within_a_bound(made: Any) -> None:
    cluster, trial, _ = made(comes_up_with=2)
    assert restart(EarlyTopic(), trial, cast(Any, None)).exercised
    assert cluster.done.count("start namesrv-1") == 3
    _, never, _ = made(comes_up_with=RESTARTS_MAX)
    with pytest.raises(ClientError, match="was listed each time"):
        restart(EarlyTopic(), never, cast(Any, None))


def test_a_cure_is_looked_at_once_it_has_had_its_time(made: Any) -> None:
    for fault, back in ((EarlyTopic(cure="restart"), 1.0), (EarlyTopic(cure="another-topic"), 0.0)):
        cluster, trial, told = made()
        restart(fault, trial, cast(Any, None))
        assert heal(fault, trial, cast(Any, None)).exercised
        assert _values(told, "cured")["old"] == back
    assert ANOTHER in cluster.topics
