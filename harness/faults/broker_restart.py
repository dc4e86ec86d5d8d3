"""A broker, or any node, is killed and started again on its store and its ports: what it had in memory is gone.

Locks of queues are such a thing (``mqLockTable`` of org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager).
"""

from harness.backends.abilities import NODES
from harness.backends.cluster import Node, masters, wait_registered
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.owners import owners_of
from harness.faults.questions import answers
from harness.faults.targets import node_of
from harness.model.faults import BrokerAway, KillNode, KillOwnersRestartBroker, MasterAway, RestartBroker
from harness.trial import HasLocks, Healed, Injected, Injection, Injections, LoadSession, TrialContext


def restart(fault: RestartBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGKILL and start of the first master; where the load has locks, an outsider asks for them before anybody could know
    that it is back."""
    broker = masters(trial.cluster)[0]
    # A client that finds its broker gone may let its queues go.
    held = load.held_on(broker.broker_name) if isinstance(load, HasLocks) else {}
    if isinstance(load, HasLocks) and not held:
        raise ClientError(f"no owner has a queue of {broker.broker_name}, so that nobody could ask for its lock")
    before_ns, gone_ns = trial.cluster.kill_node(broker.name)
    healing_ns = mono_ns()
    trial.cluster.start_node(broker.name)
    if isinstance(load, HasLocks):
        load.ask_for_locks(broker.broker_name, held)
    wait_registered(trial.cluster)
    return _restarted(broker, before_ns, gone_ns, healing_ns)


def kill_owners_and_restart(fault: KillOwnersRestartBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGKILL of the owners' process, which stays dead, and of the first master, which is started again at once."""
    owners, broker = owners_of(load), masters(trial.cluster)[0]
    before_ns, _ = owners.kill()
    _, gone_ns = trial.cluster.kill_node(broker.name)
    healing_ns = mono_ns()
    trial.cluster.restart_node(broker.name)
    return _restarted(broker, before_ns, gone_ns, healing_ns)


def _restarted(broker: Node, before_ns: int, gone_ns: int, healing_ns: int) -> Injected:
    return Injected(
        target=broker.broker_name,
        injecting_ns=before_ns,
        injected_ns=gone_ns,
        healing_ns=healing_ns,
        healed_ns=mono_ns(),
    )


def kill_second(fault: BrokerAway, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGKILL of the second master; it stays away for the hold."""
    brokers = masters(trial.cluster)
    if len(brokers) < 2:
        raise ClientError("a broker that leaves needs another one that stays", advice="Use two masters or more.")
    return _killed(trial, brokers[1])


def kill_first(fault: MasterAway, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGKILL of the first master; it stays away for the hold."""
    return _killed(trial, masters(trial.cluster)[0])


def kill_named(fault: KillNode, trial: TrialContext, load: LoadSession) -> Injected:
    """SIGKILL of the node that is named; it stays away for the hold."""
    return _killed(trial, node_of(trial, fault.node))


def _killed(trial: TrialContext, broker: Node) -> Injected:
    """A process that was killed by mistake is gone as well: nobody may answer at the node's address any more."""
    before_ns, gone_ns = trial.cluster.kill_node(broker.name)
    is_gone = not answers(broker)
    return Injected(
        target=broker.name,
        detail="" if is_gone else f"{broker.address} answered although {broker.name} had been killed",
        injecting_ns=before_ns,
        injected_ns=gone_ns,
        achieved_ms=(gone_ns - before_ns) / 1e6,
        exercised=is_gone,
    )


def start_second(fault: BrokerAway, trial: TrialContext, load: LoadSession) -> Healed:
    """Start it, and wait until every name server lists it again."""
    trial.cluster.restart_node(masters(trial.cluster)[1].name)
    return Healed()


def start_first(fault: MasterAway, trial: TrialContext, load: LoadSession) -> Healed:
    """Start it, and wait until every name server lists it again."""
    trial.cluster.restart_node(masters(trial.cluster)[0].name)
    return Healed()


def start_named(fault: KillNode, trial: TrialContext, load: LoadSession) -> Healed:
    """Start it, and wait until it can be used."""
    trial.cluster.restart_node(fault.node)
    return Healed()


INJECTIONS: Injections = {
    RestartBroker: Injection(name="signal", inject=restart, needs=NODES),
    KillOwnersRestartBroker: Injection(name="signal", inject=kill_owners_and_restart, needs=NODES),
    BrokerAway: Injection(name="signal", inject=kill_second, needs=NODES, heal=start_second),
    MasterAway: Injection(name="signal", inject=kill_first, needs=NODES, heal=start_first),
    KillNode: Injection(name="signal", inject=kill_named, needs=NODES, heal=start_named),
}
