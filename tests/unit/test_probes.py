"""Probes: each kind of request has an own connection, and the first of each is no measurement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import Node
from harness.load import probes
from harness.load.probes import Probes
from harness.model import rocketmq
from harness.rundir.events import EventLog
from harness.wait import wait_until

PULL, ADMIN = rocketmq.PULL_MESSAGE, rocketmq.GET_MAX_OFFSET


class Connection:
    """Notes what it is asked."""

    def __init__(self, log: list[int]) -> None:
        self._log = log
        self.topics: list[str] = []

    def ask(self, code: int, fields: object = None, body: bytes = b"") -> Any:
        self._log.append(code)
        return SimpleNamespace(code=0, fields={"queueOffset": "0"})

    def create_topic(self, topic: str, **queues: int) -> None:
        self.topics.append(topic)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Connection, list[int]]]:
    made: list[tuple[Connection, list[int]]] = []

    @contextmanager
    def ask(broker: Node, timeout_s: float = 5.0) -> Iterator[Connection]:
        asked: list[int] = []
        made.append((Connection(asked), asked))
        yield made[-1][0]

    monkeypatch.setattr(probes, "ask", ask)
    return made


def _recorded(kinds: tuple[str, ...], enough: int) -> list[str]:
    found: list[str] = []
    events = SimpleNamespace(record=lambda _, kind, **more: found.append(kind))
    running = Probes(cast(EventLog, events), cast(Node, None), "topic", kinds)
    try:
        wait_until("requests of each kind", lambda: all(found.count(kind) >= enough for kind in kinds), timeout_s=30)
    finally:
        running.stop()
    return found


def test_the_first_request_of_each_kind_is_not_recorded(connections: list[tuple[Connection, list[int]]]) -> None:
    recorded = _recorded(("pull", "admin"), 3)
    (_, first), *others = connections
    assert first == [PULL, ADMIN]
    assert {tuple(set(asked)) for _, asked in others} == {(PULL,), (ADMIN,)}
    assert len(recorded) == sum(len(asked) for _, asked in others)


@pytest.mark.parametrize(
    ("kind", "topics"), [("pull", []), ("send", [probes.SEND_TOPIC]), ("delivery", [probes.SEND_TOPIC])]
)
def test_what_sends_has_a_topic_of_its_own(
    connections: list[tuple[Connection, list[int]]], kind: str, topics: list[str]
) -> None:
    _recorded((kind,), 1)
    assert connections[0][0].topics == topics
