"""A broker loses its permission to write: it registers its topics as readable only, and refuses sends to order topics.

``msgCheck`` of org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor: of any other topic it takes what clients with an
older route still send.
"""

from harness.backends.cluster import change_live
from harness.faults.targets import node_of
from harness.model.faults import ReadOnlyBroker
from harness.model.rocketmq import BROKER_PERMISSION, PERM_READ, PERM_READ_WRITE
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext


def forbid(fault: ReadOnlyBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Change the broker's own permission while it runs, and read it back."""
    broker = node_of(trial, fault.node)
    change_live(broker, {BROKER_PERMISSION: str(PERM_READ)})

    def allow() -> Healed:
        change_live(broker, {BROKER_PERMISSION: str(PERM_READ_WRITE)})
        return Healed(achieved="it could be read only", exercised=True)

    return Injected(target=broker.name, detail=f"{BROKER_PERMISSION}={PERM_READ}", end=allow)


INJECTIONS: Injections = {ReadOnlyBroker: Injection(name="request", inject=forbid)}
