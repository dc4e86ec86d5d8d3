"""Files that a process has mapped are put out of memory, and are then read from a disk that is as slow as asked."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.store_mount import LeasedStore, mount_store
from harness.faults.cold_reads import slow_disk
from harness.host.abilities import Abilities
from harness.host.block_devices import SECTORS_READ, device_bytes
from harness.host.cgroups import why_no_controller
from harness.host.page_cache import evict, resident_bytes, why_no_eviction
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from harness.trial import TrialContext

FILE_BYTES, PAGE_BYTES = 4 * 2**20, 4096

MAPS = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 0)
mapped.madvise(mmap.MADV_RANDOM)
for line in sys.stdin:
    first, pages = map(int, line.split())
    for page in range(first, first + pages):
        mapped[page * 4096] += 1
    print("touched", flush=True)
"""


class Mapper:
    """A process that has mapped a file and touches pages of it."""

    def __init__(self, path: Path) -> None:
        argv = [sys.executable, "-c", MAPS, str(path)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def touch(self, pages: int, first: int = 0) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{first} {pages}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "touched\n"


@pytest.fixture
def mapped(host: Abilities, store: LeasedStore) -> Iterator[tuple[Path, Mapper]]:
    if (reason := why_no_eviction(host)) is not None:
        pytest.skip(reason)
    path = store.mount.mountpoint / "mapped"
    path.write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
    mapper = Mapper(path)
    yield path, mapper
    mapper.process.kill()
    mapper.process.communicate()
    path.unlink()


def test_what_another_process_has_mapped_and_written_to_is_put_out_of_memory_and_still_there(
    mapped: tuple[Path, Mapper], store: LeasedStore
) -> None:
    path, mapper = mapped
    mapper.touch(FILE_BYTES // PAGE_BYTES)
    assert resident_bytes(path) == FILE_BYTES
    evict([path], mapper.process.pid)
    evict([store.mount.image], mapper.process.pid)
    assert resident_bytes(path) == 0
    device = store.mount.mounted().device
    before = device_bytes(device, SECTORS_READ)
    mapper.touch(10)
    assert device_bytes(device, SECTORS_READ) - before >= 10 * PAGE_BYTES
    assert path.read_bytes()[: 2 * PAGE_BYTES : PAGE_BYTES] == bytes([2, 2])


def test_a_slow_disk_is_read_so_often_in_a_second_and_as_fast_as_before_in_the_end(
    mapped: tuple[Path, Mapper], host: Abilities, leases: Leases, store: LeasedStore
) -> None:
    if (reason := why_no_controller("io", host)) is not None:
        pytest.skip(reason)
    path, mapper = mapped
    pid = mapper.process.pid
    mapper.touch(1)
    evict([path], pid)
    home = Path(f"/proc/{pid}/cgroup").read_text()
    trial = cast(TrialContext, SimpleNamespace(leases=leases, until_s=60))
    with slow_disk(trial, pid, store.mount.mounted().device, 20):
        assert Path(f"/proc/{pid}/cgroup").read_text() != home
        begun_s = time.monotonic()
        mapper.touch(40)
        # Of two seconds' reads the first few come at once.
        assert time.monotonic() - begun_s > 1.0
    assert Path(f"/proc/{pid}/cgroup").read_text() == home


def test_a_store_has_the_read_ahead_that_was_asked_for(host: Abilities, leases: Leases, tmp_path: Path) -> None:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    settings = BrokerSettings(store="loop-ext4", store_mb=32, store_read_ahead_kb=64)
    mounted: Any = mount_store(leases, tmp_path / "store", settings, until_s=60)
    try:
        device = mounted.mount.mounted().device
        assert Path(f"/sys/dev/block/{device}/queue/read_ahead_kb").read_text().strip() == "64"
    finally:
        mounted.unmount()
