"""A broker is killed, stays away for the hold, and comes back on its store and its ports."""

from __future__ import annotations

from harness.backends.cluster import masters
from harness.errors import ClientError
from harness.model.faults import BrokerAway
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


class KillBrokerAndRestart(Injection[BrokerAway]):
    """SIGKILL of the second master, and its start again."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Kill it, and wait until it is gone."""
        target = _target(trial)
        before_ns, gone_ns = trial.cluster.kill_node(target)
        achieved_ms = (gone_ns - before_ns) / 1e6
        return Injected(target=target, injecting_ns=before_ns, injected_ns=gone_ns, achieved_ms=achieved_ms)

    def heal(self, trial: TrialContext, load: LoadSession) -> Healed:
        """Start it, and wait until every name server lists it again."""
        trial.cluster.restart_node(_target(trial))
        return Healed()


def _target(trial: TrialContext) -> str:
    brokers = masters(trial.cluster)
    if len(brokers) < 2:
        raise ClientError("a broker that leaves needs another one that stays", advice="Use two masters or more.")
    return brokers[1].name


INJECTIONS: Injections = {BrokerAway: KillBrokerAndRestart}
