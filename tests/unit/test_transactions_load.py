"""Transactional sends: what their load sends, and for what it waits, on a client and brokers of values."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.java import ConsumerSpec, Setting
from harness.clients.leased import ScheduleSpec
from harness.errors import WaitTimeout
from harness.load import one_group, transactions
from harness.load.transactions import TransactionsSession
from harness.model.loads import ROLLED_BACK, STATE_PREFIX, UNDECIDED, Transactions
from harness.paths import PACKAGES
from harness.trial import TrialContext

BROKER = SimpleNamespace(name="broker-a")


class Client:
    """A client process that does what it is told at once."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.specs: dict[str, ScheduleSpec] = {}
        self.consumers: list[ConsumerSpec] = []
        self.producer: dict[str, object] = {}
        self.due = 0

    def start_producer(
        self, instance: str, group: str, addresses: str, *, transactional: bool, **settings: Setting
    ) -> None:
        self.producer = {"group": group, "transactional": transactional, **settings}

    def wait_for_route(self, instance: str, topic: str, queues: int) -> None:
        self.did.append(f"{queues} queues")

    def wait_consumer_started(self, spec: ConsumerSpec, addresses: str, *, cancel: threading.Event) -> None:
        self.consumers.append(spec)

    def queue_counts(self, topic: str) -> dict[str, int]:
        return {spec.instance: 2 for spec in self.consumers}

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self.specs[spec.name] = spec
        self.did.append(f"{spec.name} begins")

    def stop_schedule(self, name: str) -> None:
        self.did.append(f"{name} ends")

    def schedule_state(self, name: str) -> SimpleNamespace:
        sending = f"{name} ends" not in self.did
        self.due += sending
        return SimpleNamespace(due=self.due, ended=self.due, sending=sending, is_through=not sending)


@pytest.fixture
def client() -> Client:
    return Client()


def _session(client: Client, load: Transactions, **params: float) -> TransactionsSession:
    trial = SimpleNamespace(
        record=SimpleNamespace(topic="T", groups=["g0"]),
        phases=SimpleNamespace(steady_s=2.0, hold_s_min=8.0, hold_s_max=8.2, settle_s_max=5.0, drain_s_max=5.0),
        cluster=None,
        params=params,
        stay=lambda seconds: client.did.append(f"stay {seconds:g}"),
        cancel=threading.Event(),
        events=SimpleNamespace(record=lambda kind, complete, remaining: client.did.append(f"drained: {complete}")),
    )
    session = TransactionsSession(cast(TrialContext, trial), load)
    session._started = cast(Any, client)
    return session


@pytest.fixture(autouse=True)
def _brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "POLL_S", 0.001)
    monkeypatch.setattr(one_group, "create_topic", lambda *_, **__: None)
    monkeypatch.setattr(one_group, "unconsumed", lambda *_: 0)
    for module in (transactions, one_group):
        monkeypatch.setattr(module, "masters", lambda cluster: [BROKER])
    for name in ("one_group", "base"):
        monkeypatch.setattr(f"harness.load.{name}.namesrv_addresses", lambda cluster: "127.0.0.1:9876")


def test_plain_messages_are_sent_until_the_group_reads_and_none_has_a_transactions_number(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_read = iter([False, False, True])
    monkeypatch.setattr(transactions, "has_committed", lambda *_: next(has_read))
    session = _session(client, Transactions())
    monkeypatch.setattr(session, "_start_process", lambda: None)
    session.up()
    assert client.producer == {"group": "T-p", "transactional": True, "heartbeatBrokerInterval": 1000}
    assert [spec.settings for spec in client.consumers] == [{"heartbeatBrokerInterval": 1000}]
    assert client.did == ["2 queues", "first begins", "first ends"]
    assert next(has_read, None) is None
    first = client.specs["first"].sends
    session.steady()
    sends = client.specs["transactions"].sends
    assert (sends.mode, sends.keys, sends.key_prefix, sends.key_distribution) == ("transaction", 2, "state", "cycle")
    assert (first.mode, first.keys) == ("sync", 0)
    assert sends.first + client.specs["transactions"].operations < first.first


def test_a_cell_says_the_rate_and_a_load_how_many(client: Client) -> None:
    _session(client, Transactions(rate_hz=8.0), rate_hz=50).steady()
    assert client.specs["transactions"].rate_hz == 50
    limited = Client()
    _session(limited, Transactions(states=3, transactions=9)).steady()
    spec = limited.specs["transactions"]
    assert (spec.operations, spec.rate_hz, spec.sends.keys) == (9, 8.0, 3)


def test_a_hold_ends_when_a_broker_has_looked_for_transactions(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = iter([40, 40, 40, 88])
    monkeypatch.setattr(transactions, "checked_up_to", lambda broker: next(offsets))
    _session(client, Transactions()).hold()
    assert client.did == ["stay 8"]
    assert next(offsets, None) is None


def test_a_hold_without_such_a_look_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "checked_up_to", lambda broker: 40)
    with pytest.raises(WaitTimeout, match="a check of transactions"):
        _session(client, Transactions()).hold()


def test_what_is_sent_is_stopped_before_the_group_is_waited_for(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.load.base.POLL_S", 0.001)
    _session(client, Transactions()).drain()
    assert [did for did in client.did if not did.startswith("stay")] == [
        "first ends", "transactions ends", "drained: True"
    ]  # fmt: skip


def test_the_recorder_ends_transactions_by_the_keys_that_the_load_sends() -> None:
    source = (PACKAGES / "harness" / "clients" / "recorder" / "Transactions.java").read_text("utf-8")
    for state in (ROLLED_BACK, UNDECIDED):
        assert f'"{STATE_PREFIX}{state}".equals(key)' in source
