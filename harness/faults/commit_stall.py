"""One commit of the transient store pool to the page cache stands still, by a Byteman rule in the broker's JVM.

That is what a page cache that takes no writes does to the pool, without root and without any append being slow: the
commit runs in a thread of its own, outside of the put lock.
"""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.clock import mono_ns
from harness.faults.append_stall import stall_next_commit
from harness.trial import LoadSession, NeedsNothing, TrialContext


class StallCommitByByteman(NeedsNothing):
    """Stalls the next commit of the first master's pool."""

    way = "byteman"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Arm, and wait until the commit goes on."""
        broker = masters(trial.cluster)[0]
        asked_ms = float(trial.params["stall_ms"])
        trial.events.fault("commit-stall", "asked", target=broker.name, asked_ms=asked_ms)
        asked_ns = mono_ns()
        entry_ns, delay_end_ns = stall_next_commit(broker, asked_ms)
        achieved_ms = (delay_end_ns - entry_ns) / 1e6
        for state, at_ns in (
            ("injecting", asked_ns),
            ("injected", entry_ns),
            ("healing", delay_end_ns),
            ("healed", delay_end_ns),
        ):
            trial.events.fault(
                "commit-stall",
                state,  # type: ignore[arg-type]
                target=broker.name,
                asked_ms=asked_ms,
                achieved_ms=achieved_ms,
                at_ns=at_ns,
            )

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """It has ended by itself."""
