"""One commit of the transient store pool to the page cache stands still, by a Byteman rule in the broker's JVM.

That is what a page cache that takes no writes does to the pool, without root and without any append being slow: the
commit runs in a thread of its own, outside of the put lock.
"""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.clock import mono_ns
from harness.faults.append_stall import stall_next_commit
from harness.model.faults import CommitStall
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext


class StallCommitByByteman(Injection[CommitStall]):
    """Stalls the next commit of the first master's pool."""

    name = "byteman"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Arm, and wait until the commit goes on."""
        broker = masters(trial.cluster)[0]
        asked_ms = float(trial.params["stall_ms"])
        armed_ns = mono_ns()
        entry_ns, delay_end_ns = stall_next_commit(broker, asked_ms)
        return Injected(
            target=broker.name,
            asked_ms=asked_ms,
            achieved_ms=(delay_end_ns - entry_ns) / 1e6,
            injecting_ns=armed_ns,
            injected_ns=entry_ns,
            healing_ns=delay_end_ns,
            healed_ns=delay_end_ns,
        )


INJECTIONS: Injections = {CommitStall: StallCommitByByteman}
