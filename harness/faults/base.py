"""What every fault offers."""

from __future__ import annotations

from typing import Protocol

from harness.host.abilities import Abilities
from harness.load.session import LoadSession, TrialContext
from harness.model import BrokerSettings


class Injection(Protocol):
    """One fault of one trial. ``inject`` and ``heal`` stamp what they do into the trial's events."""

    way: str
    """How it is done, as the ledger names it: ``byteman``, ``freeze``, ``signal``, ``client call``, ``none``."""

    def can(self, host: Abilities) -> str | None:
        """Why it cannot be made on this host; None when it can."""

    def brokers(self, settings: BrokerSettings) -> BrokerSettings:
        """What the brokers have to be started with beyond what their arm asks for."""

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Make it happen; returns when it has happened, or is over where it ends by itself."""

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Undo it, where that is not part of it."""


class NeedsNothing:
    """Any host can make it, on brokers as they are."""

    def can(self, host: Abilities) -> str | None:
        """It can."""
        return None

    def brokers(self, settings: BrokerSettings) -> BrokerSettings:
        """As they are."""
        return settings
