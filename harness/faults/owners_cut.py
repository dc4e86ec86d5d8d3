"""The process that holds every group's owner loses its network: it works on, and nothing reaches it or leaves it."""

from __future__ import annotations

from harness.clock import mono_ns
from harness.faults.network_cut import CutByFirewall, cut_processes, ports_of
from harness.faults.owners import owners_of
from harness.host.abilities import Abilities
from harness.host.cgroups import unified_root
from harness.trial import LoadSession, TrialContext


class CutOffOwnersByFirewall(CutByFirewall):
    """Packets between that process and every node are dropped; it is ended with the hold, and never comes back."""

    kind = "cut-off-owners"

    def can(self, host: Abilities) -> str | None:
        """A firewall, and control groups by which one process's packets are told from those of others."""
        if unified_root() is None:
            return "control groups of version 2 are not mounted"
        return super().can(host)

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Cut it off from name servers and brokers at once."""
        owners = owners_of(load)
        target = f"pid {owners.pid}"
        ports = sorted({port for node in trial.cluster.nodes for port in ports_of(node)})
        asked_ns = mono_ns()
        trial.held.append(cut_processes(trial.leases, [(owners.pid, ports)], until_s=trial.until_s))
        for state, at_ns in (("asked", asked_ns), ("injecting", asked_ns), ("injected", mono_ns())):
            trial.events.fault(self.kind, state, target=target, at_ns=at_ns)  # type: ignore[arg-type]

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """End the process while it is cut off still, then remove the rules."""
        owners_of(load).kill()
        super().heal(trial, load)
