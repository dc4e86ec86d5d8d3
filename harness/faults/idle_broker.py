"""A broker that is left alone: how much of a core its threads take.

What a thread has used so far is in the 14th and 15th field of /proc/PID/task/TID/stat (proc(5)), in hundredths of a second.
"""

import os
from pathlib import Path

from harness.backends.abilities import NODES
from harness.backends.cluster import Node, masters, wait_registered
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model.faults import SETTLED_S, IdleBroker
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

STOP_S_MAX = 30.0


def leave_alone(fault: IdleBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Nothing is done to it."""
    now_ns = mono_ns()
    return Injected(target=masters(trial.cluster)[0].name, injecting_ns=now_ns, injected_ns=now_ns, exercised=True)


def heal(fault: IdleBroker, trial: TrialContext, load: LoadSession) -> Healed:
    """Look at its threads; where it is to be cured, restart it, and look again when it has settled. Raises LabError."""
    broker = masters(trial.cluster)[0]
    achieved = _look(fault, trial, broker, "idle")
    if fault.cure == "restart":
        trial.cluster.stop_node(broker.name, grace_s=STOP_S_MAX)
        trial.cluster.start_node(broker.name)
        wait_registered(trial.cluster)
        trial.stay(SETTLED_S)
        achieved = f"{achieved}; {_look(fault, trial, broker, 'restarted')}"
    return Healed(achieved=achieved, exercised=True)


def _look(fault: IdleBroker, trial: TrialContext, broker: Node, when: str) -> str:
    pid = trial.cluster.pid(broker.name)
    if pid is None:
        raise ClientError(f"{broker.name} is down, so that none of its threads can be looked at")
    before, from_ns = cpu_s_by_thread(pid), mono_ns()
    trial.stay(fault.watch_s)
    after, took_s = cpu_s_by_thread(pid), (mono_ns() - from_ns) / 1e9
    took = {thread: (cpu_s - before[thread]) / took_s for thread, cpu_s in after.items() if thread in before}
    busiest = max(took, key=lambda thread: took[thread])
    said = f"{when}: {busiest[1]} took most of {sum(took.values()):.2f} cores"
    trial.events.probe("thread_busy_share", took[busiest], of=said, params={"when": when})
    return said


def cpu_s_by_thread(pid: int) -> dict[tuple[int, str], float]:
    """Seconds of processor time by a thread's number and its name, of which Linux keeps 15 characters."""
    cpu_s = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            head, _, tail = (task / "stat").read_text().rpartition(")")
        except OSError:
            continue  # It has ended meanwhile.
        fields = tail.split()
        cpu_s[int(task.name), head.partition("(")[2]] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return cpu_s


INJECTIONS: Injections = {IdleBroker: Injection(name="signal", inject=leave_alone, needs=NODES, heal=heal)}
