"""The process that holds every group's owner stands still for a while and comes back: a stop of the whole client."""

from __future__ import annotations

from harness.clock import mono_ns
from harness.faults.base import NeedsNothing
from harness.faults.owners import owners_of
from harness.load.session import LoadSession, TrialContext

PAUSED_S_MAX = 120.0


class PauseOwnersBySignal(NeedsNothing):
    """SIGSTOP under a lease, and SIGCONT when the hold, which lasts the cell's ``pause_s``, is over."""

    way = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Stop the process."""
        owners = owners_of(load)
        target, asked_ms = f"pid {owners.pid}", float(trial.params["pause_s"]) * 1000
        trial.events.fault("pause-owners", "asked", target=target, asked_ms=asked_ms)
        trial.events.fault("pause-owners", "injecting", target=target, at_ns=mono_ns())
        owners.pause(trial.leases, until_s=PAUSED_S_MAX)
        trial.events.fault("pause-owners", "injected", target=target, asked_ms=asked_ms)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Let it go on."""
        owners = owners_of(load)
        target = f"pid {owners.pid}"
        trial.events.fault("pause-owners", "healing", target=target)
        paused_ms = owners.resume()
        trial.events.fault("pause-owners", "healed", target=target, achieved_ms=paused_ms)
