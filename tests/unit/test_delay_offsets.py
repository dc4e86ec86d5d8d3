"""A broker that ends some seconds after it wrote how far its delay levels are, on a cluster of values."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import WaitTimeout
from harness.faults import delay_offsets
from harness.faults.injections import INJECTIONS
from harness.model.faults import RestartAmidDelays


class Cluster:
    """One broker, of whose ends and starts it keeps a list."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = [SimpleNamespace(name="broker-a", broker_name="broker-a", kind="broker", broker_id=0)]
        self.did: list[str] = []

    def kill_node(self, name: str) -> tuple[int, int]:
        self.did.append(f"kill {name}")
        return 10, 20

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        self.did.append(f"stop {name}")
        return True

    def restart_node(self, name: str) -> None:
        self.did.append(f"start {name}")


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


@pytest.fixture
def written(cluster: Cluster) -> Path:
    """The file as a write of before left it."""
    path = cluster.folder / "nodes" / "broker-a" / "store" / "config" / delay_offsets.FILE
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    return path


def _trial(cluster: Cluster) -> Any:
    return SimpleNamespace(
        cluster=cluster,
        cancel=threading.Event(),
        stay=lambda seconds: cluster.did.append(f"stay {seconds:g}"),
    )


@pytest.mark.parametrize(("ends", "how"), [("killed", "kill"), ("stopped", "stop")])
def test_the_broker_ends_so_long_after_a_write(
    ends: Any, how: str, cluster: Cluster, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks = delay_offsets.changed_ns, iter([1, 1, 2])

    def changed_ns(path: Path) -> int:
        os.utime(written, ns=(0, next(looks)))
        return look(path)

    monkeypatch.setattr(delay_offsets, "changed_ns", changed_ns)
    (injection,) = INJECTIONS[RestartAmidDelays]
    done = injection.inject(RestartAmidDelays(ends=ends), _trial(cluster), _trial(cluster))
    assert cluster.did == ["stay 4", f"{how} broker-a", "start broker-a"]
    assert None not in (done.injecting_ns, done.injected_ns, done.healing_ns, done.healed_ns)


def test_a_broker_that_never_writes_stays(cluster: Cluster, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay_offsets, "WRITE_S_MAX", 0.1)
    (injection,) = INJECTIONS[RestartAmidDelays]
    with pytest.raises(WaitTimeout, match=delay_offsets.FILE):
        injection.inject(RestartAmidDelays(), _trial(cluster), _trial(cluster))
    assert cluster.did == []
