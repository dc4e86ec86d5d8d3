"""The end of the process that holds every group's owner: killed, or shut down in an orderly way."""

from __future__ import annotations

from harness.clients.java import JavaClient
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.trial import LoadSession, NeedsNothing, TrialContext


def owners_of(load: LoadSession) -> JavaClient:
    """The process that holds the owners. Raises ClientError where the load has none."""
    owners = load.owners()
    if owners is None:
        raise ClientError("this load has no owners", advice="Use a fault that goes with the arm's load.")
    return owners


class KillOwnersBySignal(NeedsNothing):
    """SIGKILL; nothing is left to heal, since the trial goes on without them."""

    way = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Kill, and wait until the process is gone."""
        owners = owners_of(load)
        target = f"pid {owners.pid}"
        trial.events.fault("kill-owners", "asked", target=target)
        before_ns, gone_ns = owners.kill()
        trial.events.fault("kill-owners", "injecting", target=target, at_ns=before_ns)
        trial.events.fault(
            "kill-owners", "injected", target=target, at_ns=gone_ns, achieved_ms=(gone_ns - before_ns) / 1e6
        )

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """The owners stay dead."""


class ShutDownOwnersByCall(NeedsNothing):
    """``consumer.shutdown()`` on every owner, all at once."""

    way = "client call"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Call and wait until every call has returned."""
        owners = owners_of(load)
        target = f"pid {owners.pid}"
        trial.events.fault("shut-down-owners", "asked", target=target)
        before_ns = mono_ns()
        trial.events.fault("shut-down-owners", "injecting", target=target, at_ns=before_ns)
        owners.shut_down_consumers()
        trial.events.fault("shut-down-owners", "injected", target=target, achieved_ms=(mono_ns() - before_ns) / 1e6)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """The owners stay away."""
