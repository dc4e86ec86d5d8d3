"""A broker loses its permission to write: it registers its topics as readable only, and refuses sends to order topics.

``msgCheck`` of org.apache.rocketmq.broker.processor.AbstractSendMessageProcessor: of any other topic it takes what clients with an
older route still send.
"""

from harness.backends.cluster import Cluster, Node, ask_name_server, change_live
from harness.errors import ClientError
from harness.faults.targets import node_of
from harness.model.faults import ReadOnlyBroker
from harness.model.rocketmq import BROKER_PERMISSION, PERM_READ, PERM_READ_WRITE, PERM_WRITE, SELF_TEST_TOPIC
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

LISTED_S_MAX = 2.0
"""For a name server's answer, for which the broker's way back waits."""


def forbid(fault: ReadOnlyBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Change the broker's own permission while it runs, and read it back."""
    broker = node_of(trial, fault.node)
    change_live(broker, {BROKER_PERMISSION: str(PERM_READ)})

    def allow() -> Healed:
        listed = permissions(trial.cluster, broker)
        change_live(broker, {BROKER_PERMISSION: str(PERM_READ_WRITE)})
        writable = [server for server, permission in listed.items() if permission & PERM_WRITE]
        if not listed:
            return Healed(achieved="no name server said whether it could be written to")
        words = f"{', '.join(writable or listed)} listed it as {'writable' if writable else 'readable alone'}"
        return Healed(achieved=words, exercised=not writable)

    return Injected(target=broker.name, detail=f"{BROKER_PERMISSION}={PERM_READ}", end=allow)


def permissions(cluster: Cluster, broker: Node) -> dict[str, int]:
    """By each name server that lists the broker: what it may be used for, of a topic that each broker has."""
    found = {}
    for server in cluster.nodes:
        if server.kind == "namesrv":
            try:
                with ask_name_server(server, timeout_s=LISTED_S_MAX) as connection:
                    route = connection.route(SELF_TEST_TOPIC)
            except ClientError:
                continue  # One that is away, or stands still, lists nothing.
            if route is not None and broker.broker_name in route.permissions:
                found[server.name] = route.permissions[broker.broker_name]
    return found


INJECTIONS: Injections = {ReadOnlyBroker: Injection(name="request", inject=forbid)}
