"""One delivery of a delayed message throws: Byteman rules in the broker's own JVM, over by themselves.

What a release then does with the message, with its level and with the others is up to its ScheduleMessageService, whose methods
that run a level's deliveries catch exceptions, or errors as well, in different places.
"""

from harness.backends.cluster import masters
from harness.faults.throwing import restarted, thrown
from harness.model.faults import DeliveryThrows
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


def throw(fault: DeliveryThrows, trial: TrialContext, load: LoadSession) -> Injected:
    """Throw in the next delivery of the level on the first master, which is stamped where it throws."""
    return thrown(masters(trial.cluster)[0], f"delivery-{fault.throws}", is_over=fault.cure == "none")


def cure(fault: DeliveryThrows, trial: TrialContext, load: LoadSession) -> Healed:
    """Stop the broker and start it."""
    return restarted(trial.cluster, masters(trial.cluster)[0])


INJECTIONS: Injections = {DeliveryThrows: Injection(name="byteman", inject=throw, heal=cure)}
