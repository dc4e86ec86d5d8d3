"""No fault: the control."""

from __future__ import annotations

from harness.trial import LoadSession, NeedsNothing, TrialContext


class NothingHappens(NeedsNothing):
    """Stamps a fault window in which nothing is done."""

    way = "none"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Stamp the window's begin."""
        for state in ("asked", "injecting", "injected"):
            trial.events.fault("none", state)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Stamp its end."""
        for state in ("healing", "healed"):
            trial.events.fault("none", state)
