"""The process that holds every group's owner stands still: for a while, or for good with its connections open."""

from __future__ import annotations

from harness.clock import mono_ns
from harness.faults.owners import owners_of
from harness.trial import LoadSession, NeedsNothing, TrialContext

PAUSED_S_MAX, SILENT_S_MAX = 120.0, 600.0


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


class SilenceOwnersBySignal(NeedsNothing):
    """SIGSTOP under a lease; the process is ended with the hold, and never goes on."""

    way = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Stop the process."""
        owners = owners_of(load)
        target = f"pid {owners.pid}"
        trial.events.fault("silence-owners", "asked", target=target)
        trial.events.fault("silence-owners", "injecting", target=target, at_ns=mono_ns())
        owners.pause(trial.leases, until_s=SILENT_S_MAX)
        trial.events.fault("silence-owners", "injected", target=target)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """End it."""
        owners = owners_of(load)
        trial.events.fault("silence-owners", "healing", target=f"pid {owners.pid}")
        owners.kill()
        trial.events.fault("silence-owners", "healed", target=f"pid {owners.pid}")
