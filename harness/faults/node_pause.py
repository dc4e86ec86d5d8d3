"""A node stands still, every thread of it, and goes on when the hold is over."""

from __future__ import annotations

from dataclasses import dataclass

from harness.backends.cluster import Cluster
from harness.clock import mono_ns
from harness.faults.targets import node_of
from harness.model.faults import PauseNode
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


class PauseByBackend(Injection[PauseNode]):
    """SIGSTOP of a process, or the pause of a container, under a lease."""

    name = "pause"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Pause the fault's node."""
        name = node_of(trial, self.fault.node).name
        trial.cluster.pause_node(name, until_s=trial.until_s)
        return Injected(target=name, detail="until it is healed", held=Pause(trial.cluster, name, mono_ns()))


@dataclass(frozen=True)
class Pause:
    """A pause that is on since ``from_ns``."""

    cluster: Cluster
    node: str
    from_ns: int

    def end(self) -> Healed:
        """Let it go on."""
        self.cluster.resume_node(self.node)
        return Healed(achieved=f"paused for {(mono_ns() - self.from_ns) / 1e6:.0f} ms", exercised=True)


INJECTIONS: Injections = {PauseNode: PauseByBackend}
