"""A broker that is left alone: for how much of the time its threads compute.

For how long a thread computed, and waited until a core was free, is in /proc/PID/task/TID/schedstat, in nanoseconds (sched-stats of
the kernel's documents). What a thread that does not rest gets of the time for which it had not to wait is all of it, also where
others use the cores. The waits of a thread that rests are not to be added to what it computed: a kernel may count some of its sleep
among them (seen with Linux 6.18).
"""

from harness.backends.abilities import NODES
from harness.backends.cluster import RECORD_S_MAX, Node, ask, masters, wait_registered
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.host.meter import times_of_threads
from harness.leases import proc
from harness.model.faults import SETTLED_S, IdleBroker
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

STOP_S_MAX = 30.0
IDLE_BYTES_PER_S_MAX = 16 * 1024
"""A broker that is left alone writes less: a message a second, and what is its own, such as the half messages of sixty transactions
again after each check. A hundred small sends a second are more."""


def leave_alone(fault: IdleBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Nothing is done to it; whether it was idle shows when it was looked at."""
    now_ns = mono_ns()
    return Injected(target=masters(trial.cluster)[0].name, injecting_ns=now_ns, injected_ns=now_ns)


def heal(fault: IdleBroker, trial: TrialContext, load: LoadSession) -> Healed:
    """Look at its threads; where it is to be cured, restart it, and look again when it has settled. Raises LabError."""
    broker = masters(trial.cluster)[0]
    achieved, was_idle = _look(fault, trial, broker, "idle")
    if fault.cure == "restart":
        before = trial.cluster.pid(broker.name)
        trial.cluster.stop_node(broker.name, grace_s=STOP_S_MAX)
        trial.cluster.start_node(broker.name)
        wait_registered(trial.cluster)
        trial.stay(SETTLED_S)
        again, is_idle = _look(fault, trial, broker, "restarted")
        achieved, was_idle = f"{achieved}; {again}", was_idle and is_idle and trial.cluster.pid(broker.name) != before
    return Healed(achieved=achieved, exercised=was_idle)


def _look(fault: IdleBroker, trial: TrialContext, broker: Node, when: str) -> tuple[str, bool]:
    """What its threads did, in words, and whether it was the same process all the while, and idle."""
    pid = trial.cluster.pid(broker.name)
    process = None if pid is None else proc.identify(pid)
    if pid is None or process is None:
        raise ClientError(f"{broker.name} is down, so that none of its threads can be looked at")
    end_before = _end_of_log(broker)
    before, from_ns = times_of_threads(pid), mono_ns()
    trial.stay(fault.watch_s)
    after, took_ns = times_of_threads(pid), mono_ns() - from_ns
    bytes_per_s = (_end_of_log(broker) - end_before) / (took_ns / 1e9)
    grown = {
        thread: (now[0] - before[thread][0], now[1] - before[thread][1])
        for thread, now in after.items()
        if thread in before
    }
    busiest = max(grown, key=lambda thread: grown[thread][0])
    computed_ns, waited_ns = grown[busiest]
    cores = sum(computed for computed, _ in grown.values()) / took_ns
    said = f"{when}: {busiest[1]} computed for {computed_ns / took_ns:.0%} of the time, of {cores:.2f} cores in all"
    share = computed_ns / max(computed_ns, took_ns - waited_ns, 1)
    trial.events.probe("thread_busy_share", share, of=said, params={"when": when})
    if not process.is_alive():
        return f"{said}; it ended meanwhile", False
    is_idle = bytes_per_s <= IDLE_BYTES_PER_S_MAX
    words = "" if is_idle else "it was not idle: "
    return f"{said}; {words}its commit log grew by {bytes_per_s / 1024:.1f} KiB/s", is_idle


def _end_of_log(broker: Node) -> int:
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        return int(connection.runtime_info()["commitLogMaxOffset"])


INJECTIONS: Injections = {IdleBroker: Injection(name="signal", inject=leave_alone, needs=NODES, heal=heal)}
