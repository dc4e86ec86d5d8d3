from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace, TracebackType
from typing import Any, cast

import pytest

from harness.backends.cluster import Node
from harness.backends.nodes import CLUSTER_NAME
from harness.errors import ClientError
from harness.faults import frame_limit
from harness.faults.frame_limit import flood
from harness.model.cluster import BrokerSettings, TopicsAhead
from harness.model.faults import CrossFrameLimit
from harness.model.loads import SteadyClients
from harness.model.scenario import Arm
from harness.protocol.broker import TopicConfig, TopicTable
from harness.protocol.registration import Registrant, frame_of_listing, topic_bytes
from harness.trial import Injected, LoadSession, TrialContext

LIMIT_BYTES = 100_000
USUAL_BYTES, LONG_BYTES = 54, 127
BROKER = Node(
    name="broker-a", kind="broker", address="127.0.0.1:21000", role="ASYNC_MASTER", broker_name="broker-a", broker_id=0
)
SERVERS = [Node(name=f"namesrv-{number}", kind="namesrv", address=f"127.0.0.1:2200{number}") for number in (1, 2, 3)]
REGISTRANT = Registrant(
    broker_name="broker-a",
    broker_id=0,
    cluster=CLUSTER_NAME,
    address=BROKER.address,
    ha_address="127.0.0.1:21001",
    has_attributes=False,
)


class Flooded:
    """A broker whose table grows with heartbeats, and name servers of which some do not answer."""

    def __init__(self, topics: int, silent: Sequence[str] = (), *, makes: bool = True, refuses: bool = True) -> None:
        self.names = [f"{index:0{USUAL_BYTES}d}" for index in range(topics)]
        self.silent = silent
        self.makes, self.refuses = makes, refuses

    def table(self) -> TopicTable:
        topics = tuple(TopicConfig(name=name, read_queues=1, write_queues=1) for name in self.names)
        size = 100 + sum(topic_bytes(len(name), has_attributes=False) for name in self.names)
        return TopicTable(topics=topics, json_bytes=size)

    def is_refused(self) -> bool:
        return self.refuses and frame_of_listing(self.table().json_bytes, REGISTRANT) > LIMIT_BYTES

    def ask(self, node: Node, *, timeout_s: float = 5.0) -> Asked:
        return Asked(self, node)


class Asked:
    def __init__(self, flooded: Flooded, node: Node) -> None:
        self._flooded = flooded
        self._node = node

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def topic_table(self) -> TopicTable:
        return self._flooded.table()

    def heartbeat(self, client_id: str, groups: Sequence[str], topic: str) -> None:
        self._flooded.names += [f"%RETRY%{group}" for group in groups] if self._flooded.makes else []

    def cluster_brokers(self) -> Mapping[str, Mapping[int, str]]:
        if self._node.name in self._flooded.silent:
            raise ClientError("it is busy")
        return {} if self._flooded.is_refused() else {"broker-a": {0: BROKER.address}}


class Events:
    def __init__(self) -> None:
        self.probes: dict[str, float] = {}

    def probe(self, measure: str, value: float, **details: object) -> None:
        self.probes[measure] = value


def _flood(
    monkeypatch: pytest.MonkeyPatch, flooded: Flooded, *, name_bytes: int, last_name_bytes: int
) -> dict[str, float]:
    """The probes of one that took effect."""
    done, probes = _done(monkeypatch, flooded, name_bytes=name_bytes, last_name_bytes=last_name_bytes)
    assert (done.exercised, done.detail) == (True, f"crossed the limit of {LIMIT_BYTES} bytes")
    return probes


def _done(
    monkeypatch: pytest.MonkeyPatch, flooded: Flooded, *, name_bytes: int, last_name_bytes: int, **more: Any
) -> tuple[Injected, dict[str, float]]:
    monkeypatch.setattr(frame_limit, "ask", flooded.ask)
    monkeypatch.setattr(frame_limit, "ask_name_server", flooded.ask)
    monkeypatch.setattr(frame_limit, "EFFECT_S", 0.002)
    events = Events()
    ahead = TopicsAhead(frame_bytes=LIMIT_BYTES, share=0.5, name_bytes=USUAL_BYTES)
    fault = CrossFrameLimit(frame_bytes=LIMIT_BYTES, last_name_bytes=last_name_bytes, **more)
    trial = SimpleNamespace(
        arm=Arm(
            name="incident",
            what="",
            fault=fault,
            load=SteadyClients(),
            broker=BrokerSettings(topics_ahead=ahead),
        ),
        params={"name_bytes": name_bytes},
        record=SimpleNamespace(topic="orders"),
        cluster=SimpleNamespace(nodes=[*SERVERS, BROKER]),
        events=events,
        cancel=threading.Event(),
        stay=lambda seconds: None,
    )
    done = flood(fault, cast(TrialContext, trial), cast(LoadSession, cast(Any, None)))
    return done, events.probes


def test_the_crossing_is_where_it_was_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = _flood(monkeypatch, Flooded(250), name_bytes=LONG_BYTES, last_name_bytes=0)
    assert probes["topics_at_limit"] == probes["topics_at_limit_predicted"]
    assert probes["bytes_per_topic"] == topic_bytes(LONG_BYTES, has_attributes=False)


def test_the_last_groups_have_names_of_their_own_length_and_cross_the_line_by_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flooded = Flooded(250)
    probes = _flood(monkeypatch, flooded, name_bytes=LONG_BYTES, last_name_bytes=USUAL_BYTES)
    assert probes["topics_at_limit"] == probes["topics_at_limit_predicted"]
    came = [len(name) for name in flooded.names[250:]]
    crossed_at = int(probes["topics_at_limit"]) - 250
    assert came[:20] == [LONG_BYTES] * 20
    assert set(came[crossed_at - frame_limit.CLOSE :]) == {USUAL_BYTES}
    over = (probes["frame_share_after"] - 1) * LIMIT_BYTES
    assert 0 < over <= topic_bytes(USUAL_BYTES, has_attributes=False)
    # Two lengths have no bytes per topic.
    assert "bytes_per_topic" not in probes


def test_a_flood_that_makes_no_topic_or_crosses_no_limit_took_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    def done(flooded: Flooded, **more: Any) -> Injected:
        return _done(monkeypatch, flooded, name_bytes=USUAL_BYTES, last_name_bytes=0, **more)[0]

    assert done(Flooded(250), stop_at_share=0.8).exercised is True
    idle = done(Flooded(250, makes=False), stop_at_share=0.8)
    assert (idle.exercised, idle.detail) == (False, "stopped at 0.59 of the limit of 100000 bytes")
    assert done(Flooded(250, refuses=False)).exercised is False
    crossed = done(Flooded(415), stop_at_share=0.9)
    assert crossed.exercised is True, "it is that long already"


def test_a_name_server_that_does_not_answer_has_refused_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    probes = _flood(
        monkeypatch, Flooded(380, silent=["namesrv-2"]), name_bytes=USUAL_BYTES, last_name_bytes=USUAL_BYTES
    )
    assert probes["topics_at_limit"] == probes["topics_at_limit_predicted"]


def test_a_line_that_is_close_from_the_start_is_crossed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    flooded = Flooded(418)
    probes = _flood(monkeypatch, flooded, name_bytes=LONG_BYTES, last_name_bytes=USUAL_BYTES)
    assert probes["topics_at_limit"] == probes["topics_at_limit_predicted"]
    assert {len(name) for name in flooded.names[418:]} == {USUAL_BYTES}
