"""One dispatch of a stored message to the consume queues throws: Byteman rules in the broker's own JVM, over by themselves.

The thread that dispatches, ReputMessageService of org.apache.rocketmq.store.DefaultMessageStore, catches exceptions, or errors as
well: by that it goes on or ends.
"""

from harness.backends.cluster import masters
from harness.faults.throwing import restarted, thrown
from harness.model.faults import DispatchThrows
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


def throw(fault: DispatchThrows, trial: TrialContext, load: LoadSession) -> Injected:
    """Throw in the next dispatch of the first master, which is stamped where it throws."""
    return thrown(masters(trial.cluster)[0], f"dispatch-{fault.throws}", is_over=fault.cure == "none")


def cure(fault: DispatchThrows, trial: TrialContext, load: LoadSession) -> Healed:
    """Stop the broker and start it."""
    return restarted(trial.cluster, masters(trial.cluster)[0])


INJECTIONS: Injections = {DispatchThrows: Injection(name="byteman", inject=throw, heal=cure)}
