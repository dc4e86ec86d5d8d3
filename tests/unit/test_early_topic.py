"""A topic that a restarted name server hears of too early: what the fault does, on a cluster of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

    def __init__(
        self, *, hides: bool = True, comes_up_with: int = 0, makes: bool = True, restarts: bool = True
    ) -> None:
        self.topics, self.listed = [OLD], {OLD}
        self.done: list[str] = []
        self._hides, self._comes_up_with = hides, comes_up_with
        self._makes, self._restarts = makes, restarts

    def pid(self, name: str) -> int:
        return 17 + (self.done.count(f"start {name}") if self._restarts else 0)

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
        if not self._makes:
            return
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
        monkeypatch.setattr(early_topic, "_has", lambda broker, topic: topic in cluster.topics)
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
    assert done.detail == "namesrv-1 did not list T when broker-a had T-early"
    assert heal(EarlyTopic(), trial, cast(Any, None)).exercised is None, "it has said so before"
    assert (_values(told, "before"), _values(told, "held")) == ({"old": 1.0, "new": 0.0}, {"old": 0.0, "new": 1.0})
    assert _values(told, "cured") == {}


def test_without_a_topic_none_is_made(made: Any) -> None:
    cluster, trial, _ = made()
    assert restart(EarlyTopic(creates=False), trial, cast(Any, None)).exercised is True
    assert cluster.topics == [OLD]


def test_a_topic_that_was_not_made_or_came_too_late_is_not_early(made: Any) -> None:
    _, trial, _ = made(makes=False)
    done = restart(EarlyTopic(), trial, cast(Any, None))
    assert (done.exercised, done.detail) == (False, "namesrv-1 did not list T when broker-a did not have T-early")
    _, trial, _ = made()
    trial.cluster.create = lambda topic: (trial.cluster.topics.append(topic), trial.cluster.listed.add(OLD))
    done = restart(EarlyTopic(), trial, cast(Any, None))
    assert (done.exercised, done.detail) == (False, "namesrv-1 listed T when broker-a had T-early")
    _, trial, _ = made()
    trial.cluster.topics.append(NEW)
    assert restart(EarlyTopic(creates=False), trial, cast(Any, None)).exercised is False


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
        assert heal(fault, trial, cast(Any, None)).exercised is True
        assert _values(told, "cured")["old"] == back
    assert ANOTHER in cluster.topics


def test_a_cure_that_leaves_the_broker_as_it_was_is_none(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def ask(broker: Any, timeout_s: float) -> Iterator[Any]:
        yield SimpleNamespace(broker_config=lambda: {"brokerPermission": "6"})

    monkeypatch.setattr(early_topic, "ask", ask)
    monkeypatch.setattr(early_topic, "change_live", lambda broker, settings: None)
    for versions, cured in (([1, 1], False), ([1, 2], True)):
        now = iter(versions)
        monkeypatch.setattr(early_topic, "_version_of_topics", lambda broker, now=now: next(now))
        _, trial, _ = made()
        assert heal(EarlyTopic(cure="permission"), trial, cast(Any, None)).exercised is cured
    for cure, more in (("restart", {"restarts": False}), ("another-topic", {"makes": False})):
        _, trial, _ = made(**more)
        healed = heal(EarlyTopic(cure=cast(Any, cure)), trial, cast(Any, None))
        assert healed.exercised is False
        assert healed.achieved.startswith("it did not show that ")
