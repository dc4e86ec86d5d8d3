"""One of a broker's request pools stands still: a Byteman rule in the broker's own JVM, over by itself."""

from collections.abc import Mapping

from harness.backends.cluster import masters
from harness.clock import mono_ns
from harness.faults.rules import asked_rule
from harness.model.faults import Pool, PoolJam
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

THREADS: Mapping[Pool, str] = {
    "send": "SendMessageThread_",
    "pull": "PullMessageThread_",
    "admin": "AdminBrokerThread_",
    "heartbeat": "HeartbeatThread_",
}
"""How the names of its threads begin (org.apache.rocketmq.broker.BrokerController, 4.6.0 to 5.5.0)."""


def jam(fault: PoolJam, trial: TrialContext, load: LoadSession) -> Injected:
    """Let the pool stand still from its next request on; returns when that has ended, by the rule's own stamps."""
    broker = masters(trial.cluster)[0]
    asked_ms, armed_ns = float(trial.params["stall_ms"]), mono_ns()
    begin_ns, end_ns = asked_rule(broker, f"JamHelper {THREADS[fault.pool]} {asked_ms}", 2)
    return Injected(
        target=broker.name,
        detail=f"the threads {THREADS[fault.pool]}*",
        asked_ms=asked_ms,
        achieved_ms=(end_ns - begin_ns) / 1e6,
        injecting_ns=armed_ns,
        injected_ns=begin_ns,
        healing_ns=end_ns,
        healed_ns=end_ns,
    )


INJECTIONS: Injections = {PoolJam: Injection(name="byteman", inject=jam)}
