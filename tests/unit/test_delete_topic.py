"""An unused topic that is deleted some time after a check of transactions: what is asked in which order, on nodes of values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from harness.faults import delete_topic
from harness.faults.injections import INJECTIONS
from harness.faults.recreate_topic import Deleted
from harness.model.faults import DeleteTopic

Run = Callable[..., list[str]]


@pytest.fixture
def deleted(monkeypatch: pytest.MonkeyPatch) -> Run:
    """What a fault did, in order, where the second look finds that a check has passed."""

    def run(fault: DeleteTopic, left_on: tuple[str, ...] = ()) -> list[str]:
        did: list[str] = []
        offsets = iter([16, 16, 40])

        def make(topic: str, *, read_queues: int, write_queues: int) -> None:
            did.append(f"{topic} is made, {read_queues} and {write_queues}")

        @contextmanager
        def ask(node: SimpleNamespace, **options: object) -> Iterator[SimpleNamespace]:
            yield SimpleNamespace(create_topic=make)

        def checked(broker: SimpleNamespace) -> int:
            did.append(f"{broker.name} is at {(found := next(offsets))}")
            return found

        monkeypatch.setattr(delete_topic, "POLL_S", 0.001)
        monkeypatch.setattr(delete_topic, "ask", ask)
        monkeypatch.setattr(delete_topic, "checked_up_to", checked)
        monkeypatch.setattr(delete_topic, "create_topic", lambda cluster, topic, **queues: make(topic, **queues))

        def delete(cluster: object, topic: str) -> Deleted:
            did.append(f"{topic} is deleted")
            return Deleted(topic=topic, read_queues=1, write_queues=1, left_on=left_on)

        monkeypatch.setattr(delete_topic, "delete_topic", delete)
        trial: Any = SimpleNamespace(
            cluster=SimpleNamespace(nodes=[SimpleNamespace(name="a", kind="broker", broker_id=0)]),
            record=SimpleNamespace(topic="T"),
            cancel=threading.Event(),
            stay=lambda seconds: did.append(f"stay {seconds:g}"),
        )
        (injection,) = INJECTIONS[DeleteTopic]
        done = injection.inject(fault, trial, trial)
        assert (done.target, done.exercised) == ("T-unused", not left_on)
        assert done.detail == "T-unused was deleted" + (", and is on a still" if left_on else "")
        assert None not in (done.injecting_ns, done.injected_ns, done.healing_ns, done.healed_ns)
        return did

    return run


def test_a_topic_of_its_own_is_deleted_and_nothing_is_waited_for(deleted: Run) -> None:
    assert deleted(DeleteTopic()) == ["T-unused is made, 1 and 1", "T-unused is deleted"]


def test_a_topic_that_a_node_has_all_the_same_was_not_deleted(deleted: Run) -> None:
    deleted(DeleteTopic(), left_on=("a",))


def test_it_is_deleted_so_long_after_the_broker_came_further_in_its_half_messages(deleted: Run) -> None:
    assert deleted(DeleteTopic(after_check_s=4)) == [
        "T-unused is made, 1 and 1", "a is at 16", "a is at 16", "a is at 40", "stay 4", "T-unused is deleted",
    ]  # fmt: skip


def test_the_cure_makes_the_brokers_own_topic_first(deleted: Run) -> None:
    assert deleted(DeleteTopic(cure="op-topic"))[0] == "RMQ_SYS_TRANS_OP_HALF_TOPIC is made, 1 and 1"
