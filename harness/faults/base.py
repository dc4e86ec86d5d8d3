"""What every fault offers."""

from __future__ import annotations

from typing import Protocol

from harness.load.session import LoadSession, TrialContext


class Injection(Protocol):
    """One fault of one trial. Both methods stamp what they do into the trial's events."""

    way: str
    """How it is done, as the ledger names it: ``byteman``, ``signal``, ``client call``, ``none``."""

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Make it happen; returns when it has happened, or is over where it ends by itself."""

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Undo it, where that is not part of it."""
