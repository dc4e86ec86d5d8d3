"""A node stands still, every thread of it, and goes on when the hold is over."""

from harness.backends.abilities import NODES
from harness.clock import mono_ns
from harness.faults.targets import node_of
from harness.model.faults import PauseNode
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


def pause(fault: PauseNode, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGSTOP of the node's process, or the pause of its container, under a lease."""
    name = node_of(trial, fault.node).name
    trial.cluster.pause_node(name, until_s=trial.until_s)
    from_ns = mono_ns()

    def resume() -> Healed:
        trial.cluster.resume_node(name)
        return Healed(achieved=f"paused for {(mono_ns() - from_ns) / 1e6:.0f} ms", exercised=True)

    return Injected(target=name, detail="until it is healed", end=resume)


INJECTIONS: Injections = {PauseNode: Injection(name="pause", inject=pause, needs=NODES)}
