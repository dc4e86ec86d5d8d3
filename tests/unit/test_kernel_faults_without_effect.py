"""A fault by the kernel that changed nothing says so: packets, disks and limits of values that stay as they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.faults import broker_crash, dirty_pages, disk_full, network, owners, write_throttle
from harness.model.faults import (
    BrokerCrash,
    CutOffOwners,
    DiskFilled,
    DiskFull,
    Fault,
    LimitedPageCache,
    NetworkCut,
    NetworkDelay,
    PageCacheNeighbour,
    ThrottledWrites,
)
from harness.trial import Healed
from tests.lib.values import NODES, asked, ended, made, trial_of_values


class Lease:
    """One that ends."""

    record = SimpleNamespace(id="1")

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *of: None


@pytest.mark.parametrize("packets", [0, 3])
def test_a_cut_that_dropped_nothing_took_no_effect(packets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "dropped_packets", lambda lease: packets)
    monkeypatch.setattr(network, "cut_ports", lambda leases, ports, until_s: Lease())
    assert ended(made(NetworkCut(nodes=("broker-a",)))).exercised is (packets > 0)
    cut = network.Cut(lease=cast(Any, Lease()))
    monkeypatch.setattr(owners, "cut_processes", lambda leases, pairs, until_s: cut)
    monkeypatch.setattr(owners, "able", lambda load, to: load)
    client = SimpleNamespace(pid=1, name="owner", kill=lambda: (1, 2))
    load = SimpleNamespace(owners=lambda: client)
    assert ended(made(CutOffOwners(), load=load)).exercised is (packets > 0)


@pytest.mark.parametrize("packets", [0, 3])
def test_a_delay_that_delayed_nothing_took_no_effect(packets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_delayed_packets", lambda: packets)
    monkeypatch.setattr(network, "delay_ports", lambda leases, ports, delay_ms, until_s: Lease())
    assert ended(made(NetworkDelay(nodes=("broker-a",), delay_ms=5.0))).exercised is (packets > 0)


def test_a_disk_with_more_room_than_was_asked_is_not_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_full, "store_of", lambda node: SimpleNamespace(mountpoint=tmp_path))
    for left, took_effect in ((0, True), (10 * 2**20, False)):
        balloon = disk_full.Balloon(lease=cast(Any, Lease()), asked_bytes=0, left_bytes=left)
        monkeypatch.setattr(disk_full, "fill", lambda leases, store, free_bytes, until_s, one=balloon: one)
        assert ended(made(DiskFull(node="broker-a"))).exercised is took_effect
    empty = os.statvfs_result((4096, 4096, 1000, 990, 990, 0, 0, 0, 0, 255))
    monkeypatch.setattr("harness.faults.disk_full.os.statvfs", lambda path: empty)
    healed = ended(made(DiskFilled(node="broker-a", share=0.87)))
    assert healed.exercised is False
    assert healed.achieved.startswith("0.010 was used")


@pytest.mark.parametrize(
    ("group_bytes", "device_bytes", "took_effect"), [(100, 100, True), (10, 100, False), (100, 400, False)]
)
def test_writes_below_the_limit_or_past_it_were_not_throttled(
    group_bytes: int, device_bytes: int, took_effect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of 100 bytes a second, for a second."""
    monkeypatch.setattr(write_throttle, "_group_bytes", lambda path, device: group_bytes)
    monkeypatch.setattr(write_throttle, "device_bytes", lambda device, what: device_bytes)
    monkeypatch.setattr(write_throttle, "mono_ns", lambda: 1_000_000_000)
    group = cast(Any, SimpleNamespace(path=None, end=lambda: None))
    throttle = write_throttle.Throttle(group=group, device="7:1", rate_bps=100, from_ns=0, device_bytes_before=0)
    monkeypatch.setattr(write_throttle, "limit", lambda *of, **more: throttle)
    monkeypatch.setattr(write_throttle, "pid_of", lambda trial, name: 1)
    monkeypatch.setattr(write_throttle, "store_of", lambda node: None)
    assert ended(made(ThrottledWrites(node="broker-a", bytes_per_s=100))).exercised is took_effect


@pytest.mark.parametrize(("written", "stays"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("fault", [PageCacheNeighbour(), LimitedPageCache()], ids=lambda fault: fault.kind)
def test_a_neighbour_that_wrote_too_little_or_a_limit_that_was_left_took_no_effect(
    fault: Fault, written: bool, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = SimpleNamespace(end=lambda: Healed(achieved="so much", exercised=written))
    group = SimpleNamespace(set=lambda name, value: None, has=lambda pid: stays, end=lambda: None)
    for name, value in {
        "start_neighbour": lambda *of, **more: neighbour,
        "store_of": lambda node: SimpleNamespace(mountpoint=tmp_path),
        "watch_appends": lambda broker: asked(tally=lambda: None),
        "record_tally": lambda *of: None,
        "pid_of": lambda trial, name: 1,
        "make_group": lambda *of, **more: group,
    }.items():
        monkeypatch.setattr(dirty_pages, name, value)
    done = made(fault, trial_of_values(params={"watch_ms": 1, "neighbour_mb": 1, "limit_mb": 1}))
    is_limited = isinstance(fault, LimitedPageCache)
    assert done.exercised is (written and (stays or not is_limited))
    assert ("memory was not limited" in done.detail) is (is_limited and not stays)


@pytest.mark.parametrize("takes", [True, False])
def test_a_file_system_that_takes_a_file_has_its_power(
    takes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SimpleNamespace(mountpoint=tmp_path if takes else tmp_path / "nothing", kind="ext4")
    for name, value in {
        "store_of": lambda node: store,
        "cut_power": lambda store: None,
        "able": lambda load, to: load,
    }.items():
        monkeypatch.setattr(broker_crash, name, value)
    cluster = SimpleNamespace(nodes=NODES, kill_node=lambda name: (1, 2))
    load = SimpleNamespace(stop_sending=lambda: None)
    done = made(BrokerCrash(power=True), trial_of_values(cluster=cluster), load)
    assert done.exercised is not takes
    assert ("took a file all the same" in done.detail) is takes
    assert list(tmp_path.iterdir()) == []
    assert made(BrokerCrash(), trial_of_values(cluster=cluster), load).exercised is None, "its process has ended"
