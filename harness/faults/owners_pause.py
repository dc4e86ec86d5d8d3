"""The process that holds every group's owner stands still: for a while, or for good with its connections open."""

from __future__ import annotations

from harness.faults.owners import owners_of
from harness.model.faults import PauseOwners, SilenceOwners
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

PAUSED_S_MAX, SILENT_S_MAX = 120.0, 600.0


class PauseOwnersBySignal(Injection[PauseOwners]):
    """SIGSTOP under a lease, and SIGCONT when the hold, which lasts the cell's ``pause_s``, is over."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Stop the process."""
        owners = owners_of(load)
        owners.pause(trial.leases, until_s=PAUSED_S_MAX)
        return Injected(target=f"pid {owners.pid}", asked_ms=float(trial.params["pause_s"]) * 1000)

    def heal(self, trial: TrialContext, load: LoadSession) -> Healed:
        """Let it go on."""
        return Healed(achieved_ms=owners_of(load).resume())


class SilenceOwnersBySignal(Injection[SilenceOwners]):
    """SIGSTOP under a lease; the process is ended with the hold, and never goes on."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Stop the process."""
        owners = owners_of(load)
        owners.pause(trial.leases, until_s=SILENT_S_MAX)
        return Injected(target=f"pid {owners.pid}")

    def heal(self, trial: TrialContext, load: LoadSession) -> Healed:
        """End it."""
        owners_of(load).kill()
        return Healed()


INJECTIONS: Injections = {PauseOwners: PauseOwnersBySignal, SilenceOwners: SilenceOwnersBySignal}
