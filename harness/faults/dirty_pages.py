"""A neighbour fills the page cache with dirty pages of the store's own file system, or of the disk that it lies on.

The broker itself may be held to little memory meanwhile: the pages of its files then have to go before others can come.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.backends.abilities import PROCESSES
from harness.backends.cluster import Node, masters
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.append_stall import record_tally, watch_appends
from harness.faults.targets import node_of, pid_of, store_of, with_own_store
from harness.host.cgroups import controller_root, is_v2, make_group, why_no_controller
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.model.faults import DirtyPages, LimitedPageCache, PageCacheNeighbour
from harness.paths import isolated
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

END_S_MAX = 60.0
"""A write that waits for the disk may take long to end."""


def dirty(fault: DirtyPages, trial: TrialContext, load: LoadSession) -> Injected:
    """Start the neighbour, a process of its own that is bounded in bytes and in time."""
    node = node_of(trial, fault.node)
    folder = node.store.mountpoint if node.store else trial.cluster.folder
    neighbour = start_neighbour(trial.leases, folder, file_mb=fault.file_mb, seconds=fault.seconds_max)
    asked = f"a file of {fault.file_mb} MiB rewritten for at most {fault.seconds_max:g} s"
    return Injected(target=str(folder), detail=asked, end=neighbour.end)


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A neighbour that writes."""

    process: LeasedProcess
    file_bytes: int

    def end(self) -> Healed:
        """End it; one that did not write its file once did not take effect."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()
            self.process.wait(END_S_MAX)
            words = self.process.stdout.readline().split()
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClientError(f"the neighbour did not end: {error}") from error
        finally:
            self.process.release()
            self.process.stdout.close()
        if len(words) != 2:
            raise ClientError("the neighbour ended without saying what it wrote")
        written, dirty = int(words[0]), int(words[1])
        achieved = f"{written / 2**20:.0f} MiB written, at most {dirty / 2**20:.0f} MiB dirty on this machine"
        return Healed(achieved=achieved, exercised=written >= self.file_bytes)


def start_neighbour(leases: Leases, folder: Path, *, file_mb: int, seconds: float, rate_bps: int = 0) -> Neighbour:
    """Start writing to ``folder``'s file system; the file has no name and at most ``file_mb`` mebibytes."""
    argv = isolated("harness.faults.programs.page_cache_writer")
    process = leases.spawn(
        [*argv, str(folder), str(file_mb * 2**20), str(rate_bps), str(seconds)],
        name="neighbour that writes",
        until_s=seconds + END_S_MAX,
        env={"LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    return Neighbour(process=process, file_bytes=file_mb * 2**20)


def flood(fault: PageCacheNeighbour | LimitedPageCache, trial: TrialContext, load: LoadSession) -> Injected:
    """Write a file of the cell's ``neighbour_mb`` again and again for its ``watch_ms``, and watch the appends.

    What was written and how much of it was dirty at most is the fault's detail.
    """
    broker = masters(trial.cluster)[0]
    store = store_of(broker)
    watch_s = float(trial.params["watch_ms"]) / 1000
    file_mb = int(trial.params["neighbour_mb"])
    limit_mb = int(trial.params["limit_mb"]) if isinstance(fault, LimitedPageCache) else 0
    with watch_appends(broker) as appends, limited(trial, broker, limit_mb) as is_limited:
        begun_ns = mono_ns()
        neighbour = start_neighbour(trial.leases, store.mountpoint, file_mb=file_mb, seconds=2 * watch_s)
        trial.stay(watch_s)
        end = neighbour.end()
        stayed = is_limited()
        tally = appends.tally()
    record_tally(trial.events, broker.name, tally)
    detail = f"{end.achieved}, with a file of {file_mb} MiB" + (
        "" if stayed else "; the broker's memory was not limited"
    )
    exercised = bool(end.exercised) and stayed
    return Injected(target=broker.name, detail=detail, exercised=exercised, injecting_ns=begun_ns)


@contextmanager
def limited(trial: TrialContext, broker: Node, limit_mb: int) -> Iterator[Callable[[], bool]]:
    """The broker in a group that may have so many mebibytes of memory, and whether it is in it; 0: as it is."""
    if not limit_mb:
        yield lambda: True
        return
    pid = pid_of(trial, broker.name)
    group = make_group(trial.leases, pid, controller_root("memory"), until_s=trial.until_s)
    group.set("memory.max" if is_v2() else "memory.limit_in_bytes", str(limit_mb * 2**20))
    group.set("cgroup.procs", str(pid))
    try:
        yield lambda: group.has(pid)
    finally:
        group.end()


INJECTIONS: Injections = {
    DirtyPages: Injection(name="neighbour", inject=dirty),
    PageCacheNeighbour: Injection(
        name="neighbour", asks="root, loop devices and mkfs.ext4", inject=flood, brokers=with_own_store
    ),
    LimitedPageCache: Injection(
        name="neighbour",
        asks="root, loop devices and mkfs.ext4, and a control group of memory",
        inject=flood,
        needs=PROCESSES,
        can=partial(why_no_controller, "memory"),
        brokers=with_own_store,
    ),
}
