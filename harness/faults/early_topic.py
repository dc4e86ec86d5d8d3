"""A name server that was restarted hears of one new topic before it hears of the broker that has it.

A broker sends a new topic by itself at once, and all of them every 30 s (``registerNameServerPeriod``). What a name server makes
of one topic from a broker that it does not know is up to ``registerBroker`` of
org.apache.rocketmq.namesrv.routeinfo.RouteInfoManager.
"""

import time
from collections.abc import Callable

from harness.backends.abilities import NODES
from harness.backends.cluster import RECORD_S_MAX, Cluster, Node, ask, ask_name_server, change_live, masters
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.server_views import last_server
from harness.model.faults import REGISTERED_S, EarlyTopic
from harness.model.rocketmq import BROKER_PERMISSION, GET_ALL_TOPIC_CONFIG
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

RESTARTS_MAX = 5
"""A broker registers by its timer at any moment, now and then while the name server boots: that one knows it already."""

STOP_S_MAX = 30.0
POLL_S = 0.2
AFTER_S = 1.0
"""So that sends fall into a cure that takes no time."""


def restart(fault: EarlyTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """Restart the name server until it comes up without the broker, and make the topic. Raises ClientError."""
    server, broker, topic = last_server(trial.cluster), masters(trial.cluster)[0], trial.record.topic
    _tell(trial, server, "before")
    for _ in range(RESTARTS_MAX):
        before_ns, gone_ns = trial.cluster.kill_node(server.name)
        trial.cluster.start_node(server.name)
        if not _listed(server, topic):
            break
    else:
        raise ClientError(f"{broker.name} was listed each time that {server.name} came up")
    if fault.creates:
        _create(broker, _new(trial))
    # A registration in full that came before the topic shows at once.
    is_late, is_made = _listed(server, topic), _has(broker, _new(trial))
    return Injected(
        target=server.name,
        detail=f"{server.name} {'listed' if is_late else 'did not list'} {topic} when {broker.name} "
        f"{'had' if is_made else 'did not have'} {_new(trial)}",
        injecting_ns=before_ns,
        injected_ns=gone_ns,
        exercised=not is_late and is_made == fault.creates,
    )


def heal(fault: EarlyTopic, trial: TrialContext, load: LoadSession) -> Healed:
    """Look what is listed, carry the cure out, and look again once it has had its time. Raises LabError."""
    server = last_server(trial.cluster)
    _tell(trial, server, "held")
    if fault.cure == "none":
        return Healed(achieved="nothing was done")
    done, is_cured = _CURES[fault.cure](trial.cluster, masters(trial.cluster)[0], trial.record.topic)
    cured_ns, deadline = mono_ns(), time.monotonic() + REGISTERED_S
    while not _listed(server, trial.record.topic) and time.monotonic() < deadline:
        trial.stay(POLL_S)
    waited_s = (mono_ns() - cured_ns) / 1e9
    _tell(trial, server, "cured")
    trial.stay(AFTER_S)
    achieved = f"{done}; {waited_s:.1f} s later it was looked again"
    return Healed(achieved=achieved if is_cured else f"it did not show that {done}", exercised=is_cured)


def _tell(trial: TrialContext, server: Node, when: str) -> None:
    for name, topic in {"old": trial.record.topic, "new": _new(trial)}.items():
        listed = float(_listed(server, topic))
        trial.events.probe("topic_listed", listed, of=f"{name} {when}", params={"topic": name, "when": when})


def _new(trial: TrialContext) -> str:
    return f"{trial.record.topic}-early"


def _listed(server: Node, topic: str) -> bool:
    with ask_name_server(server, timeout_s=RECORD_S_MAX) as connection:
        return connection.route(topic) is not None


def _create(broker: Node, topic: str) -> None:
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        connection.create_topic(topic, read_queues=1, write_queues=1)


def _has(broker: Node, topic: str) -> bool:
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        return any(one.name == topic for one in connection.topic_table().topics)


def _version_of_topics(broker: Node) -> object:
    """What its registration carries, and changes with each change of a topic or of its own permission."""
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        return connection.call(GET_ALL_TOPIC_CONFIG).json().get("dataVersion")


def _write_permission(cluster: Cluster, broker: Node, topic: str) -> tuple[str, bool]:
    before = _version_of_topics(broker)
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        now = connection.broker_config()[BROKER_PERMISSION]
    change_live(broker, {BROKER_PERMISSION: now})
    return f"{BROKER_PERMISSION}={now} was written again", _version_of_topics(broker) != before


def _restart_broker(cluster: Cluster, broker: Node, topic: str) -> tuple[str, bool]:
    before = cluster.pid(broker.name)
    cluster.stop_node(broker.name, grace_s=STOP_S_MAX)
    cluster.start_node(broker.name)
    return "the broker was stopped and started again", cluster.pid(broker.name) not in (None, before)


def _create_another(cluster: Cluster, broker: Node, topic: str) -> tuple[str, bool]:
    another = f"{topic}-another"
    _create(broker, another)
    return "another topic was made", _has(broker, another)


_CURES: dict[str, Callable[[Cluster, Node, str], tuple[str, bool]]] = {
    "permission": _write_permission,
    "restart": _restart_broker,
    "another-topic": _create_another,
}

INJECTIONS: Injections = {EarlyTopic: Injection(name="signal", inject=restart, needs=NODES, heal=heal)}
