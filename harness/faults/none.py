"""No fault: the control."""

from __future__ import annotations

from harness.model.faults import NoFault
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext


class NothingHappens(Injection[NoFault]):
    """A fault window in which nothing is done."""

    name = "none"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Do nothing."""
        return Injected()


INJECTIONS: Injections = {NoFault: NothingHappens}
