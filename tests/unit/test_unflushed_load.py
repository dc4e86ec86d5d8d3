"""A tail that is not flushed: in which order its load sends, waits and suspends its group, on a client and a broker of values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.java import ConsumerSpec
from harness.clients.leased import ScheduleSpec
from harness.load import base, one_group, unflushed
from harness.load.unflushed import UnflushedTailSession
from harness.model.unflushed import UnflushedTail
from harness.trial import TrialContext


class Clients:
    """One client and one broker, which has flushed at the third question."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.asked = 0

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self.did.append(f"{spec.name}: {spec.operations} from {spec.sends.first}")

    def schedule_state(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(is_through=True)

    def suspend_consumer(self, instance: str) -> None:
        self.did.append("suspend")

    def resume_consumer(self, instance: str) -> None:
        self.did.append("resume")

    def start_producer(self, *of: str, **settings: object) -> None:
        self.did.append(f"producer {settings}")

    def wait_for_route(self, *of: object) -> None:
        self.did.append("route")

    def wait_consumer_started(self, spec: ConsumerSpec, addresses: str, cancel: threading.Event) -> None:
        self.did.append(f"{spec.group} {dict(spec.settings)}")

    def queue_counts(self, topic: str) -> dict[str, int]:
        return {"consumer": 1}

    def runtime_info(self) -> dict[str, str]:
        self.asked += 1
        return {"remainHowManyDataToFlush": "0 B" if self.asked > 2 else "260 B"}


@pytest.fixture
def clients() -> Clients:
    return Clients()


@pytest.fixture
def session(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of a load, made by its value."""

    @contextmanager
    def ask(node: object, timeout_s: float) -> Iterator[Clients]:
        yield clients

    def left(*of: object) -> int:
        clients.did.append("consumed?")
        return 0

    def ends(*of: object, moment: str, on: object) -> None:
        clients.did.append(f"ends {moment}")

    monkeypatch.setattr(unflushed, "ask", ask)
    monkeypatch.setattr(unflushed, "record_queue_ends", ends)
    monkeypatch.setattr(unflushed, "FLUSH_POLL_S", 0.001)
    monkeypatch.setattr(one_group, "unconsumed", left)
    monkeypatch.setattr(one_group, "create_topic", lambda *of, **numbers: clients.did.append("topic"))
    for module in (unflushed, one_group):
        monkeypatch.setattr(module, "masters", lambda cluster: [SimpleNamespace(name="broker-a")])
    for module in (base, one_group):
        monkeypatch.setattr(module, "namesrv_addresses", lambda cluster: "127.0.0.1:9876")
    trial = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=["g"]), phases=SimpleNamespace(recover_s=40.0, settle_s_max=5.0), cluster=None,
        events=None, cancel=threading.Event(), stay=lambda seconds: clients.did.append(f"stay {seconds}"), boots=nullcontext(),
        start_clients=lambda names: dict.fromkeys(names, clients),
    )  # fmt: skip

    def of(load: UnflushedTail) -> UnflushedTailSession:
        made = UnflushedTailSession(cast(TrialContext, trial), load)
        made._started = cast(Any, clients)
        return made

    return of


def test_no_client_asks_for_its_route_while_the_broker_is_away(clients: Clients, session: Any) -> None:
    session(UnflushedTail()).up()
    kept = "'pollNameServerInterval': 3600000"
    assert clients.did == [
        "topic",
        f"producer {{'transactional': False, {kept}}}", "route", f"g {{{kept}, 'heartbeatBrokerInterval': 3000}}",
    ]  # fmt: skip


def test_the_tail_comes_right_after_a_flush_of_a_single_message(clients: Clients, session: Any) -> None:
    session(UnflushedTail(waits=True)).steady()
    assert clients.did == [
        "history: 200 from 0", "consumed?", "marker: 1 from 200", "tail: 30 from 201", "stay 1.5", "suspend",
    ]  # fmt: skip
    assert clients.asked == 3


def test_a_group_that_does_not_wait_is_not_suspended(clients: Clients, session: Any) -> None:
    session(UnflushedTail()).steady()
    assert clients.did[-1] == "stay 1.5"


def test_what_is_sent_after_the_return_is_stored_before_the_group_asks_again(clients: Clients, session: Any) -> None:
    one = session(UnflushedTail(sent_back=20, waits=True))
    one.steady()
    clients.did.clear()
    one.recover()
    assert clients.did == ["ends held", "back: 20 from 231", "resume", "stay 40.0"]


def test_where_nothing_is_sent_only_time_passes(clients: Clients, session: Any) -> None:
    session(UnflushedTail()).recover()
    assert clients.did == ["ends held", "stay 40.0"]
