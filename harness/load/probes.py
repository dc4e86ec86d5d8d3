"""Requests of other kinds beside a load, each in a thread of its own: does a jam in one thread pool reach another's?

One request at a time of each kind, so that what is measured is the wait in its own pool.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping

from harness.backends.cluster import Node, ask
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model import rocketmq
from harness.protocol.broker import Broker, pull_fields, send_fields
from harness.protocol.frames import Answer
from harness.rundir.events import EventLog

PERIOD_S = 0.02
DELIVERY_POLL_S = 0.001
ANSWER_S_MAX = 5.0
GROUP = "mqlab-probes"
NO_ANSWER = -1

SEND_TOPIC = "mqlab-probes"
HEARTBEAT = json.dumps({"clientID": GROUP, "consumerDataSet": [], "producerDataSet": [{"groupName": GROUP}]}).encode()

Request = Callable[[Broker, str], Answer]


def _send(connection: Broker, topic: str) -> Answer:
    return connection.ask(rocketmq.SEND_MESSAGE, send_fields(SEND_TOPIC, 0), b"probe")


def _delivery(connection: Broker, topic: str) -> Answer:
    """Raises ClientError when no pull gets the message in time."""
    stored = _send(connection, topic)
    if stored.code != rocketmq.SUCCESS:
        return stored
    deadline = time.monotonic() + ANSWER_S_MAX
    while time.monotonic() < deadline:
        found = connection.ask(
            rocketmq.PULL_MESSAGE, pull_fields(GROUP, SEND_TOPIC, 0, int(stored.fields["queueOffset"]))
        )
        if found.code == rocketmq.SUCCESS:
            return found
        time.sleep(DELIVERY_POLL_S)
    raise ClientError(f"what was sent could not be pulled within {ANSWER_S_MAX:.0f} s")


REQUESTS: Mapping[str, Request] = {
    "pull": lambda broker, topic: broker.ask(rocketmq.PULL_MESSAGE, pull_fields(GROUP, topic, 0, 0)),
    "admin": lambda broker, topic: broker.ask(rocketmq.GET_MAX_OFFSET, {"topic": topic, "queueId": 0}),
    "heartbeat": lambda broker, topic: broker.ask(rocketmq.HEART_BEAT, body=HEARTBEAT),
    "send": _send,
    "delivery": _delivery,
}
"""Each but the last has a thread pool of its own in org.apache.rocketmq.broker.BrokerController. Sends go to a topic of
their own, so that a broker which has no part in the load still has appends."""


class Probes:
    """Sends requests of some kinds to one broker until it is stopped.

    One of each goes before the others and is in no record: a broker loads classes for the first pull of its life, which takes
    a tenth of a second or more.
    """

    def __init__(self, events: EventLog, broker: Node, topic: str, kinds: tuple[str, ...]) -> None:
        self._events = events
        self._broker = broker
        self._topic = topic
        self._stop = threading.Event()
        with ask(broker) as connection:
            if {"send", "delivery"} & set(kinds):
                connection.create_topic(SEND_TOPIC, read_queues=1, write_queues=1)
            for kind in kinds:
                REQUESTS[kind](connection, topic)
        self._threads = [
            threading.Thread(target=self._run, args=(kind,), name=f"probe-{kind}", daemon=True) for kind in kinds
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, once the requests that are under way are answered or given up."""
        self._stop.set()
        for thread in self._threads:
            thread.join(2 * ANSWER_S_MAX)

    def _run(self, kind: str) -> None:
        request = REQUESTS[kind]
        while not self._stop.is_set():
            try:
                with ask(self._broker, timeout_s=ANSWER_S_MAX) as connection:
                    while not self._stop.wait(PERIOD_S):
                        self._once(kind, request, connection)
            except ClientError:
                # What went wrong is recorded; the next connection may do better.
                continue

    def _once(self, kind: str, request: Request, connection: Broker) -> None:
        started_ns = mono_ns()
        code = NO_ANSWER
        try:
            code = request(connection, self._topic).code
        finally:
            self._events.record("request", kind=kind, started_ns=started_ns, finished_ns=mono_ns(), code=code)
