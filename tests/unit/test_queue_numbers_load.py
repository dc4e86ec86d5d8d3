from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import WaitTimeout
from harness.faults.topic_resize import resize
from harness.load import queue_numbers
from harness.load.queue_numbers import QueueNumbersSession
from harness.model.faults import ResizeTopic
from harness.model.loads import QueueNumbers
from harness.trial import Injected

IN_ORDER = ((4, 8, 1.0), (4, 4, 2.0))


class _Topic:
    def __init__(self, numbers: tuple[int, int]) -> None:
        self.numbers = numbers
        self.did: list[object] = []

    def resize(self, write_queues: int, read_queues: int) -> None:
        self.numbers = (write_queues, read_queues)
        self.did.append(self.numbers)

    def wait_until_read(self, first_queue: int) -> None:
        self.did.append(f"read from {first_queue} on")


def _resized(fault: ResizeTopic, numbers: tuple[int, int]) -> tuple[Injected, list[object]]:
    topic = _Topic(numbers)
    trial: Any = SimpleNamespace(record=SimpleNamespace(topic="T"), stay=topic.did.append)
    return resize(fault, trial, cast(Any, topic)), topic.did


def test_read_queues_go_when_nothing_is_unread_in_them_if_the_fault_says_so() -> None:
    injected, did = _resized(ResizeTopic(steps=IN_ORDER, drained=True), (8, 8))
    assert did == [(4, 8), 1.0, "read from 4 on", (4, 4), 2.0]
    assert injected.detail == "write 4 read 8; write 4 read 4"


@pytest.mark.parametrize(
    ("fault", "numbers"),
    [
        (ResizeTopic(steps=IN_ORDER), (8, 8)),
        (ResizeTopic(steps=((8, 8, 1.0),), drained=True), (8, 4)),
    ],
    ids=["not asked to", "none goes"],
)
def test_else_nobody_waits_for_what_is_unread(fault: ResizeTopic, numbers: tuple[int, int]) -> None:
    assert not [one for one in _resized(fault, numbers)[1] if isinstance(one, str)]


def _session(given: Sequence[Sequence[int]], unread: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The first and second member have so many queues at one look after the other; the last look stays."""
    looks, left = list(given), list(unread)
    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=("g0",)),
        phases=SimpleNamespace(settle_s_max=1.5, hold_s_max=5.0, drain_s_max=1.5),
        cluster=SimpleNamespace(nodes=()),
        params={"brokers": 1.0},
        stay=lambda seconds: did.append(f"stayed {seconds}"),
        cancel=threading.Event(),
    )
    did: list[str] = []

    def queue_counts(topic: str) -> dict[str, int]:
        now = looks.pop(0) if len(looks) > 1 else looks[0]
        did.append(f"looked at {topic}")
        return dict(zip(("g0-first", "g0-second"), now, strict=True))

    def unconsumed(*named: object, on: object, first: int) -> int:
        did.append(f"first {first}")
        return left.pop(0) if len(left) > 1 else left[0]

    monkeypatch.setattr(queue_numbers, "POLL_S", 0.01)
    monkeypatch.setattr(queue_numbers, "masters", lambda cluster: [SimpleNamespace(name="broker-a")])
    monkeypatch.setattr(queue_numbers, "unconsumed", unconsumed)
    session = cast(Any, QueueNumbersSession(trial, QueueNumbers(groups=1)))
    session._started = SimpleNamespace(queue_counts=queue_counts)
    session._record = did.append
    session.did = did
    return session


def test_the_hold_ends_when_the_members_have_all_queues_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session([(4, 0), (4, 3), (4, 4)], [0], monkeypatch)
    session.hold()
    assert session.did == ["looked at T"] * 3 + ["stayed 5.0", "held"]


def test_a_group_that_is_never_given_all_queues_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session([(4, 3)], [0], monkeypatch)
    session.hold()
    assert session.did[-2:] == ["stayed 5.0", "held"]


def test_it_is_waited_until_the_queues_that_go_have_been_read(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session([(4, 4)], [-1, 3, 0], monkeypatch)
    session.wait_until_read(4)
    assert session.did == ["first 4"] * 3


def test_queues_that_are_never_read_end_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _session([(4, 4)], [3], monkeypatch)
    with pytest.raises(WaitTimeout, match="the groups to have read the queues from 4 on"):
        session.wait_until_read(4)
