"""Watches what each name server lists, and records every change of it with its time."""

import threading
from collections.abc import Mapping

from harness.backends.cluster import Cluster, Node, ask_name_server
from harness.errors import ClientError, LabError
from harness.protocol.name_server import Route
from harness.protocol.targets import check_allowed
from harness.rundir.events import EventLog

PERIOD_S = 0.5
ANSWER_S_MAX = 2.0
SILENT = "no answer"
"""What is recorded of a name server that does not answer in time."""


class RouteWatch:
    """A thread for each name server that asks it twice a second for its brokers and for one topic's route.

    A change is known to have happened between the record of it and half a second before (2 s while it is silent).
    """

    def __init__(self, cluster: Cluster, events: EventLog, topic: str) -> None:
        self._cluster = cluster
        self._events = events
        self._topic = topic
        self._stop = threading.Event()
        self._views: dict[str, tuple[str, str]] = {}
        self._failure: LabError | None = None
        servers = [node for node in cluster.nodes if node.kind == "namesrv"]
        self._threads = [threading.Thread(target=self._watch, args=(node,), daemon=True) for node in servers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask nothing more."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=2 * ANSWER_S_MAX)

    def agree(self) -> bool:
        """Whether every name server lists every broker of the cluster, and the same for the topic.

        Raises LabError when the watch could not go on, above all because a broker lies elsewhere than is allowed.
        """
        if self._failure is not None:
            raise self._failure
        views = dict(self._views)
        brokers = {f"{node.broker_name}:{node.broker_id}" for node in self._cluster.nodes if node.kind == "broker"}
        return (
            len(views) == len(self._threads)
            and len(set(views.values())) == 1
            and all(set(registered.split(",")) == brokers for registered, _ in views.values())
        )

    def views(self) -> Mapping[str, tuple[str, str]]:
        """The registered brokers and those in the topic's route, by name server."""
        return dict(self._views)

    def _watch(self, node: Node) -> None:
        try:
            while not self._stop.is_set():
                view = self._view(node)
                if view != self._views.get(node.name):
                    self._views[node.name] = view
                    self._events.record("route", node=node.name, topic=self._topic, registered=view[0], routed=view[1])
                self._stop.wait(PERIOD_S)
        except LabError as error:
            self._failure = error

    def _view(self, node: Node) -> tuple[str, str]:
        try:
            with ask_name_server(node, timeout_s=ANSWER_S_MAX) as connection:
                brokers = connection.cluster_brokers()
                route = connection.route(self._topic) or Route()
        except ClientError:
            return SILENT, SILENT
        check_allowed(address for by_id in brokers.values() for address in by_id.values())
        registered = sorted(f"{name}:{number}" for name, by_id in brokers.items() for number in by_id)
        routed = sorted(
            f"{name}:{route.read_queues.get(name, 0)}:{number}" for name, number in route.write_queues.items()
        )
        return ",".join(registered), ",".join(routed)
