"""A broker is killed and started again at once, on its store and its ports: what it had in memory is gone.

Locks of queues are such a thing (``mqLockTable`` of org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager).
"""

from __future__ import annotations

from harness.backends.cluster import masters, wait_registered
from harness.errors import ClientError
from harness.faults.owners import owners_of
from harness.load.ordered import OrderedSession
from harness.model.faults import KillOwnersRestartBroker, RestartBroker
from harness.trial import LoadSession, NeedsNothing, TrialContext


class RestartBrokerBySignal(NeedsNothing):
    """SIGKILL of the first master and its start; the stranger asks before anybody could know that it is back."""

    way = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Kill it, start it, ask for locks, and wait until every name server lists it."""
        if not isinstance(load, OrderedSession):
            raise ClientError("this load has no owners", advice="Use a fault that goes with the arm's load.")
        kind, broker = RestartBroker().kind, masters(trial.cluster)[0]
        # A client that finds its broker gone may let its queues go.
        held = load.held_on(broker.broker_name)
        if not held:
            raise ClientError(f"no owner has a queue of {broker.broker_name}, so that nobody could ask for its lock")
        trial.events.fault(kind, "asked", target=broker.broker_name)
        before_ns, gone_ns = trial.cluster.kill_node(broker.name)
        trial.events.fault(kind, "injecting", target=broker.broker_name, at_ns=before_ns)
        trial.events.fault(kind, "injected", target=broker.broker_name, at_ns=gone_ns)
        trial.events.fault(kind, "healing", target=broker.broker_name)
        trial.cluster.start_node(broker.name)
        load.ask_for_locks(broker.broker_name, held)
        wait_registered(trial.cluster)
        trial.events.fault(kind, "healed", target=broker.broker_name)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """It has been started already."""


class KillOwnersRestartBrokerBySignal(NeedsNothing):
    """SIGKILL of the owners' process and then of the first master, and the start of the latter."""

    way = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Kill both, and start the broker."""
        kind, owners, broker = KillOwnersRestartBroker().kind, owners_of(load), masters(trial.cluster)[0]
        trial.events.fault(kind, "asked", target=broker.broker_name)
        before_ns, _ = owners.kill()
        trial.events.fault(kind, "injecting", target=broker.broker_name, at_ns=before_ns)
        _, gone_ns = trial.cluster.kill_node(broker.name)
        trial.events.fault(kind, "injected", target=broker.broker_name, at_ns=gone_ns)
        trial.events.fault(kind, "healing", target=broker.broker_name)
        trial.cluster.restart_node(broker.name)
        trial.events.fault(kind, "healed", target=broker.broker_name)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """The owners stay dead, the broker has been started already."""
