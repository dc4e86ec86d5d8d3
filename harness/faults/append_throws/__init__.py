"""One append to the commit log throws inside the put lock: a Byteman rule in the broker's own JVM, over by itself."""

from __future__ import annotations

from harness.backends.cluster import Node, masters
from harness.clock import mono_ns
from harness.faults.rules import rule_of, stamps_of
from harness.model.faults import AppendThrows
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

APPEND_S_MAX = 30
"""Less than the rule's connection waits for an answer."""


class ThrowByByteman(Injection[AppendThrows]):
    """Throws in the next append of the first master."""

    name = "byteman"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Arm, and wait for the append; it is stamped where it throws."""
        broker, armed_ns = masters(trial.cluster)[0], mono_ns()
        at_ns = throw_in_next_append(broker)
        return Injected(target=broker.name, injecting_ns=armed_ns, injected_ns=at_ns, healing_ns=at_ns, healed_ns=at_ns)


def throw_in_next_append(broker: Node) -> int:
    """When it was thrown, in monotonic nanoseconds. Raises ClientError when the broker has no rule, or no append came."""
    with rule_of(broker) as connection:
        connection.sendall(f"ThrowHelper {APPEND_S_MAX}\n".encode())
        (at_ns,) = stamps_of(connection, broker, 1)
    return at_ns


INJECTIONS: Injections = {AppendThrows: ThrowByByteman}
