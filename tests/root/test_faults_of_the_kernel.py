"""Cut, delay, full disk, throttled writes, dirty pages: each takes effect, says what it achieved, and leaves nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.store_mount import LeasedStore, mount_store
from harness.errors import ConfigurationError, LabError, LeaseError
from harness.faults.broker_crash import cut_power, restore_power, takes_nothing
from harness.faults.dirty_pages import start_neighbour
from harness.faults.disk_full import fill, inflate_to, used_share
from harness.faults.network import cut_ports, cut_processes, delay_ports, why_no_netem
from harness.faults.pause_proof import Pause
from harness.faults.write_throttle import limit, why_no_throttle
from harness.host.abilities import Abilities
from harness.host.cgroups import FREEZER, controller_root, frozen_with, is_frozen, unified_root
from harness.host.standstill import look
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.cluster import BrokerSettings
from harness.model.faults import DiskFilled
from harness.wait import wait_until
from tests.lib.answering import answering

CONNECT_S_MAX = 1.0


@pytest.fixture
def servers() -> Iterator[list[socket.socket]]:
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    yield opened
    for server in opened:
        server.close()


def port_of(server: socket.socket) -> int:
    return int(server.getsockname()[1])


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S_MAX):
            return True
    except TimeoutError:
        return False


@pytest.mark.usefixtures("firewall")
def test_a_cut_drops_what_goes_to_the_port_and_nothing_else(leases: Leases, servers: list[socket.socket]) -> None:
    cut_port, other_port = map(port_of, servers)
    with socket.create_connection(("127.0.0.1", cut_port)) as talking, servers[0].accept()[0] as heard:
        lease = cut_ports(leases, [cut_port], until_s=60)
        try:
            assert not answers(cut_port)
            assert answers(other_port)
            talking.sendall(b"hello")
            heard.settimeout(0.3)
            with pytest.raises(TimeoutError):
                heard.recv(5)
        finally:
            healed = lease.heal()
        assert (healed.action, healed.complete) == ("2 rules removed", True)
        # What was sent into the cut comes through once it is gone.
        heard.settimeout(10)
        assert heard.recv(5) == b"hello"
    assert answers(cut_port)


CONNECTS = """
import socket, sys
kept = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
print("connected", flush=True)
for line in sys.stdin:
    if line == "new\\n":
        try:
            socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1).close()
            print("yes", flush=True)
        except TimeoutError:
            print("no", flush=True)
    else:
        kept.sendall(b"x")
        print("sent", flush=True)
"""


class Peer:
    """A process that keeps a connection to a server, and makes a new one when asked."""

    def __init__(self, server: socket.socket) -> None:
        argv = [sys.executable, "-c", CONNECTS, str(port_of(server))]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.heard, _ = server.accept()
        assert self._line() == "connected"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, what: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self._line()

    def comes_through(self, within_s: float) -> bool:
        assert self.ask("send") == "sent"
        self.heard.settimeout(within_s)
        try:
            return self.heard.recv(1) == b"x"
        except TimeoutError:
            return False

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.heard.close()


@pytest.mark.usefixtures("firewall")
def test_a_cut_of_one_process_leaves_others_to_talk_to_the_same_port(
    leases: Leases, servers: list[socket.socket]
) -> None:
    if unified_root() is None:
        pytest.skip("no control groups of version 2")
    cut_off, other = Peer(servers[0]), Peer(servers[0])
    home = Path(f"/proc/{cut_off.process.pid}/cgroup").read_text()
    try:
        cut = cut_processes(leases, [(cut_off.process.pid, [port_of(servers[0])])], until_s=60)
        assert (cut_off.ask("new"), other.ask("new")) == ("no", "yes")
        assert not cut_off.comes_through(within_s=0.3)
        assert other.comes_through(within_s=5)
        end = cut.end()
        assert end.exercised, end.achieved
        # What it sent into the cut arrives first, and then what it sends now.
        assert cut_off.comes_through(within_s=10)
        assert cut_off.ask("new") == "yes"
        assert Path(f"/proc/{cut_off.process.pid}/cgroup").read_text() == home
    finally:
        cut_off.close()
        other.close()
    assert not [record for record in leases_in(leases.state_dir) if record.kind in ("rule", "cgroup")]


@pytest.mark.usefixtures("firewall")
def test_a_cut_of_more_ports_than_one_rule_takes_is_whole(leases: Leases, servers: list[socket.socket]) -> None:
    lease = cut_ports(leases, [*range(21900, 21920), port_of(servers[0])], until_s=60)
    try:
        assert not answers(port_of(servers[0]))
    finally:
        assert lease.heal().action == "4 rules removed"


@pytest.mark.usefixtures("firewall")
def test_a_cut_that_the_firewall_refuses_is_an_error_and_leaves_no_lease(leases: Leases) -> None:
    with pytest.raises(LabError, match="refused"):
        cut_ports(leases, [70_000], until_s=60)
    assert not [record for record in leases_in(leases.state_dir) if record.kind == "rule"]


def test_a_delay_is_made_where_the_kernel_has_netem_and_refused_with_the_reason_elsewhere(
    host: Abilities, leases: Leases, servers: list[socket.socket]
) -> None:
    port, other_port = map(port_of, servers)
    reason = why_no_netem(host)
    if reason is None:
        lease = delay_ports(leases, [port], delay_ms=200, until_s=60)
        try:
            began_s = time.monotonic()
            assert answers(port)
            assert time.monotonic() - began_s >= 0.2
            began_s = time.monotonic()
            assert answers(other_port)
            assert time.monotonic() - began_s < 0.2
        finally:
            assert lease.heal().complete
    else:
        assert reason in ("tc is not installed", "this kernel has no netem")
        with pytest.raises(LabError):
            delay_ports(leases, [port], delay_ms=200, until_s=60)
    assert not [record for record in leases_in(leases.state_dir) if record.kind == "queue"]
    began_s = time.monotonic()
    assert answers(port)
    assert time.monotonic() - began_s < 0.2


def test_a_full_disk_takes_no_more_until_it_is_healed(leases: Leases, store: LeasedStore) -> None:
    folder = store.mount.mountpoint
    free_before = os.statvfs(folder).f_bavail
    balloon = fill(leases, store.mount, free_bytes=2 * 2**20, until_s=60)
    with pytest.raises(OSError, match="No space left"):
        (folder / "commitlog").write_bytes(b"x" * 4 * 2**20)
    (folder / "commitlog").unlink()
    (folder / "checkpoint").write_bytes(b"x" * 2**20)
    (folder / "checkpoint").unlink()
    end = balloon.end()
    assert end.exercised
    assert end.achieved.endswith("MiB were left")
    assert os.statvfs(folder).f_bavail == free_before
    assert list(folder.glob(".mqlab*")) == []


def test_a_disk_is_filled_to_a_share_and_what_is_reserved_counts_apart(leases: Leases, tmp_path: Path) -> None:
    settings = BrokerSettings(store="loop-ext4", store_mb=256, store_reserve_percent=5)
    leased = mount_store(leases, tmp_path / "reserved", settings, until_s=60)
    assert leased is not None
    try:
        node = SimpleNamespace(name="broker-a", store=leased.mount)
        trial: Any = SimpleNamespace(cluster=SimpleNamespace(nodes=[node]), leases=leases, until_s=60)
        filled = inflate_to(DiskFilled(node="broker-a", share=0.87), trial, trial)
        room = os.statvfs(leased.mount.mountpoint)
        assert used_share(room) == pytest.approx(0.87, abs=0.005)
        assert used_share(room, reserve_is_free=False) > 0.905
        with pytest.raises(LeaseError, match=r"used to 0\.87. already"):
            inflate_to(DiskFilled(node="broker-a", share=0.5), trial, trial)
        with pytest.raises(ConfigurationError, match="cannot be filled to a share of 1"):
            inflate_to(DiskFilled(node="broker-a", share=1.0), trial, trial)
        assert filled.end is not None
        end = filled.end()
        assert end.exercised
        assert end.achieved.startswith("0.87")
        assert used_share(os.statvfs(leased.mount.mountpoint)) < 0.2
    finally:
        leased.unmount()


WRITES = """
import os, sys, time
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
flush = sys.argv[2] == "flushed"
print("writing", flush=True)
while True:
    os.write(handle, b"x" * 65536)
    if flush:
        os.fdatasync(handle)
    else:
        time.sleep(0.005)
    if os.lseek(handle, 0, os.SEEK_CUR) > 2**24:
        os.lseek(handle, 0, os.SEEK_SET)
"""


@pytest.fixture
def broker(store: LeasedStore, leases: Leases, request: pytest.FixtureRequest) -> Iterator[int]:
    process = leases.spawn(
        [sys.executable, "-c", WRITES, str(store.mount.mountpoint / "commitlog"), request.param],
        name="writer",
        until_s=120,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    yield process.pid
    process.kill()
    process.stdout.close()
    (store.mount.mountpoint / "commitlog").unlink()


@pytest.mark.parametrize("broker", ["flushed"], indirect=True)
def test_throttled_flushes_reach_the_disk_at_the_rate_that_was_asked(
    broker: int, host: Abilities, leases: Leases, store: LeasedStore
) -> None:
    if (reason := why_no_throttle(host)) is not None:
        pytest.skip(reason)
    home = Path(f"/proc/{broker}/cgroup").read_text()
    throttle = limit(leases, broker, store.mount, rate_bps=2**20, until_s=60)
    assert Path(f"/proc/{broker}/cgroup").read_text() != home
    time.sleep(3)
    end = throttle.end()
    assert end.exercised, end.achieved
    assert Path(f"/proc/{broker}/cgroup").read_text() == home
    assert not throttle.group.path.exists()


@pytest.mark.parametrize("broker", ["buffered"], indirect=True)
def test_a_limit_that_nothing_came_up_to_says_that_it_took_no_effect(
    broker: int, host: Abilities, leases: Leases, store: LeasedStore
) -> None:
    if (reason := why_no_throttle(host)) is not None:
        pytest.skip(reason)
    # What is only written to the page cache is the kernel's to write back: later, and with v1 outside of the group.
    throttle = limit(leases, broker, store.mount, rate_bps=64 * 2**20, until_s=60)
    time.sleep(1)
    end = throttle.end()
    assert not end.exercised
    assert "the limit was not reached" in end.achieved


def test_a_neighbour_dirties_pages_within_its_bounds_and_leaves_no_file(leases: Leases, store: LeasedStore) -> None:
    folder = store.mount.mountpoint
    free_before = os.statvfs(folder).f_bavail
    neighbour = start_neighbour(leases, folder, file_mb=16, seconds=30)
    time.sleep(1.5)
    during = os.statvfs(folder)
    assert (free_before - during.f_bavail) * during.f_frsize <= 17 * 2**20
    end = neighbour.end()
    assert end.exercised, end.achieved
    assert list(folder.iterdir()) == [folder / "lost+found"]
    assert not [record for record in leases_in(leases.state_dir) if "neighbour" in str(record.data.get("name"))]


def test_a_neighbour_that_wrote_too_little_says_that_it_took_no_effect(leases: Leases, store: LeasedStore) -> None:
    neighbour = start_neighbour(leases, store.mount.mountpoint, file_mb=32, seconds=30, rate_bps=2**20)
    time.sleep(0.5)
    assert not neighbour.end().exercised


def test_a_neighbour_ends_by_itself_when_its_time_is_over(leases: Leases, store: LeasedStore) -> None:
    neighbour = start_neighbour(leases, store.mount.mountpoint, file_mb=4, seconds=0.5)
    assert neighbour.process.wait(20) == 0
    assert neighbour.end().exercised


def test_a_frozen_process_stands_still_by_the_kernels_own_word(host: Abilities) -> None:
    """As ``docker pause`` freezes it, with all that is in its group."""
    root = controller_root(FREEZER)
    if host.cgroup != "v1" or not root.is_dir():
        pytest.skip("no freezer of version 1")
    group = root / "mqlab-test-frozen"
    with answering(computes=True) as one, answering() as other:
        group.mkdir()
        try:
            for process in (one.process, other.process):
                (group / "cgroup.procs").write_text(str(process.pid))
            assert {*frozen_with(one.process.pid)} == {one.process.pid, other.process.pid}
            assert "were not stopped" in look(one.process).running
            (group / "freezer.state").write_text("FROZEN")
            wait_until("it to be frozen", lambda: is_frozen(one.process.pid), timeout_s=20)
            pause = Pause([one.process, other.process], one.node)
            wait_until("it to be asked", lambda: pause._question is not None, timeout_s=20)
            pause.ends()
            (group / "freezer.state").write_text("THAWED")
            healed = pause.shown("frozen", threading.Event())
            assert healed.exercised is True, healed.achieved
            assert not is_frozen(one.process.pid)
        finally:
            (group / "freezer.state").write_text("THAWED")
            for process in (one.process, other.process):
                (root / "cgroup.procs").write_text(str(process.pid))
            group.rmdir()
    assert frozen_with(os.getpid()) == [os.getpid()], "in a root there is everything"


def test_a_file_system_without_power_takes_nothing(leases: Leases, tmp_path: Path) -> None:
    leased = mount_store(leases, tmp_path / "store", BrokerSettings(store="loop-ext4", store_mb=64), until_s=60)
    assert leased is not None
    try:
        assert not takes_nothing(leased.mount)
        cut_power(leased.mount)
        assert takes_nothing(leased.mount)
        restore_power(leased.mount)
        assert not takes_nothing(leased.mount)
        assert [path.name for path in leased.mount.mountpoint.iterdir()] == ["lost+found"]
    finally:
        leased.unmount()
