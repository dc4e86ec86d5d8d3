"""``rocketmq-client-python`` 2.0.0: a newer layer of Python, published without the native library that it loads.

It runs on the library of ``rocketmq`` 0.4.4, and has that one's weaknesses (``native``). What is its own:

* It wants four functions that the library lacks. Ordered sends are supplied from the one that the library has;
  transactions are refused.
* It has no asynchronous sends and no batches.
* Its messages are never freed: they are freed here.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from collections.abc import Iterator
from typing import Any

from harness.clients.python.client import Answer, Capabilities, Client, Message, Opening
from harness.clients.python.native import LIBRARY_LIMITS, answer_of, name_message, set_up
from harness.errors import ClientError


class RocketmqClientPython(Client):
    """2.0.0's layer on the library of 0.4.4."""

    can = Capabilities(
        name="rocketmq-client-python 2.0.0",
        modes=("sync", "oneway"),
        ordered_modes=("sync",),
        limits=(
            *LIBRARY_LIMITS,
            "its library has no ordered send by key: that is made of the one with a selector",
        ),
        library_of="native",
    )

    def __init__(self, opening: Opening) -> None:
        with _tolerant_loading():
            self._library = importlib.import_module("rocketmq.client")
        self._dll = importlib.import_module("rocketmq.ffi").dll
        self._topic = opening.sends.topic
        ordered = opening.sends.route == "selector"
        self._producer = self._library.Producer(opening.group, orderly=ordered, timeout=opening.sends.timeout_ms)
        self._producer.set_name_server_address(opening.namesrv)
        set_up(self._dll, self._producer, opening)
        self._producer.start()

    def send(self, message: Message) -> Answer:
        """Send and wait."""
        with self._message(message) as native:
            if message.slot is None:
                return answer_of(self._producer.send_sync(native))
            return answer_of(self._producer.send_orderly_with_sharding_key(native, message.key))

    def send_oneway(self, message: Message) -> None:
        """Send without an answer."""
        with self._message(message) as native:
            self._producer.send_oneway(native)

    @contextlib.contextmanager
    def _message(self, message: Message) -> Iterator[Any]:
        native = self._library.Message(self._topic)
        try:
            native.set_body(message.body)
            name_message(native, message)
            yield native
        finally:
            self._dll.DestroyMessage(native)

    def shutdown(self) -> None:
        """Leave the cluster."""
        self._producer.shutdown()


class _Missing:
    """A function that the library does not have; it may be declared, and says so when it is called."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.argtypes: object = None
        self.restype: object = None

    def __call__(self, *_: object) -> object:
        raise ClientError(f"the native library has no {self._name}")


class _Tolerant:
    """The library with what it lacks: supplied from what it has, or a function that says that it is missing."""

    def __init__(self, dll: ctypes.CDLL) -> None:
        self._dll = dll
        self._functions: dict[str, Any] = {
            "CreateOrderlyProducer": dll.CreateProducer,
            "SendMessageOrderlyByShardingKey": _ByKey(dll),
        }

    def __getattr__(self, name: str) -> Any:
        if name not in self._functions:
            try:
                self._functions[name] = getattr(self._dll, name)
            except AttributeError:
                self._functions[name] = _Missing(name)
        return self._functions[name]


class _ByKey:
    """An ordered send by a key's hash, which the library offers with a selector of ours."""

    def __init__(self, dll: ctypes.CDLL) -> None:
        self._dll = dll
        self.argtypes: object = None
        self.restype: object = None

    def __call__(self, producer: object, message: Any, key: bytes, result: Any) -> int:
        selector = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        hashed = sum(byte * 31**place for place, byte in enumerate(reversed(key))) & 0x7FFFFFFF
        select = selector(lambda queues, _message, _argument: hashed % queues)
        send = self._dll.SendMessageOrderly
        send.argtypes = [ctypes.c_void_p, ctypes.c_void_p, selector, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
        # The selector has no use for its argument, but the library refuses none.
        return int(send(producer, message, select, ctypes.c_char_p(key), 0, ctypes.cast(result, ctypes.c_void_p)))


@contextlib.contextmanager
def _tolerant_loading() -> Iterator[None]:
    """2.0.0 declares every function when it is imported, which fails at the first one that is not there."""
    load = ctypes.cdll.LoadLibrary
    ctypes.cdll.LoadLibrary = lambda path: _Tolerant(load(path))  # type: ignore[assignment, method-assign, return-value]
    try:
        yield
    finally:
        ctypes.cdll.LoadLibrary = load  # type: ignore[method-assign]
