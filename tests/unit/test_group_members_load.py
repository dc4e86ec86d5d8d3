"""Groups of members: when each is started, and what its client and the producer's are told, on clients of values."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.java import ConsumerSpec
from harness.load import group_members
from harness.load.base import KEPT_ROUTE
from harness.load.group_members import GroupMembersSession
from harness.model.group_members import GroupMembers, Member
from harness.trial import TrialContext

MEMBERS, SECONDS = ("a-first", "a-second", "b-first", "b-second"), "pollNameServerInterval"


class Clients:
    """Those of one trial, which note what they are told; time passes only where the load stays."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.started: list[tuple[float, str, str, ConsumerSpec]] = []
        self.producer: dict[str, object] = {}
        self.releases: list[str] = []

    def of(self, names: Iterable[str], release: str) -> dict[str, Any]:
        self.releases.append(release)
        return {name: self._one(name) for name in names}

    def _one(self, name: str) -> Any:
        def start(spec: ConsumerSpec, addresses: str, cancel: threading.Event) -> None:
            self.started.append((round(self.now_s, 3), name, spec.instance, spec))

        def produce(instance: str, group: str, namesrv: str, **settings: object) -> None:
            self.producer = settings

        return SimpleNamespace(
            wait_for_route=lambda *of: None, start_producer=produce, wait_consumer_started=start,
            queue_counts=lambda topic: dict.fromkeys(MEMBERS, 2),
        )  # fmt: skip

    def stay(self, seconds: float) -> None:
        self.now_s += max(0.0, seconds)


def _up(monkeypatch: pytest.MonkeyPatch, load: GroupMembers) -> Clients:
    clients = Clients()
    monkeypatch.setattr(group_members, "masters", lambda cluster: [SimpleNamespace()])
    monkeypatch.setattr(group_members, "namesrv_addresses", lambda cluster: "127.0.0.1:9876")
    monkeypatch.setattr("harness.load.base.namesrv_addresses", lambda cluster: "127.0.0.1:9876")
    monkeypatch.setattr(group_members, "create_topic", lambda *of, **numbers: None)
    monkeypatch.setattr(group_members, "time", SimpleNamespace(monotonic=lambda: clients.now_s))
    trial = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=("a", "b"), trial="t"), phases=SimpleNamespace(settle_s_max=5.0), cluster=None,
        cancel=threading.Event(), boots=nullcontext(), start_clients=clients.of, stay=clients.stay,
        events=SimpleNamespace(record=lambda *of, **fields: None),
    )  # fmt: skip
    GroupMembersSession(cast(TrialContext, trial), load).up()
    return clients


def test_members_start_evenly_over_the_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = _up(monkeypatch, GroupMembers(members=(Member(), Member()), groups=2, start_spread_s=30.0))
    assert [start[:3] for start in clients.started] == [
        (0.0, "first", "a-first"), (7.5, "second", "a-second"), (15.0, "first", "b-first"), (22.5, "second", "b-second"),
    ]  # fmt: skip


def test_without_a_spread_they_start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = _up(monkeypatch, GroupMembers(members=(Member(), Member()), groups=2))
    assert {start[0] for start in clients.started} == {0.0}


@pytest.mark.parametrize(("keeps", "producer", "members"), [("nobody", 0, 0), ("producer", 1, 0), ("all", 1, 1)])
def test_who_keeps_its_route_is_told_not_to_ask_again(
    monkeypatch: pytest.MonkeyPatch, keeps: Any, producer: int, members: int
) -> None:
    clients = _up(monkeypatch, GroupMembers(members=(Member(), Member()), groups=2, keeps_route=keeps))
    settings = itertools.chain(
        [(producer, clients.producer)], ((members, start[3].settings) for start in clients.started)
    )
    for is_told, given in settings:
        assert given.get(SECONDS) == (KEPT_ROUTE[SECONDS] if is_told else None)


def test_clients_are_of_the_release_that_the_load_names(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = _up(monkeypatch, GroupMembers(members=(Member(), Member()), groups=2, members_release="5.5.0"))
    assert clients.releases == ["5.5.0"]


def test_the_fault_waits_until_every_group_has_consumed_from_every_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    @contextmanager
    def ask(node: object, timeout_s: float) -> Iterator[Any]:
        def committed(group: str, topic: str, queue: int) -> int | None:
            asked.append((group, queue))
            return None if asked.count((group, queue)) < 2 else queue + 1

        yield SimpleNamespace(consumer_offset=committed)

    monkeypatch.setattr(group_members, "masters", lambda cluster: [SimpleNamespace(name="broker-a")])
    monkeypatch.setattr(group_members, "ask", ask)
    monkeypatch.setattr("harness.load.base.POLL_S", 0.001)
    trial = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=("a", "b")), phases=SimpleNamespace(settle_s_max=20.0), cluster=None,
        cancel=threading.Event(),
    )  # fmt: skip
    load = GroupMembers(members=(Member(), Member()), groups=2, queues=2, start_spread_s=30.0)
    GroupMembersSession(cast(TrialContext, trial), load)._wait_consuming()
    assert {one: asked.count(one) for one in asked} == {("a", 0): 5, ("a", 1): 4, ("b", 0): 3, ("b", 1): 2}
