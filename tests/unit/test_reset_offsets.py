"""Offsets that are set back: whom the fault asks for what, in which order, on nodes of values."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import ClientError
from harness.faults import reset_offsets
from harness.faults.injections import INJECTIONS
from harness.model.faults import ResetOffsets
from harness.protocol.broker import TopicConfig

TOPIC, GROUP = "T", "g0"


class Broker:
    """Has committed offsets from the third look on; at the second one it tells what 4.x does without them.

    What was stored some seconds ago begins at ``back`` in its first queue, and one behind that in its second one.
    """

    def __init__(self) -> None:
        self.did: list[str] = []
        self.looks = 0
        self.asked_ms: list[int] = []
        self.back = 30
        self.takes = True
        self._set: dict[int, int] = {}

    def topic_table(self) -> SimpleNamespace:
        self.looks += 1
        return SimpleNamespace(topics=[TopicConfig(name=TOPIC, read_queues=2, write_queues=2)])

    def consumer_offset(self, group: str, topic: str, queue: int) -> int | None:
        return self._set.get(queue, (None, 0, 70 + queue)[min(self.looks, 3) - 1])

    def max_offset(self, topic: str, queue: int) -> int:
        return 72 + queue

    def offset_at(self, topic: str, queue: int, at_ms: int) -> int:
        self.asked_ms.append(at_ms)
        return self.back + queue

    def commit_offset(self, group: str, topic: str, queue: int, offset: int) -> None:
        self.did.append(f"{group} has {offset} in {queue}")
        self._set |= {queue: offset if self.takes else 72 + queue}

    def reset_offsets(self, group: str, topic: str, at_ms: int) -> dict[int, int]:
        self.asked_ms.append(at_ms)
        self.did.append(f"{group} is reset in {topic}")
        return {queue: self.back + queue for queue in range(2)} if self.takes else {}


class Load:
    """Members that can leave."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def leave(self) -> None:
        self._broker.did.append("leave")

    def come_back(self) -> None:
        self._broker.did.append("come back")


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()

    @contextmanager
    def ask(node: object, timeout_s: float) -> Iterator[Broker]:
        yield broker

    monkeypatch.setattr(reset_offsets, "ask", ask)
    monkeypatch.setattr(reset_offsets, "POLL_S", 0.001)
    return broker


def _inject(fault: ResetOffsets, load: object, *, detail: str = "g0 set back by 5 s, 84 messages") -> None:
    nodes = [SimpleNamespace(name="broker-a", kind="broker", broker_id=0)]
    trial: Any = SimpleNamespace(
        cluster=SimpleNamespace(nodes=nodes),
        record=SimpleNamespace(topic=TOPIC, groups=[GROUP]),
        cancel=threading.Event(),
    )
    (injection,) = INJECTIONS[ResetOffsets]
    done = injection.inject(fault, trial, load)  # type: ignore[arg-type]
    assert (done.detail, done.exercised) == (detail, not detail.endswith(" 0 messages"))
    assert done.injecting_ns == done.injected_ns
    assert done.healed_ns is not None


def test_a_group_that_has_committed_is_reset_by_its_broker(broker: Broker) -> None:
    before_ms = time.time() * 1000
    _inject(ResetOffsets(back_s=5), Load(broker))
    assert (broker.looks, broker.did) == (3, ["g0 is reset in T"])
    assert before_ms - 5_001 <= broker.asked_ms[0] <= time.time() * 1000 - 5_000


def test_members_leave_before_their_offsets_are_set_and_come_back_after_it(broker: Broker) -> None:
    _inject(ResetOffsets(cure="away"), Load(broker))
    assert broker.did == ["leave", "g0 has 30 in 0", "g0 has 31 in 1", "come back"]


@pytest.mark.parametrize("fault", [ResetOffsets(), ResetOffsets(cure="away")], ids=lambda fault: fault.cure)
def test_a_group_that_goes_on_from_where_it_was_was_not_set_back(broker: Broker, fault: ResetOffsets) -> None:
    broker.takes = False
    _inject(fault, Load(broker), detail="g0 set back by 5 s, 0 messages")


@pytest.mark.parametrize("fault", [ResetOffsets(), ResetOffsets(cure="away")], ids=lambda fault: fault.cure)
def test_where_nothing_was_sent_meanwhile_nothing_can_be_set_back(broker: Broker, fault: ResetOffsets) -> None:
    broker.back = 72
    _inject(fault, Load(broker), detail="g0 set back by 5 s, 0 messages")


def test_members_that_cannot_leave_are_said(broker: Broker) -> None:
    with pytest.raises(ClientError, match="members can leave"):
        _inject(ResetOffsets(cure="away"), object())
