"""Some kinds of send, or all of them: which producers and topics their load has, on a client of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.leased import ScheduleSpec
from harness.load import send_kinds
from harness.load.send_kinds import SendKindsSession
from harness.model.cluster import Topology
from harness.model.send_kinds import KINDS, SendKind, SendKinds
from harness.trial import TrialContext

TWO = Topology(name="two-masters", masters=2)
ASYNC, ALONE = SendKind(route="normal", mode="async"), SendKind(route="normal", mode="async", retries=0)
BROKERS = [
    SimpleNamespace(address=f"127.0.0.1:{port}", broker_name=name) for port, name in ((1, "broker-a"), (2, "broker-b"))
]


class Client:
    """Notes which producers it is asked for, with what, and which schedules."""

    def __init__(self) -> None:
        self.producers: dict[str, dict[str, Any]] = {}
        self.specs: list[ScheduleSpec] = []
        self.named: dict[str, str] = {}

    def start_producer(self, name: str, group: str, addresses: str, **settings: Any) -> None:
        self.producers[name] = settings

    def record_calls(self, name: str, names: dict[str, str]) -> None:
        self.named = names

    def wait_for_route(self, name: str, topic: str, queues: int) -> None:
        assert (topic, queues) == ("T-both", 2)

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self.specs.append(spec)


def test_kinds_that_are_chosen_have_the_only_producers_and_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(send_kinds, "masters", lambda cluster: BROKERS)
    monkeypatch.setattr(send_kinds, "namesrv_addresses", lambda cluster: "127.0.0.1:3")
    monkeypatch.setattr(send_kinds, "create_topic", lambda cluster, topic, **numbers: made.append(topic))
    trial = SimpleNamespace(record=SimpleNamespace(topic="T", trial="t", groups=["T-g"]), cluster=None)
    client = Client()
    session = SendKindsSession(cast(TrialContext, trial), SendKinds(kinds=(ASYNC, ALONE), timeout_ms=30_000))
    monkeypatch.setattr(session, "_start_process", lambda: None)
    session._started = cast(Any, client)
    session.up()
    assert made == ["T-both"]
    assert list(client.producers) == ["normal-async-two-off-both", "normal-async-none-off-both"]
    # Of the default a producer is told nothing.
    told = [settings.get("retryTimesWhenSendAsyncFailed") for settings in client.producers.values()]
    assert told == [None, 0]
    assert client.named == {"127.0.0.1:1": "broker-a", "127.0.0.1:2": "broker-b"}
    assert [(spec.sends.timeout_ms, spec.sends.first, spec.sends.step) for spec in client.specs] == [
        (30_000, 0, 2),
        (30_000, 1, 2),
    ]


def test_all_kinds_have_both_topics_and_one_its_own() -> None:
    assert SendKinds().group_names() == ("both", "one")
    assert SendKinds().messages_hz(TWO, {}) == 5.0 * len(KINDS)
    assert SendKinds(kinds=(ASYNC,)).group_names() == ("both",)
    assert SendKinds(kinds=(ASYNC,)).messages_hz(TWO, {}) == 5.0
