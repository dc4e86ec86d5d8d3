"""A broker is killed and started again at once, on its store and its ports: what it had in memory is gone.

Locks of queues are such a thing (``mqLockTable`` of org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager).
"""

from __future__ import annotations

from harness.backends.cluster import Node, masters, wait_registered
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.owners import owners_of
from harness.model.faults import KillOwnersRestartBroker, RestartBroker
from harness.trial import HasLocks, Injected, Injection, Injections, LoadSession, TrialContext, able


class RestartBrokerBySignal(Injection[RestartBroker]):
    """SIGKILL of the first master and its start; the stranger asks before anybody could know that it is back."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Kill it, start it, ask for locks, and wait until every name server lists it."""
        owners = able(load, HasLocks)
        broker = masters(trial.cluster)[0]
        # A client that finds its broker gone may let its queues go.
        held = owners.held_on(broker.broker_name)
        if not held:
            raise ClientError(f"no owner has a queue of {broker.broker_name}, so that nobody could ask for its lock")
        before_ns, gone_ns = trial.cluster.kill_node(broker.name)
        healing_ns = mono_ns()
        trial.cluster.start_node(broker.name)
        owners.ask_for_locks(broker.broker_name, held)
        wait_registered(trial.cluster)
        return _restarted(broker, before_ns, gone_ns, healing_ns)


class KillOwnersRestartBrokerBySignal(Injection[KillOwnersRestartBroker]):
    """SIGKILL of the owners' process and then of the first master, and the start of the latter."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Kill both, and start the broker; the owners stay dead."""
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


INJECTIONS: Injections = {
    RestartBroker: RestartBrokerBySignal,
    KillOwnersRestartBroker: KillOwnersRestartBrokerBySignal,
}
