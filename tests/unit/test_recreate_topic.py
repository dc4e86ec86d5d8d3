"""A topic that is deleted and made anew: which node is asked what, in which order, on nodes of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import ClientError
from harness.faults import recreate_topic
from harness.faults.injections import INJECTIONS
from harness.model.faults import RecreateTopic
from harness.protocol.broker import TopicConfig

TOPIC, GROUP = "T", "g0"


class Node:
    """A node's answers; what it is told to change goes to ``did``, and changes nothing on those that are ``idle``."""

    def __init__(self, name: str, topics: tuple[str, ...], did: list[str], idle: tuple[str, ...]) -> None:
        self._name, self._topics, self._did, self._idle = name, topics, did, name in idle

    def topic_table(self) -> SimpleNamespace:
        names = [name for name in self._topics if self._idle or f"{self._name} deletes {name}" not in self._did]
        return SimpleNamespace(topics=[TopicConfig(name=name, read_queues=3, write_queues=2) for name in names])

    def delete_topic(self, topic: str) -> None:
        self._did.append(f"{self._name} deletes {topic}")

    def delete_route(self, topic: str) -> None:
        self._did.append(f"{self._name} forgets {topic}")

    def route(self, topic: str) -> object:
        return "a route" if self._idle or f"{self._name} forgets {topic}" not in self._did else None

    def commit_offset(self, group: str, topic: str, queue: int, offset: int) -> None:
        self._did.append(f"{group} has {offset} in {topic} {queue}")

    def consumer_offset(self, group: str, topic: str, queue: int) -> int:
        return 70 if self._idle else 0


Recreate = Callable[..., list[str]]


@pytest.fixture
def recreated(monkeypatch: pytest.MonkeyPatch) -> Recreate:
    """What a fault did, in order."""

    def run(
        fault: RecreateTopic, topics: tuple[str, ...] = ("other", TOPIC), idle: tuple[str, ...] = (), why: str = ""
    ) -> list[str]:
        did: list[str] = []

        @contextmanager
        def ask(node: SimpleNamespace, **options: object) -> Iterator[Node]:
            yield Node(node.name, topics, did, idle)

        def create(cluster: object, topic: str, *, read_queues: int, write_queues: int) -> None:
            did.append(f"{topic} is made, {read_queues} and {write_queues}")

        for name in ("ask", "ask_name_server"):
            monkeypatch.setattr(recreate_topic, name, ask)
        monkeypatch.setattr(recreate_topic, "create_topic", create)
        nodes = [
            SimpleNamespace(name=name, kind=kind, broker_id=number)
            for name, kind, number in (
                ("namesrv", "namesrv", 0),
                ("a", "broker", 0),
                ("a-s1", "broker", 1),
                ("b", "broker", 0),
            )
        ]
        trial: Any = SimpleNamespace(
            cluster=SimpleNamespace(nodes=nodes), record=SimpleNamespace(topic=TOPIC, groups=[GROUP])
        )
        (injection,) = INJECTIONS[RecreateTopic]
        done = injection.inject(fault, trial, trial)
        assert (done.target, done.exercised) == (TOPIC, not idle)
        assert why in done.detail
        assert None not in (done.injecting_ns, done.injected_ns, done.healing_ns, done.healed_ns)
        return did

    return run


def test_masters_and_name_servers_forget_a_topic_before_it_is_made_with_the_same_queues(recreated: Recreate) -> None:
    assert recreated(RecreateTopic()) == ["a deletes T", "b deletes T", "namesrv forgets T", "T is made, 3 and 2"]


def test_the_cure_sets_offsets_of_every_queue_when_the_topic_is_there_again(recreated: Recreate) -> None:
    did = recreated(RecreateTopic(cure="offsets"))
    assert did[4:] == [f"g0 has 0 in T {queue}" for queue in range(3)] * 2


@pytest.mark.parametrize("idle", ["a", "b", "namesrv"])
def test_a_topic_that_a_node_has_all_the_same_was_not_made_anew(recreated: Recreate, idle: str) -> None:
    recreated(RecreateTopic(), idle=(idle,), why=f"T was deleted, and is on {idle} still")


def test_offsets_that_are_others_than_those_that_were_set_are_no_cure(recreated: Recreate) -> None:
    recreated(RecreateTopic(cure="offsets"), idle=("b",), why="g0 begins at 70 in queue 2 of b")


def test_a_topic_that_no_broker_has_cannot_be_made_anew(recreated: Recreate) -> None:
    with pytest.raises(ClientError, match="no broker has the topic T"):
        recreated(RecreateTopic(), topics=("other",))
