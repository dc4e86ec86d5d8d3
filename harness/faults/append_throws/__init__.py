"""One append to the commit log throws inside the put lock: a Byteman rule in the broker's own JVM, over by itself."""

from harness.backends.cluster import masters
from harness.clock import mono_ns
from harness.faults.rules import asked_rule
from harness.model.faults import AppendThrows
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

APPEND_S_MAX = 30
"""Less than the rule's connection waits for an answer."""


def throw(fault: AppendThrows, trial: TrialContext, load: LoadSession) -> Injected:
    """Throw in the next append of the first master, which is stamped where it throws."""
    broker, armed_ns = masters(trial.cluster)[0], mono_ns()
    (at_ns,) = asked_rule(broker, f"ThrowHelper {APPEND_S_MAX}", 1)
    return Injected(target=broker.name, injecting_ns=armed_ns, injected_ns=at_ns, healing_ns=at_ns, healed_ns=at_ns)


INJECTIONS: Injections = {AppendThrows: Injection(name="byteman", inject=throw)}
