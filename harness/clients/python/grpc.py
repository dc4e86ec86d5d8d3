"""``rocketmq-python-client`` 5.1.2, which speaks gRPC to the proxy of a 5.x cluster.

Known weaknesses, and what is done about each:

* The proxy picks the queue of every message and does not tell it; the queue in the client's own receipt is one that the
  client thought of. The record leaves it out.
* It tries again by itself as often as its proxy tells it; the lab's own says once. What it raises in the end is the
  proxy's word, not the broker's: a failed send is *unknown*. A broker's status that is no success comes as a code.
* Until its proxy has told its settings it goes by others of its own: the load waits for them. One whose first question for
  the route was not answered in time never asks for settings: it is given up, and another one started.
* An ordered message is one of a message group, which is its key here.
* Its timeouts are whole seconds.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from harness.clients.python.client import Answer, Answered, Capabilities, Client, Message, Opening
from harness.errors import ClientError

SETTINGS_S = 10.0
STARTS_MAX = 9
"""A minute and a half in all: a proxy that has just started takes its time for the first request."""

_STATUSES = {
    "MASTER_PERSISTENCE_TIMEOUT": "FLUSH_DISK_TIMEOUT",
    "SLAVE_PERSISTENCE_TIMEOUT": "FLUSH_SLAVE_TIMEOUT",
    "HA_NOT_AVAILABLE": "SLAVE_NOT_AVAILABLE",
}
"""A broker's status by the proxy's code for it (5.3.3, org.apache.rocketmq.proxy.grpc.v2.producer.SendMessageActivity)."""


class Grpc(Client):
    """A producer of the proxy's."""

    can = Capabilities(
        name="grpc rocketmq-python-client 5.1.2",
        modes=("sync", "async"),
        ordered_modes=("sync",),
        limits=(
            "the proxy picks each message's queue and does not tell it: loss is judged by the numbers in bodies",
            "it tries a send again by itself as often as its proxy says (the lab's: once), and may store a message twice",
            "what it says of a failure is the proxy's word, not the broker's: a send that fails is unknown",
        ),
    )

    def __init__(self, opening: Opening) -> None:
        self._library = importlib.import_module("rocketmq")
        codes = importlib.import_module("rocketmq.grpc_protocol").Code
        self._statuses = {codes.Value(code): status for code, status in _STATUSES.items()}
        self._topic = opening.sends.topic
        configuration = self._library.ClientConfiguration(
            opening.namesrv,
            self._library.Credentials(),
            request_timeout=math.ceil(opening.sends.timeout_ms / 1000),
        )
        for _ in range(STARTS_MAX):
            self._producer = self._library.Producer(configuration, (self._topic,))
            self._producer.startup()
            if self._producer._init_settings_event.wait(SETTINGS_S):
                return
            self._producer.shutdown()
        raise ClientError(f"the proxy {opening.namesrv} told no settings in {STARTS_MAX} starts of {SETTINGS_S:g} s")

    def send(self, message: Message) -> Answer:
        """Send and wait."""
        native = self._message(message)
        return self._answer(lambda: self._producer.send(native))

    def send_async(self, message: Message, answered: Answered) -> None:
        """Send; the client answers in a thread of its own."""

        def done(future: Future[Any]) -> None:
            try:
                answer = self._answer(future.result)
            except Exception as error:  # whatever the client raises: the outcome of this send is not known
                answered(None, error)
            else:
                answered(answer, None)

        self._producer.send_async(self._message(message)).add_done_callback(done)

    def _answer(self, receive: Callable[[], Any]) -> Answer:
        try:
            receipt = receive()
        except Exception as error:
            status = self._statuses.get(getattr(error, "code", None))
            if status is None:
                raise
            return Answer(status=status)
        return Answer(offset=int(receipt.offset), msg_id=str(receipt.message_id))

    def _message(self, message: Message) -> Any:
        native = self._library.Message()
        native.topic, native.body = self._topic, message.body
        if message.key:
            native.keys = message.key
        if message.slot is not None:
            native.message_group = message.key
        return native

    def shutdown(self) -> None:
        """Leave the cluster."""
        self._producer.shutdown()
