"""A neighbour floods the file system of the first master's store with dirty pages while every append is stamped.

The broker itself may be held to little memory meanwhile: the pages of its files then have to go before others can come.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.backends.cluster import Node, masters
from harness.errors import ConfigurationError, LeaseError
from harness.faults.append_stall import watch_appends
from harness.faults.append_watch import record_tally
from harness.faults.dirty_pages import start_neighbour
from harness.host.abilities import Abilities
from harness.host.cgroups import controller_root, is_v2, make_group, why_no_controller
from harness.trial import LoadSession, NeedsNothing, TrialContext


class FloodPageCache(NeedsNothing):
    """Writes a file of the cell's ``neighbour_mb`` again and again for its ``watch_ms``."""

    way = "neighbour"
    kind = "page-cache-neighbour"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Write and watch; what was written and how much of it was dirty at most is the fault's detail."""
        broker = masters(trial.cluster)[0]
        if broker.store is None:
            raise LeaseError(f"{broker.name} has no store on a file system of its own to be flooded")
        watch_s = float(trial.params["watch_ms"]) / 1000
        file_mb = int(trial.params["neighbour_mb"])
        trial.events.fault(self.kind, "asked", target=broker.name, detail=f"{file_mb} MiB")
        with watch_appends(broker) as appends, self._limited(trial, broker):
            trial.events.fault(self.kind, "injecting", target=broker.name)
            neighbour = start_neighbour(trial.leases, broker.store.mountpoint, file_mb=file_mb, seconds=2 * watch_s)
            trial.stay(watch_s)
            end = neighbour.end()
            tally = appends.tally()
        trial.events.fault(self.kind, "injected", target=broker.name, detail=end.achieved, exercised=end.exercised)
        record_tally(trial.events, broker.name, tally)

    @contextmanager
    def _limited(self, trial: TrialContext, broker: Node) -> Iterator[None]:
        """Nothing holds the broker back."""
        yield

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """It has ended."""
        for state in ("healing", "healed"):
            trial.events.fault(self.kind, state)


class FloodPageCacheUnderLimit(FloodPageCache):
    """The same, with the broker in a group that may have the cell's ``limit_mb`` of memory."""

    kind = "limited-page-cache"

    def can(self, host: Abilities) -> str | None:
        """It needs a control group of memory."""
        return why_no_controller("memory", host)

    @contextmanager
    def _limited(self, trial: TrialContext, broker: Node) -> Iterator[None]:
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
