"""A neighbour floods the file system of the first master's store with dirty pages while every append is stamped.

The broker itself may be held to little memory meanwhile: the pages of its files then have to go before others can come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from harness.backends.cluster import Node, masters
from harness.clock import mono_ns
from harness.errors import ConfigurationError, LeaseError
from harness.faults.append_stall import watch_appends
from harness.faults.append_watch import record_tally
from harness.faults.dirty_pages import start_neighbour
from harness.host.abilities import Abilities
from harness.host.cgroups import controller_root, is_v2, make_group, why_no_controller
from harness.model.faults import LimitedPageCache, PageCacheNeighbour
from harness.trial import F, Injected, Injection, Injections, LoadSession, TrialContext


class FloodsPageCache(Injection[F]):
    """Base of what writes a file of the cell's ``neighbour_mb`` again and again for its ``watch_ms``."""

    name = "neighbour"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Write and watch; what was written and how much of it was dirty at most is the fault's detail."""
        broker = masters(trial.cluster)[0]
        if broker.store is None:
            raise LeaseError(f"{broker.name} has no store on a file system of its own to be flooded")
        watch_s = float(trial.params["watch_ms"]) / 1000
        file_mb = int(trial.params["neighbour_mb"])
        with watch_appends(broker) as appends, self.limited(trial, broker):
            begun_ns = mono_ns()
            neighbour = start_neighbour(trial.leases, broker.store.mountpoint, file_mb=file_mb, seconds=2 * watch_s)
            trial.stay(watch_s)
            end = neighbour.end()
            tally = appends.tally()
        record_tally(trial.events, broker.name, tally)
        detail = f"{end.achieved}, with a file of {file_mb} MiB"
        return Injected(target=broker.name, detail=detail, exercised=end.exercised, injecting_ns=begun_ns)

    def limited(self, trial: TrialContext, broker: Node) -> AbstractContextManager[None]:
        """What holds the broker back meanwhile: nothing, unless a subclass does."""
        return nullcontext()


class FloodPageCache(FloodsPageCache[PageCacheNeighbour]):
    """A neighbour alone."""


class FloodPageCacheUnderLimit(FloodsPageCache[LimitedPageCache]):
    """The same, with the broker in a group that may have the cell's ``limit_mb`` of memory."""

    def can(self, host: Abilities) -> str | None:
        """It needs a control group of memory."""
        return why_no_controller("memory", host)

    @contextmanager
    def limited(self, trial: TrialContext, broker: Node) -> Iterator[None]:
        """Raises ConfigurationError in a container, whose group is the engine's, and LeaseError."""
        pid = trial.cluster.pid(broker.name)
        if pid is None:
            raise ConfigurationError(f"{broker.name} is no process of this host that could be limited")
        limit_bytes = int(trial.params["limit_mb"]) * 2**20
        group = make_group(trial.leases, pid, controller_root("memory"), until_s=trial.until_s)
        group.set("memory.max" if is_v2() else "memory.limit_in_bytes", str(limit_bytes))
        group.set("cgroup.procs", str(pid))
        try:
            yield
        finally:
            group.end()


INJECTIONS: Injections = {PageCacheNeighbour: FloodPageCache, LimitedPageCache: FloodPageCacheUnderLimit}
