"""Name servers that come to disagree, and a route that changes for all of them."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

import psutil

from harness.backends.abilities import NODES
from harness.backends.cluster import Cluster, Node, ask, ask_name_server, masters
from harness.backends.nodes import CLUSTER_NAME
from harness.errors import ClientError
from harness.model.faults import ForgottenTopic, MoreQueues, RestartNameServer, UnheardBroker
from harness.protocol.connection import split_address
from harness.trial import HasQueueNumbers, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able
from harness.wait import NotYet, patience, wait_until

BACK_S_MAX = 120.0
LOOK_S = 1.0
FORGET_TIMES_MAX = 3


def last_server(cluster: Cluster) -> Node:
    """The name server that goes its own way."""
    return [node for node in cluster.nodes if node.kind == "namesrv"][-1]


def restart_server(fault: RestartNameServer, trial: TrialContext, load: LoadSession) -> Injected:
    """Kill it, create a topic, which it must learn of when it is back, start it, and measure until it lists the topic."""
    server = last_server(trial.cluster)
    topics = {"known before": trial.record.topic, "made meanwhile": f"{trial.record.topic}-meanwhile"}
    process = trial.cluster.pid(server.name)
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
    is_new = trial.cluster.pid(server.name) not in (None, process)
    return Injected(
        target=server.name,
        detail=f"{server.name} is {'another process' if is_new else 'the same process'} now",
        injecting_ns=before_ns,
        injected_ns=gone_ns,
        exercised=is_new,
    )


def _has_all(cluster: Cluster, server: Node, topic: str) -> bool:
    wanted = {master.broker_name for master in masters(cluster)}
    with patience(), ask_name_server(server) as connection:
        route = connection.route(topic)
    if route is None or set(route.write_queues) != wanted:
        raise NotYet(f"it has {sorted(route.write_queues) if route else 'nothing'}")
    return True


def forget_topic(fault: ForgottenTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """The request that mqadmin deleteTopic ends with, to one name server only; healed by a registration of a changed table.

    Meanwhile connections between the name servers are looked for, where their processes can be seen.
    """
    server, topic = last_server(trial.cluster), able(load, HasQueueNumbers)
    ports = _ports_of_servers(trial.cluster)
    found: set[Connection] = set()
    looks = 0

    def look() -> None:
        nonlocal looks
        with contextlib.suppress(psutil.Error):
            found.update(connections_between(ports))
            looks += 1

    with ask_name_server(server) as connection:
        # A broker that registered just then, as it does each 30 s, brought it back.
        for _ in range(FORGET_TIMES_MAX):
            connection.delete_route(trial.record.topic)
            if is_forgotten := connection.route(trial.record.topic) is None:
                break
    stop = _every(LOOK_S, look)

    def end() -> Healed:
        stop()
        if ports and looks:
            detail = f"{looks} looks"
            trial.events.probe("server_connections_count", len(found), of="all name servers", detail=detail)
        topic.resize(*topic.numbers)
        return Healed()

    detail = f"{server.name} {'has no' if is_forgotten else 'still had a'} route of {trial.record.topic} then"
    return Injected(target=server.name, detail=detail, exercised=is_forgotten, end=end)


Connection = tuple[int, int]
"""The ports of a connection's two ends, that of who opened it first."""


def _ports_of_servers(cluster: Cluster) -> dict[int, int]:
    """The port on which each name server listens, by its process; empty where one has none on this host."""
    servers = [node for node in cluster.nodes if node.kind == "namesrv"]
    ports = {pid: split_address(node.address)[1] for node in servers if (pid := cluster.pid(node.name)) is not None}
    return ports if len(ports) == len(servers) else {}


def connections_between(ports: Mapping[int, int]) -> set[Connection]:
    """Connections that one of these processes has to the port of another. Raises psutil.Error when they cannot be seen."""
    return {
        (one.laddr.port, one.raddr.port)
        for pid, own in ports.items()
        for one in psutil.Process(pid).net_connections(kind="tcp")
        if one.raddr and one.raddr.port != own and one.raddr.port in ports.values()
    }


def _every(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    """Do it again and again, until what is returned is called."""
    stop = threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            act()
            stop.wait(seconds)

    def end() -> None:
        stop.set()
        thread.join(timeout=10.0)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    return end


def unhear(fault: UnheardBroker, trial: TrialContext, load: LoadSession) -> Injected:
    """Unregister the second broker from the last name server again and again, until it is healed."""
    broker, server = masters(trial.cluster)[1], last_server(trial.cluster)
    told, is_unlisted = 0, False

    def tell() -> None:
        nonlocal told, is_unlisted
        # A name server that is busy is told later.
        with contextlib.suppress(ClientError), ask_name_server(server) as connection:
            connection.unregister_broker(CLUSTER_NAME, broker.broker_name, broker.broker_id, broker.address)
            told += 1
            # Whoever asks it then finds the broker gone: looked at until that was so once.
            if not is_unlisted:
                is_unlisted = broker.broker_id not in connection.cluster_brokers().get(broker.broker_name, {})

    stop = _every(fault.every_s, tell)

    def end() -> Healed:
        stop()
        words = "did not list it then" if is_unlisted else f"went on listing {broker.name}"
        return Healed(achieved=f"told {told} times; {server.name} {words}", exercised=is_unlisted)

    target = f"{broker.name} on {server.name}"
    return Injected(target=target, detail=f"told that it is gone, every {fault.every_s:g} s", end=end)


def more_queues(fault: MoreQueues, trial: TrialContext, load: LoadSession) -> Injected:
    """``updateTopic`` with twice the queues on every broker, which stay; it is done when every name server has it."""
    topic = able(load, HasQueueNumbers)
    writes, reads = topic.numbers
    topic.resize(2 * writes, 2 * reads)
    return Injected(target=trial.record.topic)


INJECTIONS: Injections = {
    RestartNameServer: Injection(name="signal", inject=restart_server, needs=NODES),
    ForgottenTopic: Injection(name="request", inject=forget_topic),
    UnheardBroker: Injection(name="request", inject=unhear),
    MoreQueues: Injection(name="request", inject=more_queues),
}
