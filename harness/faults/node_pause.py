"""A node stands still, every thread of it, and goes on when the hold is over."""

from __future__ import annotations

from dataclasses import dataclass

from harness.backends.cluster import Cluster
from harness.clock import mono_ns
from harness.faults.held import Begun, HeldInjection, node_of
from harness.host.abilities import Abilities
from harness.model.faults import PauseNode
from harness.trial import FaultEnd, TrialContext


class PauseByBackend(HeldInjection):
    """SIGSTOP of a process, or the pause of a container, under a lease."""

    way = "pause"
    kind = "pause-node"

    def can(self, host: Abilities) -> str | None:
        """Every backend can."""
        return None

    def begin(self, trial: TrialContext) -> Begun:
        """Pause the fault's node."""
        fault = trial.arm.fault
        assert isinstance(fault, PauseNode)
        name = node_of(trial, fault.node).name
        trial.cluster.pause_node(name, until_s=trial.until_s)
        return Begun(target=name, asked="until it is healed", held=Pause(trial.cluster, name, mono_ns()))


@dataclass(frozen=True)
class Pause:
    """A pause that is on since ``from_ns``."""

    cluster: Cluster
    node: str
    from_ns: int

    def end(self) -> FaultEnd:
        """Let it go on."""
        self.cluster.resume_node(self.node)
        return FaultEnd(achieved=f"paused for {(mono_ns() - self.from_ns) / 1e6:.0f} ms", exercised=True)
