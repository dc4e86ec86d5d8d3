"""File systems of a store's own, and their freezes: exact, and over within a second whatever happens to the harness."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from harness.backends.store_mount import LeasedStore, mount_store
from harness.errors import ClientError, LeaseError
from harness.faults.store_freeze import Freezer
from harness.host.abilities import Abilities
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.leases import kernel
from harness.leases.healing import HEALABLE, clean
from harness.leases.kernel_kinds import FREEZE, MOUNT
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.cluster import BrokerSettings, Store
from harness.wait import wait_until
from tests.lib.writer import Writer


@pytest.mark.parametrize("kind", [kind for kind in get_args(Store) if kind != "folder"])
def test_a_store_on_a_file_system_of_its_own_leaves_nothing_behind(
    kind: Store, host: Abilities, leases: Leases, tmp_path: Path
) -> None:
    if (reason := host.why_no_loop_mount(kind.removeprefix("loop-"))) is not None:
        pytest.skip(reason)
    folder = tmp_path / "a store"
    stored = mount_store(leases, folder, BrokerSettings(store=kind, store_mb=320), until_s=60)
    assert stored is not None
    (folder / "commitlog").write_bytes(b"x" * 4096)
    assert os.statvfs(folder).f_blocks * os.statvfs(folder).f_frsize < 330 * 2**20
    assert kernel.our_mount(str(folder), str(stored.mount.image), stored.mount.uuid) is not None
    stored.unmount()
    assert sorted(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []
    loops = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    assert not [backing for backing in loops if str(tmp_path) in backing]
    assert not stored.lease.is_held


def test_a_plain_store_needs_no_mount(leases: Leases, tmp_path: Path) -> None:
    assert mount_store(leases, tmp_path / "store", BrokerSettings(), until_s=60) is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_cannot_be_made_leaves_nothing(leases: Leases, tmp_path: Path, host: Abilities) -> None:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    with pytest.raises(LeaseError, match="no ext4 file system of 0 MiB"):
        mount_store(leases, tmp_path / "store", BrokerSettings(store="loop-ext4", store_mb=0), until_s=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"]
    assert not [record for record in leases_in(leases.state_dir) if str(tmp_path) in str(record.data)]


@pytest.fixture
def writer(store: LeasedStore) -> Iterator[Writer]:
    made = Writer(store.mount.mountpoint / "written")
    yield made
    made.close()


def test_a_freeze_holds_a_write_for_as_long_as_was_asked(
    leases: Leases, store: LeasedStore, writer: Writer, noise: NoiseProbe
) -> None:
    with Freezer.start(leases, store.mount, until_s=60) as freezer:
        threading.Timer(0.15, writer.start).start()
        stamps = freezer.freeze(300)
    assert stamps.asked_ns <= stamps.engaged_ns < stamps.thawing_ns <= stamps.released_ns
    late_ms = worst_ms(noise.hiccups(stamps.asked_ns, stamps.released_ns))
    assert late_ms is not None
    assert 300 <= stamps.achieved_ms <= 315 + late_ms
    assert writer.ends(5)
    # It began in the middle of the freeze, and got through when the thaw did, not before.
    assert stamps.thawing_ns <= writer.ended_ns <= stamps.released_ns + 200_000_000
    assert not [record for record in leases_in(leases.state_dir) if record.kind == FREEZE]


def test_a_freeze_is_over_at_the_end_of_its_lease(leases: Leases, store: LeasedStore, writer: Writer) -> None:
    handle = kernel.open_mountpoint(str(store.mount.mountpoint))
    leases.hold(FREEZE, store.mount.identity(), until_s=0.5)
    frozen_s = time.monotonic()
    kernel.freeze(handle)
    writer.start()
    try:
        assert writer.ends(5)
        assert 0.3 < time.monotonic() - frozen_s < 2
    finally:
        kernel.thaw(handle)
        os.close(handle)


def test_a_freezer_that_was_killed_leaves_a_thawed_file_system(
    leases: Leases, store: LeasedStore, writer: Writer
) -> None:
    errors: list[str] = []

    def freeze() -> None:
        try:
            freezer.freeze(20_000)
        except ClientError as error:
            errors.append(str(error))

    freezer = Freezer.start(leases, store.mount, until_s=60)
    freezing = threading.Thread(target=freeze)
    freezing.start()
    wait_until("the freeze", lambda: [r for r in leases_in(leases.state_dir) if r.kind == FREEZE], timeout_s=5)
    time.sleep(0.3)
    writer.start()
    assert not writer.ends(0.2)
    freezer._process.kill()
    freezing.join(10)
    assert errors == ["the freezer ended"]
    assert writer.ends(2)
    freezer.close()


def test_a_file_system_that_is_frozen_twice_is_an_error_and_thawed_as_asked_first(
    leases: Leases, store: LeasedStore, writer: Writer
) -> None:
    with (
        Freezer.start(leases, store.mount, until_s=60) as first,
        Freezer.start(leases, store.mount, until_s=60) as second,
    ):
        freezing = threading.Thread(target=first.freeze, args=(600,))
        freezing.start()
        time.sleep(0.3)
        with pytest.raises(ClientError, match="could not be frozen"):
            second.freeze(100)
        freezing.join(10)
    writer.start()
    assert writer.ends(2)


def test_a_mount_that_is_still_in_use_goes_out_of_sight_and_ends_with_its_last_user(
    host: Abilities, leases: Leases, tmp_path: Path
) -> None:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    stored = mount_store(leases, tmp_path / "store", BrokerSettings(store="loop-ext4", store_mb=64), until_s=60)
    assert stored is not None
    kept_open = (tmp_path / "store" / "log").open("w")
    outcome = HEALABLE[MOUNT].heal([stored.lease.record], timeout_s=0.2)
    assert outcome == {stored.lease.record.id: ("unmounted, and its image removed", True)}
    assert list((tmp_path / "store").iterdir()) == []
    kept_open.close()

    def loops() -> list[str]:
        found = [path.read_text() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
        return [backing for backing in found if str(tmp_path) in backing]

    wait_until("the loop device to be free", lambda: not loops(), timeout_s=5)
    stored.lease.release()


def test_what_a_dead_owner_mounted_and_froze_is_cleaned(
    host: Abilities, leases: Leases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `mqlab runs clean` does when the healer was killed as well: thawed first, then unmounted."""
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    state = tmp_path / "state"
    with Leases.open(state) as dead:
        stored = mount_store(dead, tmp_path / "store", BrokerSettings(store="loop-ext4", store_mb=64), until_s=600)
        assert stored is not None
        dead.hold(FREEZE, stored.mount.identity(), until_s=600)
        handle = kernel.open_mountpoint(str(stored.mount.mountpoint))
        kernel.freeze(handle)
        os.close(handle)
        store_of_dead = dead._store
        for record in leases_in(state):
            owner = dataclasses.replace(record.owner, start_ticks=record.owner.start_ticks - 1)
            store_of_dead.write(dataclasses.replace(record, owner=owner))
        dry = clean(state, dry_run=True)
        assert sorted(one.kind for one in dry if not one.complete) == [FREEZE, MOUNT]
        healed = clean(state)
    assert [(one.kind, one.action) for one in healed] == [
        (FREEZE, "thawed"),
        (MOUNT, "unmounted, and its image removed"),
    ]
    assert not kernel.our_mount(str(stored.mount.mountpoint), str(stored.mount.image), stored.mount.uuid)
    assert leases_in(state) == []
