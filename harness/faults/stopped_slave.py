"""A slave stands still, and in the end its master is gone: what was acknowledged meanwhile, and is not on the slave.

A process that is stopped answers nobody, and its kernel goes on to take what it is sent: some 100 KB, which the slave has when it
goes on.
"""

from harness.backends.abilities import NODES
from harness.backends.cluster import Cluster, Node, masters
from harness.errors import ConfigurationError
from harness.faults.pause_proof import Pause
from harness.faults.questions import answers
from harness.model.faults import StoppedSlave
from harness.trial import CanStopSending, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able

DISPATCHED_S = 2.0
"""In which a slave that goes on takes what its kernel has, and dispatches it to its queues."""


def stop(fault: StoppedSlave, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGSTOP of the slave's process, or the pause of its container, under a lease. Raises ConfigurationError."""
    slave = slave_of(trial.cluster)
    able(load, CanStopSending)
    still = Pause(trial.cluster.pause_node(slave.name, until_s=trial.until_s), slave)
    return Injected(
        target=slave.name, detail="until its master is killed", end=lambda: _leave_alone(slave, still, trial, load)
    )


def _leave_alone(slave: Node, still: Pause, trial: TrialContext, load: LoadSession) -> Healed:
    """Kill the master, let the slave go on, read what it has, and start the master again."""
    master, sends = masters(trial.cluster)[0], able(load, CanStopSending)
    try:
        sends.stop_sending()
        trial.cluster.kill_node(master.name)
        is_gone = not answers(master)
        still.ends()
    finally:
        trial.cluster.resume_node(slave.name)
    trial.stay(DISPATCHED_S)
    sends.record_ends("held", on=[slave])
    trial.cluster.restart_node(master.name)
    sends.restore_topic()
    if not is_gone:
        return Healed(achieved=f"{master.address} answered although {master.name} had been killed", exercised=False)
    shown = still.shown(f"{master.name} was killed before {slave.name} went on", trial.cancel)
    return Healed(achieved=shown.achieved, exercised=shown.exercised)


def slave_of(cluster: Cluster) -> Node:
    """The first master's slave. Raises ConfigurationError."""
    name = masters(cluster)[0].broker_name
    for node in cluster.nodes:
        if node.broker_name == name and node.broker_id:
            return node
    raise ConfigurationError(f"{name} has no slave", advice="Use a topology with a slave for each master.")


INJECTIONS: Injections = {StoppedSlave: Injection(name="signal", inject=stop, needs=NODES)}
