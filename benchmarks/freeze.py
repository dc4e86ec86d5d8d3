"""How exactly a store's file system is frozen: a process of its own against a thread of the harness, in one run.

Both freeze the same file system for the same times, in turns, while a neighbour appends to a mapped file on it and this
process is as busy as a harness is. The error is the achieved time (engaged to released) less the asked one. Needs root.
"""

from __future__ import annotations

import argparse
import mmap
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.backends.store_mount import mount_store
from harness.faults.store_freeze import Freezer, FreezeStamps
from harness.host.abilities import Abilities
from harness.leases import kernel
from harness.leases.kernel_kinds import FREEZE
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Store, StoreImage

MEDIAN_MS_MAX, P95_MS_MAX = 5.0, 15.0
APPENDS_HZ = 500
STORES: tuple[Store, ...] = ("loop-ext4", "loop-xfs")
IMAGES: tuple[StoreImage, ...] = ("memory", "beside")


def append_for_ever(path: Path, stalls: multiprocessing.Queue[float]) -> None:
    """Write into a mapped file as a commit log does; tell each append that took longer than 20 ms."""
    with path.open("w+b") as file:
        file.truncate(64 * 2**20)
        with mmap.mmap(file.fileno(), 0) as mapped:
            for number in range(2**62):
                before_s = time.monotonic()
                at = number * 256 % len(mapped)
                mapped[at : at + 256] = b"x" * 256
                if (took_s := time.monotonic() - before_s) > 0.02:
                    stalls.put(took_s * 1000)
                time.sleep(1 / APPENDS_HZ)


@contextmanager
def busy_threads() -> Iterator[None]:
    """Threads that compute in this interpreter for some of the time, as those that drive a trial do."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.002):
            sum(number * number for number in range(20_000))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def freeze_in_thread(handle: int, freeze_ms: float) -> FreezeStamps:
    """The plain way: the harness itself sleeps between the two calls."""
    kernel.sync_file_system(handle)
    asked_ns = time.monotonic_ns()
    kernel.freeze(handle)
    engaged_ns = time.monotonic_ns()
    try:
        time.sleep(freeze_ms / 1000)
    finally:
        thawing_ns = time.monotonic_ns()
        kernel.thaw(handle)
        released_ns = time.monotonic_ns()
    return FreezeStamps(asked_ns=asked_ns, engaged_ns=engaged_ns, thawing_ns=thawing_ns, released_ns=released_ns)


def line(way: str, freeze_ms: float, stamps: list[FreezeStamps]) -> tuple[str, float, float]:
    """The numbers of one way and time in words, with the median and 95th percentile of the error."""
    errors = sorted(abs(one.achieved_ms - freeze_ms) for one in stamps)
    median, p95 = statistics.median(errors), errors[max(0, round(0.95 * len(errors)) - 1)]
    engaging = statistics.median((one.engaged_ns - one.asked_ns) / 1e6 for one in stamps)
    words = (
        f"{way:8} {freeze_ms:5g} ms, {len(stamps)} freezes: error median {median:.3f} ms, 95th percentile {p95:.3f} ms, "
        f"worst {errors[-1]:.3f} ms; engaging took {engaging:.1f} ms (median)"
    )
    return words, median, p95


def main() -> int:
    """Print one line for each way and time; exit code 1 when the process of its own is not exact enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--freezes", type=int, default=20)
    parser.add_argument("--store", choices=STORES, default=STORES[0])
    parser.add_argument("--image", choices=IMAGES, default=IMAGES[0], help="where the file system's image lies")
    options = parser.parse_args()
    store: Store = options.store
    if (reason := Abilities.of_this_host().why_no_loop_mount(store.removeprefix("loop-"))) is not None:
        print(f"skipped: {reason}")
        return 0
    exact = True
    with tempfile.TemporaryDirectory() as scratch, Leases.open(Path(scratch) / "state") as leases:
        settings = BrokerSettings(store=store, store_image=options.image)
        leased = mount_store(leases, Path(scratch) / "store", settings, until_s=3600)
        assert leased is not None
        mount = leased.mount
        handle = kernel.open_mountpoint(str(mount.mountpoint))
        # The healer guards the freezes of the thread as well.
        guard = leases.hold(FREEZE, mount.identity(), until_s=600)
        stalls: multiprocessing.Queue[float] = multiprocessing.get_context("spawn").Queue()
        neighbour = multiprocessing.get_context("spawn").Process(
            target=append_for_ever, args=(mount.mountpoint / "commitlog", stalls), daemon=True
        )
        neighbour.start()
        try:
            with Freezer.start(leases, mount, until_s=600) as freezer, busy_threads():
                ways: dict[str, Callable[[float], FreezeStamps]] = {
                    "thread": lambda freeze_ms: freeze_in_thread(handle, freeze_ms),
                    "process": freezer.freeze,
                }
                for freeze_ms in (300.0, 1500.0):
                    found: dict[str, list[FreezeStamps]] = {way: [] for way in ways}
                    for _ in range(options.freezes):
                        for way, freeze in ways.items():
                            found[way].append(freeze(freeze_ms))
                            time.sleep(0.2)
                    for way, stamps in found.items():
                        words, median, p95 = line(way, freeze_ms, stamps)
                        print(words, flush=True)
                        exact = exact and (way != "process" or (median <= MEDIAN_MS_MAX and p95 <= P95_MS_MAX))
        finally:
            neighbour.kill()
            neighbour.join()
            os.close(handle)
            guard.heal()
            leased.unmount()
    print(f"a process of its own is {'' if exact else 'NOT '}within {MEDIAN_MS_MAX:g} and {P95_MS_MAX:g} ms")
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
