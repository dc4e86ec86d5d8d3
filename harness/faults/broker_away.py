"""A broker is killed, stays away for the hold, and comes back on its store and its ports."""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.errors import ClientError
from harness.trial import LoadSession, NeedsNothing, TrialContext


class KillBrokerAndRestart(NeedsNothing):
    """SIGKILL of the second master, and its start again."""

    way = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Kill it, and wait until it is gone."""
        target = _target(trial)
        trial.events.fault("broker-away", "asked", target=target)
        before_ns, gone_ns = trial.cluster.kill_node(target)
        trial.events.fault("broker-away", "injecting", target=target, at_ns=before_ns)
        achieved_ms = (gone_ns - before_ns) / 1e6
        trial.events.fault("broker-away", "injected", target=target, at_ns=gone_ns, achieved_ms=achieved_ms)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """Start it, and wait until every name server lists it again."""
        target = _target(trial)
        trial.events.fault("broker-away", "healing", target=target)
        trial.cluster.restart_node(target)
        trial.events.fault("broker-away", "healed", target=target)


def _target(trial: TrialContext) -> str:
    brokers = masters(trial.cluster)
    if len(brokers) < 2:
        raise ClientError("a broker that leaves needs another one that stays", advice="Use two masters or more.")
    return brokers[1].name
