"""A node of a release that no test has held to the border: where it listens is looked at, and one that is open is ended."""

from __future__ import annotations

import os
from collections import namedtuple
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from harness.backends.local import LocalCluster, listens_outside
from harness.backends.nodes import _as_spelled
from harness.errors import ReleaseError

Address = namedtuple("Address", "ip port")


def _connections(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, str]) -> None:
    found = [SimpleNamespace(laddr=Address(ip, 10911), status=status) for ip, status in addresses]
    monkeypatch.setattr(psutil.Process, "net_connections", lambda self, kind: found)


def _cluster(release: str) -> LocalCluster:
    cluster = LocalCluster.__new__(LocalCluster)
    launch = SimpleNamespace(node=SimpleNamespace(release=release))
    cluster._blueprint = cast(Any, SimpleNamespace(launch=lambda name: launch))
    cluster._running = {"broker-a": cast(Any, SimpleNamespace(pid=os.getpid()))}
    return cluster


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.1.2.3", "::ffff:10.1.2.3"])
@pytest.mark.parametrize("status", [psutil.CONN_LISTEN, psutil.CONN_NONE])
def test_a_node_that_listens_outside_is_not_run(monkeypatch: pytest.MonkeyPatch, address: str, status: str) -> None:
    _connections(monkeypatch, ("127.0.0.1", psutil.CONN_LISTEN), (address, status))
    with pytest.raises(ReleaseError, match=r"RocketMQ 5.1.4 is not run: its broker-a listens on .*:10911"):
        _cluster("5.1.4")._require_border("broker-a")


def test_one_that_listens_on_loopback_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = (
        ("127.0.0.1", psutil.CONN_LISTEN),
        ("::1", psutil.CONN_LISTEN),
        ("::ffff:127.0.0.1", psutil.CONN_LISTEN),
        ("10.1.2.3", psutil.CONN_ESTABLISHED),
    )
    _connections(monkeypatch, *inside)
    _cluster("5.1.4")._require_border("broker-a")
    assert listens_outside(os.getpid()) == []


def test_a_recorded_release_was_held_to_it_by_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    _connections(monkeypatch, ("0.0.0.0", psutil.CONN_LISTEN))
    _cluster("5.3.3")._require_border("broker-a")


def test_the_labs_own_settings_have_the_names_of_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    known = SimpleNamespace(broker={"mapedFileSizeCommitLog": "1", "fileReservedTime": "72"})
    monkeypatch.setattr("harness.backends.nodes.settings_of", lambda release: known)
    wanted = {"mappedFileSizeCommitLog": "64", "fileReservedTime": "1"}
    assert _as_spelled(wanted, "4.4.0") == {"mapedFileSizeCommitLog": "64", "fileReservedTime": "1"}
    monkeypatch.undo()
    assert _as_spelled(wanted, "4.6.0") == wanted
