"""A neighbour floods the file system of the first master's store with dirty pages while every append is stamped."""

from __future__ import annotations

from harness.backends.base import masters
from harness.errors import LeaseError
from harness.faults.append_stall import watch_appends
from harness.faults.append_watch import record_tally
from harness.faults.base import NeedsNothing
from harness.faults.dirty_pages import start_neighbour
from harness.load.session import LoadSession, TrialContext


class FloodPageCache(NeedsNothing):
    """Writes a file of the cell's ``neighbour_mb`` again and again for its ``watch_ms``."""

    way = "neighbour"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Write and watch; what was written and how much of it was dirty at most is the fault's detail."""
        broker = masters(trial.cluster)[0]
        if broker.store is None:
            raise LeaseError(f"{broker.name} has no store on a file system of its own to be flooded")
        watch_s = float(trial.params["watch_ms"]) / 1000
        file_mb = int(trial.params["neighbour_mb"])
        trial.events.fault("page-cache-neighbour", "asked", target=broker.name, detail=f"{file_mb} MiB")
        with watch_appends(broker) as appends:
            trial.events.fault("page-cache-neighbour", "injecting", target=broker.name)
            neighbour = start_neighbour(trial.leases, broker.store.mountpoint, file_mb=file_mb, seconds=2 * watch_s)
            trial.stay(watch_s)
            end = neighbour.end()
            tally = appends.tally()
        trial.events.fault(
            "page-cache-neighbour", "injected", target=broker.name, detail=end.achieved, exercised=end.exercised
        )
        record_tally(trial.events, broker.name, tally)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """It has ended."""
        for state in ("healing", "healed"):
            trial.events.fault("page-cache-neighbour", state)
