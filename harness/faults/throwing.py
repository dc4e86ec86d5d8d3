"""What faults have in common that throw once in a broker's JVM, by the rules that ask ``append_throws/ThrowHelper.java``."""

from harness.backends.cluster import Cluster, Node
from harness.clock import mono_ns
from harness.faults.rules import asked_rule
from harness.trial import Healed, Injected

THROW_S_MAX = 30
"""Less than the rule's connection waits for an answer."""

STOP_S_MAX = 30.0


def thrown(broker: Node, what: str, *, is_over: bool) -> Injected:
    """Throw once where the rules ask by the word ``what``, which is stamped there. Raises ClientError.

    ``is_over``: nothing is done later to end what it leaves behind.
    """
    armed_ns = mono_ns()
    (at_ns,) = asked_rule(broker, f"ThrowHelper {what} {THROW_S_MAX}", 1)
    over_ns = at_ns if is_over else None
    return Injected(target=broker.name, injecting_ns=armed_ns, injected_ns=at_ns, healing_ns=over_ns, healed_ns=over_ns)


def restarted(cluster: Cluster, broker: Node) -> Healed:
    """Stop a broker as its operator does, and start it again. Raises LabError."""
    cluster.stop_node(broker.name, grace_s=STOP_S_MAX)
    cluster.restart_node(broker.name)
    return Healed(achieved="it was stopped and started again")
