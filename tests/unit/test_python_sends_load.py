"""Kinds of send of Python's clients: which producers and processes their load has, and when its fault may come."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from harness.clients.leased import ScheduleSpec
from harness.clients.python.clients import CLIENTS
from harness.load import python_sends, send_kinds
from harness.load.python_sends import PythonSendKindsSession
from harness.model.cluster import Topology
from harness.model.python_sends import CLIENT_NAMES, PYTHON_KINDS, PythonSendKind, PythonSendKinds
from harness.model.scenario import Phases
from harness.trial import TrialContext

SYNC = PythonSendKind(client="native", route="normal", mode="sync")
ORDERED = PythonSendKind(client="native", route="selector", mode="sync", retries=3)
LAYER = PythonSendKind(client="rocketmq-client-python", route="normal", mode="sync")
BROKERS = [
    SimpleNamespace(address=f"127.0.0.1:{port}", broker_name=name) for port, name in ((1, "broker-a"), (2, "broker-b"))
]


class Client:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.retries: dict[str, int] = {}
        self.recorded: list[str] = []
        self.specs: list[ScheduleSpec] = []
        self.stopped: list[str] = []

    def start_producer(self, name: str, group: str, addresses: str, *, retries: int) -> None:
        self.retries[name] = retries

    def record_calls(self, name: str, names: dict[str, str]) -> None:
        self.recorded.append(name)

    def start_schedule(self, spec: ScheduleSpec) -> None:
        self.specs.append(spec)

    def stop_schedule(self, name: str) -> None:
        self.stopped.append(name)


def _session(load: PythonSendKinds, clients: dict[str, Client], sent_s: float = 8.0) -> PythonSendKindsSession:
    def start(kind: str, *, give_up_s: float) -> Client:
        assert give_up_s >= 12.0, "five tries of 3 s, of which the first is in the timeout"
        return clients.setdefault(kind, Client())

    phases = Phases(steady_s=2.0, hold_s_min=sent_s, hold_s_max=sent_s + 12, recover_s=2.0)
    record = SimpleNamespace(topic="T", trial="t", groups=["T-g"])
    trial = SimpleNamespace(record=record, cluster=None, phases=phases, start_python_client=start)
    return PythonSendKindsSession(cast(TrialContext, trial), load)


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (python_sends, send_kinds):
        monkeypatch.setattr(module, "masters", lambda cluster: BROKERS)
        monkeypatch.setattr(module, "namesrv_addresses", lambda cluster: "127.0.0.1:3")
    monkeypatch.setattr(send_kinds, "create_topic", lambda cluster, topic, **numbers: None)
    monkeypatch.setattr(PythonSendKindsSession, "_start_process", lambda session: None)


def test_each_client_has_a_process_with_the_producers_of_its_kinds() -> None:
    clients: dict[str, Client] = {}
    session = _session(PythonSendKinds(kinds=(SYNC, ORDERED, LAYER)), clients)
    session.up()
    assert {name: list(client.retries.items()) for name, client in clients.items()} == {
        "native": [(SYNC.name, 0), (ORDERED.name, 3)],
        "rocketmq-client-python": [(LAYER.name, 0)],
    }
    for client in clients.values():
        assert client.recorded == list(client.retries) == [spec.instance for spec in client.specs]
    specs = {spec.instance: spec.sends for client in clients.values() for spec in client.specs}
    assert [(specs[kind.name].first, specs[kind.name].step) for kind in (SYNC, ORDERED, LAYER)] == [
        (0, 3),
        (1, 3),
        (2, 3),
    ]
    session._senders.stop_schedule(LAYER.name)
    assert (clients["native"].stopped, clients["rocketmq-client-python"].stopped) == ([], [LAYER.name])


@pytest.mark.parametrize(
    ("since_s", "sent_s", "is_far"),
    [
        (2.0, 8.0, False),  # the first question comes 3 s after a producer's start
        (6.0, 8.0, False),  # the last producer, 4 s younger than the first one, has just asked, or is about to
        (10.0, 8.0, True),
        (22.0, 8.0, True),
        (24.0, 8.0, False),  # the next question comes 33 s after the first start
        (39.0, 8.0, False),
        (40.0, 8.0, True),
        (24.0, 41.0, True),  # all of them ask while messages are sent, whenever it begins
    ],
)
def test_a_fault_comes_when_no_producer_is_about_to_ask_for_its_route(
    monkeypatch: pytest.MonkeyPatch, since_s: float, sent_s: float, is_far: bool
) -> None:
    session = _session(PythonSendKinds(), {}, sent_s)
    session._begun_s, session._started_s = 100.0, 104.0
    monkeypatch.setattr(python_sends, "time", SimpleNamespace(monotonic=lambda: 100.0 + since_s))
    assert session._is_far_from_questions() is is_far


def test_the_kinds_are_those_that_each_client_can() -> None:
    for kind in PYTHON_KINDS:
        can = CLIENTS[kind.client].can
        assert kind.mode in (can.ordered_modes if kind.route == "selector" else can.modes)
        assert (kind.retries is not None) == (kind.route == "selector" and kind.mode == "sync")
        assert can.name.endswith(CLIENT_NAMES[kind.client])
    assert len({kind.name for kind in PYTHON_KINDS}) == len(PYTHON_KINDS)


def test_a_load_is_of_the_clients_that_send() -> None:
    assert PythonSendKinds().client_of("5.5.0") == "rocketmq 0.4.4 and rocketmq-client-python 2.0.0"
    assert PythonSendKinds(kinds=(LAYER,)).client_of("5.5.0") == "rocketmq-client-python 2.0.0"
    assert PythonSendKinds().messages_hz(Topology(name="two-masters", masters=2), {}) == 5.0 * len(PYTHON_KINDS)
