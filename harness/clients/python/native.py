"""``rocketmq`` 0.4.4: rocketmq-client-cpp's native library with a thin layer of Python.

Known weaknesses, and what is done about each:

* Several threads on one producer fail now and then for no reason of the broker's: each thread has a producer of its
  own, with an instance name of its own, since the library shares one client per process and name.
* It tries again by itself, and hides the broker's remark: a failed send is *unknown*, and its remark is the library's.
* It names no queue. The selector of an ordered send is ours and knows the number that it chose; where the topic has a
  single broker that is the queue, else the record leaves it out.
* A body with a NUL byte arrives cut: bodies are ASCII.
* A send that is stored with a status other than SEND_OK is tried and stored twice more, and then raises that the topic
  has no route. Asynchronous sends alone show the status.
* Of an asynchronous send it keeps one of two callbacks for good and searches them at each answer: ``_Callbacks``.
"""

from __future__ import annotations

import importlib
from typing import Any

from harness.clients.python.client import Answer, Answered, Capabilities, Client, Message, Opening

_LOG_FILES, _LOG_BYTES = 2, 8 * 1024 * 1024
DEBUG = 5
"""The library's level (CLogLevel in CCommon.h) at which it names every message that it hands to the network."""

LIBRARY_LIMITS = (
    "it hides the broker's answer: a send that fails is unknown, and why is at best in clients/*/logs/rocketmq-cpp",
    "it tries a plain send again by itself, after a status other than SEND_OK, too: a message may be stored three times",
    "it names no queue: on several brokers loss is judged by the numbers in bodies",
    "its shutdown may hang: it is given up after some seconds, and its process leaves",
)


class Native(Client):
    """``rocketmq`` 0.4.4 as it is."""

    can = Capabilities(
        name="native rocketmq 0.4.4",
        modes=("sync", "async", "oneway", "batch"),
        ordered_modes=("sync", "oneway"),
        limits=LIBRARY_LIMITS,
    )

    def __init__(self, opening: Opening) -> None:
        self._library = importlib.import_module("rocketmq.client")
        self._topic = opening.sends.topic
        self._retries = opening.retries
        self._producer = self._library.Producer(opening.group, timeout=opening.sends.timeout_ms)
        self._producer.set_namesrv_addr(opening.namesrv)
        if opening.sends.mode == "async":
            self._producer._callback_refs = _Callbacks()
        set_up(importlib.import_module("rocketmq.ffi").dll, self._producer, opening)
        self._producer.start()

    def send(self, message: Message) -> Answer:
        """Send and wait."""
        native = self._message(message)
        if message.slot is None:
            return answer_of(self._producer.send_sync(native))
        slot, chosen = message.slot, list[int]()

        def select(queues: int, _message: object, _argument: object) -> int:
            chosen.append(slot % queues)
            return chosen[-1]

        result = self._producer.send_orderly(native, slot, retry_times=self._retries, queue_selector=select)
        return answer_of(result, chosen[-1] if chosen else None)

    def send_async(self, message: Message, answered: Answered) -> None:
        """Send; the library answers in a thread of its own. Its words of a failure are bytes."""
        self._producer.send_async(
            self._message(message),
            lambda result: answered(answer_of(result), None),
            lambda error: answered(None, type(error)(error.args[0].decode(), *[None] * 4)),
        )

    def send_oneway(self, message: Message) -> None:
        """Send without an answer."""
        native = self._message(message)
        if message.slot is None:
            self._producer.send_oneway(native)
        else:
            self._producer.send_oneway_orderly(native, message.slot)

    def send_batch(self, messages: list[Message]) -> Answer:
        """One request for all of them."""
        return answer_of(self._producer.send_batch([self._message(message) for message in messages]))

    def _message(self, message: Message) -> Any:
        native = self._library.Message(self._topic)
        native.set_body(message.body)
        name_message(native, message)
        return native

    def shutdown(self) -> None:
        """Leave the cluster."""
        self._producer.shutdown()


class _Callbacks:
    """Stands in for the library's list of the callbacks that native code holds, two for each send under way."""

    def __init__(self) -> None:
        self._first: object = None
        self._pairs: dict[int, tuple[object, object]] = {}

    def append(self, callback: object) -> None:
        """Keep a callback; each second one completes a pair."""
        if self._first is None:
            self._first = callback
        else:
            pair, self._first = (self._first, callback), None
            self._pairs |= {id(one): pair for one in pair}

    def remove(self, callback: object) -> None:
        """Forget it and the other of its pair, which is not called any more."""
        for one in self._pairs.pop(id(callback), ()):
            self._pairs.pop(id(one), None)


def name_message(native: Any, message: Message) -> None:
    """Give the library's message the key and the tag that it has, if any."""
    if message.key:
        native.set_keys(message.key)
    if message.tag:
        native.set_tags(message.tag)


def set_up(dll: Any, producer: Any, opening: Opening) -> None:
    """What the library is told of a producer that its layers of Python have no methods for.

    A traced one's log is left to grow, since nothing of it may be missing.
    """
    handle = producer._handle
    dll.SetProducerInstanceName(handle, opening.instance.encode())
    dll.SetProducerLogPath(handle, str(opening.logs).encode())
    if opening.traced:
        dll.SetProducerLogLevel(handle, DEBUG)
    else:
        dll.SetProducerLogFileNumAndSize(handle, _LOG_FILES, _LOG_BYTES)


def answer_of(result: Any, queue: int | None = None) -> Answer:
    """The library's result; of its statuses only the success has a name of its own."""
    status = str(result.status.name)
    return Answer(
        status="SEND_OK" if status == "OK" else status,
        queue=queue,
        offset=int(result.offset),
        msg_id=str(result.msg_id),
    )
