"""The process that holds every group's owner loses its network: it works on, and nothing reaches it or leaves it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.clients.java import JavaClient
from harness.faults.network_cut import Cut, cut_processes, ports_of, why_no_firewall
from harness.faults.owners import owners_of
from harness.host.abilities import Abilities
from harness.host.cgroups import unified_root
from harness.model.faults import CutOffOwners
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


class CutOffOwnersByFirewall(Injection[CutOffOwners]):
    """Packets between that process and every node are dropped; it is ended with the hold, and never comes back."""

    name = "iptables"

    def can(self, host: Abilities) -> str | None:
        """A firewall, and control groups by which one process's packets are told from those of others."""
        if unified_root() is None:
            return "control groups of version 2 are not mounted"
        return why_no_firewall(host)

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Cut it off from name servers and brokers at once."""
        owners = owners_of(load)
        ports = sorted({port for node in trial.cluster.nodes for port in ports_of(node)})
        cut = cut_processes(trial.leases, [(owners.pid, ports)], until_s=trial.until_s)
        return Injected(target=f"pid {owners.pid}", held=_CutOff(owners=owners, cut=cut))


@dataclass(frozen=True, kw_only=True)
class _CutOff:
    owners: JavaClient
    cut: Cut

    def end(self) -> Healed:
        """End the process while it is cut off still, then remove the rules."""
        try:
            self.owners.kill()
        finally:
            healed = self.cut.end()
        return healed


INJECTIONS: Injections = {CutOffOwners: CutOffOwnersByFirewall}
