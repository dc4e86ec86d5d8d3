"""Name servers that come to disagree, and a route that changes for all of them."""

import contextlib
import threading
import time
from functools import partial

from harness.backends.abilities import NODES
from harness.backends.cluster import Cluster, Node, ask, ask_name_server, masters
from harness.backends.nodes import CLUSTER_NAME
from harness.errors import ClientError
from harness.model.faults import ForgottenTopic, MoreQueues, RestartNameServer, UnheardBroker
from harness.trial import HasQueueNumbers, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able
from harness.wait import NotYet, patience, wait_until

BACK_S_MAX = 120.0
TELL_S = 1.0


def last_server(cluster: Cluster) -> Node:
    """The name server that goes its own way."""
    return [node for node in cluster.nodes if node.kind == "namesrv"][-1]


def restart_server(fault: RestartNameServer, trial: TrialContext, load: LoadSession) -> Injected:
    """Kill it, create a topic, which it must learn of when it is back, start it, and measure until it lists the topic."""
    server = last_server(trial.cluster)
    topics = {"known before": trial.record.topic, "made meanwhile": f"{trial.record.topic}-meanwhile"}
    before_ns, gone_ns = trial.cluster.kill_node(server.name)
    for master in masters(trial.cluster):
        with ask(master) as connection:
            connection.create_topic(topics["made meanwhile"], read_queues=1, write_queues=1)
    trial.cluster.start_node(server.name)
    started = time.monotonic()
    for name, topic in topics.items():
        wait_until(
            f"{topic} on {server.name}",
            partial(_has_all, trial.cluster, server, topic),
            timeout_s=BACK_S_MAX,
            poll_s=0.2,
            cancel=trial.cancel,
        )
        trial.events.probe("topic_back_s", time.monotonic() - started, of=server.name, params={"topic": name})
    return Injected(target=server.name, injecting_ns=before_ns, injected_ns=gone_ns)


def _has_all(cluster: Cluster, server: Node, topic: str) -> bool:
    wanted = {master.broker_name for master in masters(cluster)}
    with patience(), ask_name_server(server) as connection:
        route = connection.route(topic)
    if route is None or set(route.write_queues) != wanted:
        raise NotYet(f"it has {sorted(route.write_queues) if route else 'nothing'}")
    return True


def forget_topic(fault: ForgottenTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """The request that mqadmin deleteTopic ends with, to one name server only."""
    server = last_server(trial.cluster)
    with ask_name_server(server) as connection:
        connection.delete_route(trial.record.topic)
    return Injected(target=server.name)


def tell_topic(fault: ForgottenTopic, trial: TrialContext, load: LoadSession) -> Healed:
    """See whether the others have told it meanwhile; then let the brokers register a changed table, which does."""
    server = last_server(trial.cluster)
    with ask_name_server(server) as connection:
        told = connection.route(trial.record.topic) is not None
    trial.events.probe("told_by_others", told, of=server.name)
    topic = able(load, HasQueueNumbers)
    topic.resize(*topic.numbers)
    return Healed()


def unhear(fault: UnheardBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Unregister the second broker from the last name server once a second, until it is healed."""
    broker, server = masters(trial.cluster)[1], last_server(trial.cluster)
    stop, told = threading.Event(), 0

    def tell() -> None:
        nonlocal told
        while not stop.is_set():
            # A name server that is busy is told a second later.
            with contextlib.suppress(ClientError), ask_name_server(server) as connection:
                connection.unregister_broker(CLUSTER_NAME, broker.broker_name, broker.broker_id, broker.address)
                told += 1
            stop.wait(TELL_S)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()

    def end() -> Healed:
        stop.set()
        thread.join(timeout=10.0)
        return Healed(achieved=f"told {told} times", exercised=told > 0)

    target = f"{broker.name} on {server.name}"
    return Injected(target=target, detail="told that it is gone, once a second", end=end)


def more_queues(fault: MoreQueues, trial: TrialContext, load: LoadSession) -> Injected:
    """``updateTopic`` with twice the queues on every broker, which stay; it is done when every name server has it."""
    topic = able(load, HasQueueNumbers)
    writes, reads = topic.numbers
    topic.resize(2 * writes, 2 * reads)
    return Injected(target=trial.record.topic)


INJECTIONS: Injections = {
    RestartNameServer: Injection(name="signal", inject=restart_server, needs=NODES),
    ForgottenTopic: Injection(name="request", inject=forget_topic, heal=tell_topic),
    UnheardBroker: Injection(name="request", inject=unhear),
    MoreQueues: Injection(name="request", inject=more_queues),
}
