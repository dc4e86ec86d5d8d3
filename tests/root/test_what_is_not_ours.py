"""Mounts, rules, processes and groups that are not the lab's stay exactly as they are, also beside a killed harness."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.backends.store_mount import LeasedStore, mount_store
from harness.host.abilities import Abilities
from harness.leases import kernel, proc
from harness.leases.kernel_kinds import BALLOON, CGROUP, FREEZE, MOUNT, RULE
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from harness.paths import PACKAGES

KILLS = 2

Foreign = tuple[Path, Path, subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def foreign(
    host: Abilities, tmp_path_factory: pytest.TempPathFactory, store: LeasedStore, system: Callable[..., str]
) -> Iterator[Foreign]:
    """A mounted image, a firewall rule and a stopped process, all made with the system's own tools."""
    folder = tmp_path_factory.mktemp("foreign")
    image, mountpoint = folder / "disk.img", folder / "disk"
    mountpoint.mkdir()
    with image.open("wb") as file:
        file.truncate(16 * 2**20)
    system("mkfs.ext4", "-q", "-F", str(image))
    system("mount", "-o", "loop", str(image), str(mountpoint))
    rule = ("INPUT", "-i", "lo", "-p", "tcp", "--dport", "21998", "-m", "comment", "--comment", "mqlab: not a lease's")
    if host.firewall:
        system("iptables", "-w", "5", "-A", *rule, "-j", "DROP")
    sleeper = subprocess.Popen(["sleep", "600"])
    sleeper.send_signal(signal.SIGSTOP)
    try:
        yield image, mountpoint, sleeper
    finally:
        sleeper.kill()
        sleeper.wait()
        if host.firewall:
            system("iptables", "-w", "5", "-D", *rule, "-j", "DROP")
        system("umount", str(mountpoint))


def test_killing_a_harness_heals_what_is_its_own_within_a_second_and_touches_nothing_else(
    foreign: Foreign, host: Abilities, host_now: Callable[[], dict[str, str]]
) -> None:
    before = host_now()
    done = subprocess.run(
        [sys.executable, PACKAGES / "benchmarks" / "healing.py", "--kills", str(KILLS)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in ("freeze", "pause", "cut", "disk-full") if host.firewall else ("freeze", "pause", "disk-full"):
        assert f"{kind}: {KILLS} of {KILLS} healed within 1 s of kill -9" in done.stdout
    assert host_now() == before
    stopped = proc.identify(foreign[2].pid)
    assert stopped is not None
    assert stopped.is_stopped()


def test_a_lease_that_names_what_is_not_ours_touches_nothing(
    foreign: Foreign, store: LeasedStore, tmp_path: Path, host_now: Callable[[], dict[str, str]]
) -> None:
    """The place, the image and the identity have to be right together; a state folder can be wrong in any of them."""
    image, mountpoint, sleeper = foreign
    true_uuid = kernel.file_system_uuid(image, "ext4")
    assert true_uuid
    other_image = tmp_path / "other.img"
    wrong = [
        {"mountpoint": str(mountpoint), "image": str(other_image), "uuid": true_uuid, "kind": "ext4"},
        {"mountpoint": str(tmp_path), "image": str(other_image), "uuid": true_uuid, "kind": "ext4"},
    ]
    balloon = mountpoint / "balloon"
    balloon.write_bytes(b"somebody's")
    before = host_now()
    with Leases.open(tmp_path / "state") as leases:
        for data in wrong:
            for kind in (MOUNT, FREEZE):
                assert leases.hold(kind, data, until_s=60).heal().action == "it is gone"
        someone = proc.identify(sleeper.pid)
        assert someone is not None
        killer: dict[str, str | int | float | None] = {
            "pid": someone.pid,
            "start_ticks": someone.start_ticks,
            "token": "0" * 32,
        }
        freeze = leases.hold(FREEZE, {**store.mount.identity(), **killer}, until_s=60)
        healed = freeze.heal()
        # A process without our token is not the freezer, so it is not waited for to end either.
        assert "does not end" in healed.action
        freeze.release()
        assert leases.hold(BALLOON, {"path": str(balloon)}, until_s=60).heal().action == "it is gone"
        assert leases.hold(CGROUP, {"path": "/sys/fs/cgroup", "home": "/"}, until_s=60).heal().action == "it is gone"
        assert leases.hold(RULE, {"ports": "21998"}, until_s=60).heal().action == "it is gone"
    assert host_now() == before
    assert balloon.read_bytes() == b"somebody's"
    assert someone.is_stopped()


def test_a_mount_that_somebody_put_over_ours_is_left_alone(
    leases: Leases, store: LeasedStore, tmp_path: Path, system: Callable[..., str]
) -> None:
    stored = mount_store(leases, tmp_path / "store", BrokerSettings(store="loop-ext4", store_mb=64), until_s=60)
    assert stored is not None
    system("mount", "-t", "tmpfs", "somebody", str(tmp_path / "store"))
    try:
        (tmp_path / "store" / "theirs").touch()
        healed = stored.lease.heal()
        assert "something else is mounted over" in healed.action
        assert not healed.complete
        assert stored.lease.is_held
        assert (tmp_path / "store" / "theirs").exists()
    finally:
        system("umount", str(tmp_path / "store"))
        stored.lease.heal()
    assert not stored.mount.image.exists()
    assert not os.path.ismount(tmp_path / "store")
