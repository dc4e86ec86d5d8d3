"""The page cache of the first master's store takes no writes for an exact time, whatever the broker does meanwhile.

The same freeze as ``store_freeze``, asked for as a cause and not for its effect: with the transient store pool no append
need be slow. What the broker's appends were like meanwhile is read at its rule.
"""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.errors import LeaseError
from harness.faults.append_stall import watch_appends
from harness.faults.append_watch import record_tally
from harness.faults.store_freeze import Freezer, StallByFreeze, record_freeze
from harness.trial import LoadSession, TrialContext


class StallPageCacheByFreeze(StallByFreeze):
    """Freezes the store, and counts the appends from its begin to a moment after its end."""

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Freeze for the cell's time, then wait until an append that it stalled has ended."""
        broker = masters(trial.cluster)[0]
        if broker.store is None:
            raise LeaseError(f"{broker.name} has no store on a file system of its own that could be frozen")
        asked_ms = float(trial.params["stall_ms"])
        trial.events.fault("store-freeze", "asked", target=broker.name, asked_ms=asked_ms)
        with (
            Freezer.start(trial.leases, broker.store, until_s=trial.until_s) as freezer,
            watch_appends(broker) as appends,
        ):
            stamps = freezer.freeze(asked_ms)
            tally = appends.tally()
        record_freeze(trial.events, "store-freeze", broker, asked_ms, stamps)
        record_tally(trial.events, broker.name, tally)
