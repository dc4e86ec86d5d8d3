"""The end of the process that holds every group's owner: killed, or shut down in an orderly way."""

from __future__ import annotations

from harness.clients.java import JavaClient
from harness.clock import mono_ns
from harness.model.faults import KillOwners, ShutDownOwners
from harness.trial import HasOwners, Injected, Injection, Injections, LoadSession, TrialContext, able


def owners_of(load: LoadSession) -> JavaClient:
    """The process that holds the owners. Raises ClientError where the load has none."""
    return able(load, HasOwners).owners()


class KillOwnersBySignal(Injection[KillOwners]):
    """SIGKILL; the owners stay dead."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Kill, and wait until the process is gone."""
        owners = owners_of(load)
        before_ns, gone_ns = owners.kill()
        return Injected(
            target=f"pid {owners.pid}",
            achieved_ms=(gone_ns - before_ns) / 1e6,
            injecting_ns=before_ns,
            injected_ns=gone_ns,
        )


class ShutDownOwnersByCall(Injection[ShutDownOwners]):
    """``consumer.shutdown()`` on every owner, all at once; the owners stay away."""

    name = "client call"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Call and wait until every call has returned."""
        owners = owners_of(load)
        before_ns = mono_ns()
        owners.shut_down_consumers()
        gone_ns = mono_ns()
        return Injected(
            target=f"pid {owners.pid}",
            achieved_ms=(gone_ns - before_ns) / 1e6,
            injecting_ns=before_ns,
            injected_ns=gone_ns,
        )


INJECTIONS: Injections = {KillOwners: KillOwnersBySignal, ShutDownOwners: ShutDownOwnersByCall}
