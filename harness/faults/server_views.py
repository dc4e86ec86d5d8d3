"""Name servers that come to disagree, and a route that changes for all of them."""

from __future__ import annotations

import threading
import time

from harness.backends.cluster import Cluster, Node, ask, ask_name_server, masters
from harness.backends.nodes import CLUSTER_NAME
from harness.errors import ClientError
from harness.model.faults import ForgottenTopic, MoreQueues, RestartNameServer, UnheardBroker
from harness.trial import HasQueueNumbers, Healed, Injected, Injection, Injections, LoadSession, TrialContext, able
from harness.wait import NotYet, wait_until

BACK_S_MAX = 120.0
TELL_S = 1.0


def last_server(cluster: Cluster) -> Node:
    """The name server that goes its own way."""
    return [node for node in cluster.nodes if node.kind == "namesrv"][-1]


class RestartServerBySignal(Injection[RestartNameServer]):
    """SIGKILL and a start; a topic is created in between, which a name server that came back must learn of."""

    name = "signal"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Kill it, create the topic, start it, and measure until it lists the topic again."""
        server = last_server(trial.cluster)
        before_ns, gone_ns = trial.cluster.kill_node(server.name)
        for master in masters(trial.cluster):
            with ask(master) as connection:
                connection.create_topic(f"{trial.record.topic}-meanwhile", read_queues=1, write_queues=1)
        trial.cluster.start_node(server.name)
        started = time.monotonic()
        for name, topic in (
            ("known before", trial.record.topic),
            ("made meanwhile", f"{trial.record.topic}-meanwhile"),
        ):
            wait_until(
                f"{topic} on {server.name}",
                lambda topic=topic: _has_all(trial.cluster, server, topic),  # type: ignore[misc]
                timeout_s=BACK_S_MAX,
                poll_s=0.2,
                cancel=trial.cancel,
            )
            trial.events.probe("topic_back_s", time.monotonic() - started, of=server.name, params={"topic": name})
        return Injected(target=server.name, injecting_ns=before_ns, injected_ns=gone_ns)


def _has_all(cluster: Cluster, server: Node, topic: str) -> bool:
    wanted = {master.broker_name for master in masters(cluster)}
    try:
        with ask_name_server(server) as connection:
            route = connection.route(topic)
    except ClientError as error:
        raise NotYet(str(error)) from error
    if route is None or set(route.write_queues) != wanted:
        raise NotYet(f"it has {sorted(route.write_queues) if route else 'nothing'}")
    return True


class ForgetTopicByRequest(Injection[ForgottenTopic]):
    """The request that mqadmin deleteTopic ends with, to one name server only."""

    name = "request"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Delete it there."""
        server = last_server(trial.cluster)
        with ask_name_server(server) as connection:
            connection.delete_route(trial.record.topic)
        return Injected(target=server.name)

    def heal(self, trial: TrialContext, load: LoadSession) -> Healed:
        """See whether the others have told it meanwhile; then let the brokers register a changed table, which does."""
        server = last_server(trial.cluster)
        with ask_name_server(server) as connection:
            told = connection.route(trial.record.topic) is not None
        trial.events.probe("told_by_others", told, of=server.name)
        topic = able(load, HasQueueNumbers)
        topic.resize(*topic.numbers)
        return Healed()


class UnhearBrokerByRequest(Injection[UnheardBroker]):
    """Unregisters the second broker from the last name server once a second, until it is healed."""

    name = "request"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Start to tell it so."""
        broker, server = masters(trial.cluster)[1], last_server(trial.cluster)
        target = f"{broker.name} on {server.name}"
        return Injected(target=target, detail="told that it is gone, once a second", held=_Unheard(server, broker))


class _Unheard:
    def __init__(self, server: Node, broker: Node) -> None:
        self._server = server
        self._broker = broker
        self._told = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        while not self._stop.is_set():
            try:
                with ask_name_server(self._server) as connection:
                    connection.unregister_broker(
                        CLUSTER_NAME, self._broker.broker_name, self._broker.broker_id, self._broker.address
                    )
                self._told += 1
            except ClientError:
                # A name server that is busy is told a second later.
                pass
            self._stop.wait(TELL_S)

    def end(self) -> Healed:
        """Tell it nothing more; the broker's next registration is heard."""
        self._stop.set()
        self._thread.join(timeout=10.0)
        return Healed(achieved=f"told {self._told} times", exercised=self._told > 0)


class MoreQueuesByRequest(Injection[MoreQueues]):
    """``updateTopic`` with twice the queues on every broker: a change that producers have to notice. The queues stay."""

    name = "request"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Change it; it is done when every name server has it."""
        topic = able(load, HasQueueNumbers)
        writes, reads = topic.numbers
        topic.resize(2 * writes, 2 * reads)
        return Injected(target=trial.record.topic)


INJECTIONS: Injections = {
    RestartNameServer: RestartServerBySignal,
    ForgottenTopic: ForgetTopicByRequest,
    UnheardBroker: UnhearBrokerByRequest,
    MoreQueues: MoreQueuesByRequest,
}
