"""``rocketmq-python-client`` 5.1.2, which speaks gRPC to the proxy of a 5.x cluster.

Known weaknesses, and what is done about each:

* The proxy picks the queue of every message and does not tell it; the queue in the client's own receipt is one that the
  client thought of. The record leaves it out.
* It tries again by itself as often as its proxy tells it; the lab's own says once. What it raises in the end is the
  proxy's word, not the broker's: a failed send is *unknown*.
* Until its proxy has told its settings it goes by others of its own: the load waits for them.
* An ordered message is one of a message group, which is its key here.
* Its timeouts are whole seconds.
"""

from __future__ import annotations

import importlib
import math

from harness.clients.python.client import Answer, Message, Opening
from harness.errors import ClientError

SETTINGS_S_MAX = 20.0


class Producer:
    """A producer that has started; ``opening.namesrv`` is the proxy's address."""

    def __init__(self, opening: Opening) -> None:
        self._library = importlib.import_module("rocketmq")
        self._topic = opening.sends.topic
        configuration = self._library.ClientConfiguration(
            opening.namesrv,
            self._library.Credentials(),
            request_timeout=math.ceil(opening.sends.timeout_ms / 1000),
        )
        self._producer = self._library.Producer(configuration, (self._topic,))
        self._producer.startup()
        if not self._producer._init_settings_event.wait(SETTINGS_S_MAX):
            raise ClientError(f"the proxy {opening.namesrv} told no settings in {SETTINGS_S_MAX:g} s")

    def send(self, message: Message) -> Answer:
        """Send and wait."""
        native = self._library.Message()
        native.topic, native.body = self._topic, message.body
        if message.key:
            native.keys = message.key
        if message.slot is not None:
            native.message_group = message.key
        receipt = self._producer.send(native)
        return Answer(offset=int(receipt.offset), msg_id=str(receipt.message_id))

    def send_batch(self, messages: list[Message]) -> Answer:
        """The client has none."""
        raise ClientError("rocketmq-python-client sends no batches")


def open_client(opening: Opening) -> Producer:
    """A started producer."""
    return Producer(opening)
