"""A node stands still, every thread of it, and goes on when the hold is over; or it does so again and again."""

import contextlib
import dataclasses
import threading
from collections.abc import Sequence

from harness.backends.abilities import NODES
from harness.clock import mono_ns
from harness.errors import LabError
from harness.faults.pause_proof import Pause
from harness.faults.targets import node_of
from harness.model.faults import FlappingNode, PauseNode
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

PAUSED_S_MAX = 30.0
"""In which a thread that pauses a node has ended what it was at."""


def pause(fault: PauseNode, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGSTOP of the node's process, or the pause of its container, under a lease."""
    node = node_of(trial, fault.node)
    processes = trial.cluster.pause_node(node.name, until_s=trial.until_s)
    from_ns = mono_ns()
    still = Pause(processes, node)

    def resume() -> Healed:
        still.ends()
        trial.cluster.resume_node(node.name)
        return still.shown(f"paused for {(mono_ns() - from_ns) / 1e6:.0f} ms", trial.cancel)

    return Injected(target=node.name, detail="until it is healed", injected_ns=from_ns, end=resume)


def flap(fault: FlappingNode, trial: TrialContext, load: LoadSession) -> Injected:
    """The same for a moment and again and again, each time under a lease, from a thread; the first time at once."""
    node = node_of(trial, fault.node)
    over = threading.Event()
    pauses: list[Pause] = []
    processes = trial.cluster.pause_node(node.name, until_s=trial.until_s)
    from_ns = mono_ns()
    first = Pause(processes, node)

    def go_on() -> None:
        still = first
        # A node that cannot be paused any more has ended; the count of pauses tells.
        with contextlib.suppress(LabError):
            while True:
                over.wait(fault.stopped_s)
                still.ends()
                trial.cluster.resume_node(node.name)
                pauses.append(still)
                if over.wait(fault.runs_s):
                    return
                stopped = trial.cluster.pause_node(node.name, until_s=trial.until_s)
                # One that is busy is asked again when it has answered.
                still = Pause(stopped, node, asks=still.has_answered)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()

    def end() -> Healed:
        over.set()
        thread.join(timeout=PAUSED_S_MAX)
        trial.cluster.resume_node(node.name)
        return shown_of_all(pauses, trial.cancel)

    detail = f"{fault.stopped_s:g} s of every {fault.stopped_s + fault.runs_s:g}"
    return Injected(target=node.name, detail=detail, injected_ns=from_ns, end=end)


def shown_of_all(pauses: Sequence[Pause], cancel: threading.Event) -> Healed:
    """Whether the node stood still each time, with the words of the time that says least for it."""
    healed_ns, times = mono_ns(), f"paused {len(pauses)} times"
    each = [one.shown(f"{times}, number {number}", cancel) for number, one in enumerate(pauses, 1)]
    never = Healed(achieved=times, exercised=False)
    worst = min(each, key=lambda one: {False: 0, None: 1, True: 2}[one.exercised], default=never)
    return dataclasses.replace(worst, healed_ns=healed_ns)


INJECTIONS: Injections = {
    PauseNode: Injection(name="pause", inject=pause, needs=NODES),
    FlappingNode: Injection(name="pause", inject=flap, needs=NODES),
}
