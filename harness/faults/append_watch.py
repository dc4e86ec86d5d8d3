"""No fault, but a look at every append of the first master: how long each held the put lock."""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.clock import mono_ns
from harness.faults.append_stall import AppendTally, watch_appends
from harness.model.faults import AppendWatch
from harness.rundir.events import EventLog
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext


class WatchAppends(Injection[AppendWatch]):
    """Stamps appends for the cell's ``watch_ms``."""

    name = "none"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Watch, and record what was seen."""
        broker, begun_ns = masters(trial.cluster)[0], mono_ns()
        with watch_appends(broker) as appends:
            trial.stay(float(trial.params["watch_ms"]) / 1000)
            tally = appends.tally()
        record_tally(trial.events, broker.name, tally)
        return Injected(target=broker.name, injecting_ns=begun_ns, injected_ns=begun_ns)


def record_tally(events: EventLog, node: str, tally: AppendTally) -> None:
    """Record how many appends there were, the share below 1 ms, how many above 500 ms, their mean and the longest."""
    events.reading("append_count", tally.count, target=node)
    if tally.count:
        events.reading("append_short_share", tally.under_1_ms / tally.count, target=node)
        events.reading("append_mean_ms", tally.sum_ns / tally.count / 1e6, target=node)
        events.reading("append_over_500_count", tally.over_500_ms, target=node)
        events.reading("append_longest_ms", tally.longest_ns / 1e6, target=node)


INJECTIONS: Injections = {AppendWatch: WatchAppends}
