"""One call throws in a broker's own JVM, by Byteman rules that ask ``ThrowHelper.java``; over by itself.

An append to the commit log throws inside the put lock. What it leaves behind may stay (``beginTimeInLock`` of
org.apache.rocketmq.store.CommitLog), until the fault's cure ends it. What a release does when the delivery of a
delayed message throws is up to its ScheduleMessageService, and when a dispatch to the consume queues does, to ReputMessageService
of org.apache.rocketmq.store.DefaultMessageStore: they catch exceptions, or errors as well, in different places.
"""

from harness.backends.cluster import Cluster, Node, ask, change_live, masters
from harness.clock import mono_ns
from harness.faults.rules import asked_rule
from harness.model.faults import AppendThrows, DeliveryThrows, DispatchThrows
from harness.model.rocketmq import PAGE_CACHE_BUSY
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext
from harness.wait import NotYet, patience, wait_until

THROW_S_MAX = 30
"""Less than the rule's connection waits for an answer."""

STOP_S_MAX = 30.0
APPEND_S_MAX = 30
RAISED_MS = "10000000"
"""From this age of the lock on the page cache does not count as busy, whatever the setting is."""


def throw(fault: AppendThrows | DeliveryThrows | DispatchThrows, trial: TrialContext, load: LoadSession) -> Injected:
    """Throw in the next call on the first master, which is stamped where it throws. Raises ClientError."""
    broker, armed_ns = masters(trial.cluster)[0], mono_ns()
    (at_ns,) = asked_rule(broker, f"ThrowHelper {_word(fault)} {THROW_S_MAX}", 1)
    over_ns = at_ns if fault.cure == "none" else None
    return Injected(target=broker.name, injecting_ns=armed_ns, injected_ns=at_ns, healing_ns=over_ns, healed_ns=over_ns)


def cure(fault: AppendThrows | DeliveryThrows | DispatchThrows, trial: TrialContext, load: LoadSession) -> Healed:
    """Stop the broker and start it, or raise its limit until something is appended. Raises LabError."""
    broker = masters(trial.cluster)[0]
    if fault.cure == "raise-limit":
        return _raised(broker)
    return restarted(trial.cluster, broker)


def restarted(cluster: Cluster, broker: Node) -> Healed:
    """Stop a broker as its operator does, and start it again. Raises LabError."""
    cluster.stop_node(broker.name, grace_s=STOP_S_MAX)
    cluster.restart_node(broker.name)
    return Healed(achieved="it was stopped and started again")


def _word(fault: AppendThrows | DeliveryThrows | DispatchThrows) -> str:
    """By which the rules ask whether they throw."""
    if isinstance(fault, AppendThrows):
        return "append"
    return f"{'delivery' if isinstance(fault, DeliveryThrows) else 'dispatch'}-{fault.throws}"


def _raised(broker: Node) -> Healed:
    with ask(broker) as connection:
        limit_ms, end = connection.broker_config()[PAGE_CACHE_BUSY], connection.runtime_info()["commitLogMaxOffset"]
    change_live(broker, {PAGE_CACHE_BUSY: RAISED_MS})
    try:
        wait_until("an append under the raised limit", lambda: _has_appended(broker, end), timeout_s=APPEND_S_MAX)
    finally:
        change_live(broker, {PAGE_CACHE_BUSY: limit_ms})
    return Healed(achieved=f"{PAGE_CACHE_BUSY} was raised, and set back to {limit_ms}")


def _has_appended(broker: Node, end: str) -> bool:
    with patience(), ask(broker) as connection:
        now = connection.runtime_info()["commitLogMaxOffset"]
    if now == end:
        raise NotYet(f"the commit log still ends at {end}")
    return True


INJECTIONS: Injections = {
    fault: Injection(name="byteman", inject=throw, heal=cure)
    for fault in (AppendThrows, DeliveryThrows, DispatchThrows)
}
