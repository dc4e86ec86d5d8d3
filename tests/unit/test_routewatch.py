from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.backends.cluster import Node
from harness.errors import ClientError, TargetNotAllowedError
from harness.load import route_watch
from harness.load.route_watch import SILENT, RouteWatch
from harness.protocol.name_server import Route
from harness.rundir.events import EventLog
from harness.wait import wait_until

HERE = "127.0.0.1:10911"
NODES = [
    Node(name="namesrv-1", kind="namesrv", address="127.0.0.1:1"),
    Node(name="namesrv-2", kind="namesrv", address="127.0.0.1:2"),
    Node(name="broker-a", kind="broker", address=HERE, role="ASYNC_MASTER", broker_name="broker-a"),
]


class _Servers:
    """What each name server answers; None stands for no answer."""

    def __init__(self) -> None:
        self.brokers: dict[str, Mapping[str, Mapping[int, str]] | None] = {
            node.name: {"broker-a": {0: HERE}} for node in NODES if node.kind == "namesrv"
        }

    @contextlib.contextmanager
    def ask(self, node: Node, *, timeout_s: float) -> Iterator[SimpleNamespace]:
        brokers = self.brokers[node.name]
        if brokers is None:
            raise ClientError("no answer")
        route = Route(write_queues={"broker-a": 4}, read_queues={"broker-a": 4}) if brokers else None
        yield SimpleNamespace(cluster_brokers=lambda: brokers, route=lambda topic: route)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> _Servers:
    made = _Servers()
    monkeypatch.setattr(route_watch, "ask_name_server", made.ask)
    monkeypatch.setattr(route_watch, "PERIOD_S", 0.01)
    return made


def _records(path: Path) -> list[tuple[str, str, str]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [(one["node"], one["registered"], one["routed"]) for one in records]


def test_only_changes_are_recorded_and_silence_is_one(servers: _Servers, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path) as events:
        watch = RouteWatch(SimpleNamespace(nodes=NODES), events, "T")
        wait_until("both to agree", watch.agree, timeout_s=10.0)
        for answer, view in ((None, SILENT), ({}, ""), ({"broker-a": {0: HERE}}, "broker-a:0")):
            servers.brokers["namesrv-2"] = answer
            wait_until("the change", lambda view=view: watch.views()["namesrv-2"][0] == view, timeout_s=10.0)  # type: ignore[misc]
            assert watch.agree() is (view == "broker-a:0")
        watch.stop()
    recorded = _records(path)
    assert [one for one in recorded if one[0] == "namesrv-1"] == [("namesrv-1", "broker-a:0", "broker-a:4:4")]
    assert [one[1:] for one in recorded if one[0] == "namesrv-2"] == [
        ("broker-a:0", "broker-a:4:4"),
        (SILENT, SILENT),
        ("", ""),
        ("broker-a:0", "broker-a:4:4"),
    ]


def test_a_broker_elsewhere_is_refused(servers: _Servers, tmp_path: Path) -> None:
    servers.brokers["namesrv-1"] = {"broker-a": {0: "203.0.113.7:10911"}}
    with EventLog(tmp_path / "events.jsonl") as events:
        watch = RouteWatch(SimpleNamespace(nodes=NODES), events, "T")
        with pytest.raises(TargetNotAllowedError):
            wait_until("an agreement", watch.agree, timeout_s=10.0)
        watch.stop()
