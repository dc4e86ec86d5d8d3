"""No fault, but a look at every append of the first master: how long each held the put lock."""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.faults.append_stall import AppendTally, watch_appends
from harness.rundir.events import EventLog
from harness.trial import LoadSession, NeedsNothing, TrialContext


class WatchAppends(NeedsNothing):
    """Stamps appends for the cell's ``watch_ms``."""

    way = "none"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Watch, and record what was seen."""
        broker = masters(trial.cluster)[0]
        for state in ("asked", "injecting", "injected"):
            trial.events.fault("append-watch", state, target=broker.name)
        with watch_appends(broker) as appends:
            trial.stay(float(trial.params["watch_ms"]) / 1000)
            tally = appends.tally()
        record_tally(trial.events, broker.name, tally)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Stamp the end."""
        for state in ("healing", "healed"):
            trial.events.fault("append-watch", state)


def record_tally(events: EventLog, node: str, tally: AppendTally) -> None:
    """Record how many appends there were, the share below 1 ms, how many above 500 ms, their mean and the longest."""
    events.reading("append_count", tally.count, target=node)
    if tally.count:
        events.reading("append_short_share", tally.under_1_ms / tally.count, target=node)
        events.reading("append_mean_ms", tally.sum_ns / tally.count / 1e6, target=node)
        events.reading("append_over_500_count", tally.over_500_ms, target=node)
        events.reading("append_longest_ms", tally.longest_ns / 1e6, target=node)
