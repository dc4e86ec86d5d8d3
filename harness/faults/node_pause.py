"""A node stands still, every thread of it, and goes on when the hold is over; or it does so again and again."""

import contextlib
import threading

from harness.backends.abilities import NODES
from harness.clock import mono_ns
from harness.errors import LabError
from harness.faults.targets import node_of
from harness.model.faults import FlappingNode, PauseNode
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

PAUSED_S_MAX = 30.0
"""In which a thread that pauses a node has ended what it was at."""


def pause(fault: PauseNode, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGSTOP of the node's process, or the pause of its container, under a lease."""
    name = node_of(trial, fault.node).name
    trial.cluster.pause_node(name, until_s=trial.until_s)
    from_ns = mono_ns()

    def resume() -> Healed:
        trial.cluster.resume_node(name)
        return Healed(achieved=f"paused for {(mono_ns() - from_ns) / 1e6:.0f} ms", exercised=True)

    return Injected(target=name, detail="until it is healed", end=resume)


def flap(fault: FlappingNode, trial: TrialContext, load: LoadSession) -> Injected:
    """The same for a moment and again and again, each time under a lease, from a thread; the first time at once."""
    name = node_of(trial, fault.node).name
    over = threading.Event()
    pauses = 0
    trial.cluster.pause_node(name, until_s=trial.until_s)

    def go_on() -> None:
        nonlocal pauses
        # A node that cannot be paused any more has ended; the count of pauses tells.
        with contextlib.suppress(LabError):
            while True:
                over.wait(fault.stopped_s)
                trial.cluster.resume_node(name)
                pauses += 1
                if over.wait(fault.runs_s):
                    return
                trial.cluster.pause_node(name, until_s=trial.until_s)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()

    def end() -> Healed:
        over.set()
        thread.join(timeout=PAUSED_S_MAX)
        trial.cluster.resume_node(name)
        return Healed(achieved=f"paused {pauses} times", exercised=pauses > 0)

    return Injected(target=name, detail=f"{fault.stopped_s:g} s of every {fault.stopped_s + fault.runs_s:g}", end=end)


INJECTIONS: Injections = {
    PauseNode: Injection(name="pause", inject=pause, needs=NODES),
    FlappingNode: Injection(name="pause", inject=flap, needs=NODES),
}
