from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from harness.backends.cluster import Node
from harness.faults import server_views
from harness.faults.server_views import connections_between, forget_topic
from harness.model.faults import ForgottenTopic

SERVERS = [Node(name=f"namesrv-{number}", kind="namesrv", address=f"127.0.0.1:{number}") for number in (1, 2, 3)]


@contextlib.contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def other_pid() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process.pid
        process.kill()


def test_a_connection_counts_that_goes_to_the_port_of_another_server(other_pid: int) -> None:
    with _listening() as own, _listening() as other:
        ports = {os.getpid(): own.getsockname()[1], other_pid: other.getsockname()[1]}
        assert connections_between(ports) == set()
        with socket.create_connection(own.getsockname()):
            assert connections_between(ports) == set()
        with socket.create_connection(other.getsockname()) as to_other:
            assert connections_between(ports) == {(to_other.getsockname()[1], ports[other_pid])}


class _Topic:
    """A load whose topic is given its queues again when the fault ends."""

    numbers = (4, 4)
    resized = 0

    def resize(self, write_queues: int, read_queues: int) -> None:
        self.resized += 1


def _forgotten(monkeypatch: pytest.MonkeyPatch, found: Any, pids: dict[str, int]) -> list[tuple[str, float]]:
    """The probes of a fault that was made and ended at once."""
    asked: list[str] = []
    probes: list[tuple[str, float]] = []

    @contextlib.contextmanager
    def ask(node: Node) -> Iterator[SimpleNamespace]:
        asked.append(node.name)
        yield SimpleNamespace(delete_route=asked.append, route=lambda topic: None)

    monkeypatch.setattr(server_views, "ask_name_server", ask)
    monkeypatch.setattr(server_views, "connections_between", found)
    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="T"),
        cluster=SimpleNamespace(nodes=SERVERS, pid=pids.get),
        events=SimpleNamespace(probe=lambda name, value, **more: probes.append((name, value))),
    )
    topic: Any = _Topic()
    done = forget_topic(ForgottenTopic(), trial, topic)
    assert (done.exercised, done.detail) == (True, "namesrv-3 has no route of T then")
    assert done.end is not None
    done.end()
    assert asked == ["namesrv-3", "T"]
    assert topic.resized == 1
    return probes


PIDS = {node.name: number for number, node in enumerate(SERVERS, start=100)}


def test_connections_between_name_servers_are_counted_while_one_lacks_a_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _forgotten(monkeypatch, lambda ports: {(5, port) for port in ports.values()}, PIDS) == [
        ("server_connections_count", 3)
    ]


def test_processes_that_cannot_be_seen_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(ports: object) -> set[tuple[int, int]]:
        raise psutil.AccessDenied

    assert _forgotten(monkeypatch, hidden, PIDS) == []
    assert _forgotten(monkeypatch, lambda ports: set(), {"namesrv-1": 100}) == []
