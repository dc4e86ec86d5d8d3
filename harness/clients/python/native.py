"""rocketmq-client-python's code line: the native library of ``rocketmq`` 0.4.4, bare or under 2.0.0's Python layer.

Known weaknesses, and what is done about each:

* Several threads on one producer fail now and then for no reason of the broker's: each thread has a producer of its
  own, with an instance name of its own, since the library shares one client per process and name.
* It tries again by itself, and hides the broker's remark: a failed send is *unknown*, and its remark is the library's.
* It names no queue. The selector of an ordered send is ours and knows the number that it chose; where the topic has a
  single broker that is the queue, else the record leaves it out.
* A body with a NUL byte arrives cut: bodies are ASCII.
* 2.0.0's messages are never freed: they are freed here.
* 2.0.0 wants four functions that the library lacks. Ordered sends are supplied from the one that it has; transactions
  are refused.
* Its shutdown may hang: nothing is shut down, the process leaves.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from typing import Any

from harness.clients.python.client import Answer, Message, Opening
from harness.errors import ClientError

_LOG_FILES, _LOG_BYTES = 2, 8 * 1024 * 1024


class Producer044:
    """``rocketmq`` 0.4.4 as it is."""

    def __init__(self, opening: Opening) -> None:
        self._library = importlib.import_module("rocketmq.client")
        self._ffi = importlib.import_module("rocketmq.ffi")
        self._topic = opening.sends.topic
        self._oneway = opening.sends.mode == "oneway"
        self._producer = self._library.Producer(opening.group, timeout=opening.sends.timeout_ms)
        self._producer.set_namesrv_addr(opening.namesrv)
        _set_up(self._ffi.dll, self._producer, opening)
        self._producer.start()

    def send(self, message: Message) -> Answer | None:
        """Send and wait, except one-way."""
        native = self._message(message)
        chosen: list[int] = []

        def select(queues: int, _message: object, _argument: object) -> int:
            chosen.append((message.slot or 0) % queues)
            return chosen[-1]

        if message.slot is None and self._oneway:
            self._producer.send_oneway(native)
        elif self._oneway:
            self._producer.send_oneway_orderly(native, message.slot, queue_selector=select)
        elif message.slot is None:
            return _answer(self._producer.send_sync(native))
        else:
            result = self._producer.send_orderly(native, message.slot, retry_times=0, queue_selector=select)
            return _answer(result, chosen[-1] if chosen else None)
        return None

    def send_batch(self, messages: list[Message]) -> Answer:
        """One request for all of them."""
        return _answer(self._producer.send_batch([self._message(message) for message in messages]))

    def _message(self, message: Message) -> Any:
        native = self._library.Message(self._topic)
        native.set_body(message.body)
        if message.key:
            native.set_keys(message.key)
        return native


class Producer200:
    """rocketmq-client-python 2.0.0's layer on the same library."""

    def __init__(self, opening: Opening) -> None:
        with _tolerant_loading():
            self._library = importlib.import_module("rocketmq.client")
        self._dll = importlib.import_module("rocketmq.ffi").dll
        self._topic = opening.sends.topic
        self._oneway = opening.sends.mode == "oneway"
        self._ordered = opening.sends.route == "selector"
        if self._ordered and self._oneway:
            raise ClientError("rocketmq-client-python 2.0.0 has no ordered one-way send")
        self._producer = self._library.Producer(opening.group, orderly=self._ordered, timeout=opening.sends.timeout_ms)
        self._producer.set_name_server_address(opening.namesrv)
        _set_up(self._dll, self._producer, opening)
        self._producer.start()

    def send(self, message: Message) -> Answer | None:
        """Send and wait, except one-way."""
        native = self._library.Message(self._topic)
        try:
            native.set_body(message.body)
            if message.key:
                native.set_keys(message.key)
            if self._oneway:
                self._producer.send_oneway(native)
                return None
            if self._ordered:
                return _answer(self._producer.send_orderly_with_sharding_key(native, message.key))
            return _answer(self._producer.send_sync(native))
        finally:
            self._dll.DestroyMessage(native)

    def send_batch(self, messages: list[Message]) -> Answer:
        """2.0.0 has dropped batches."""
        raise ClientError("rocketmq-client-python 2.0.0 sends no batches")


def open_client(opening: Opening) -> Producer044 | Producer200:
    """A started producer of whichever of the two distributions this process has on its path."""
    from importlib.metadata import distributions

    names = {distribution.metadata["Name"] for distribution in distributions()}
    return Producer200(opening) if "rocketmq-client-python" in names else Producer044(opening)


def _set_up(dll: Any, producer: Any, opening: Opening) -> None:
    handle = producer._handle
    dll.SetProducerInstanceName(handle, opening.instance.encode())
    dll.SetProducerLogPath(handle, str(opening.logs).encode())
    dll.SetProducerLogFileNumAndSize(handle, _LOG_FILES, _LOG_BYTES)


def _answer(result: Any, queue: int | None = None) -> Answer:
    names = {"OK": "SEND_OK"}
    return Answer(
        status=names.get(result.status.name, result.status.name),
        queue=queue,
        offset=int(result.offset),
        msg_id=str(result.msg_id),
    )


# --- what 2.0.0 wants and the library lacks -------------------------------------------------------------------------


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

    def __call__(self, producer: object, message: Any, key: bytes, result: object) -> int:
        selector = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        hashed = sum(byte * 31**place for place, byte in enumerate(reversed(key))) & 0x7FFFFFFF
        select = selector(lambda queues, _message, _argument: hashed % queues)
        send = self._dll.SendMessageOrderly
        send.argtypes = [ctypes.c_void_p, ctypes.c_void_p, selector, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        return int(send(producer, message, select, None, 0, ctypes.cast(result, ctypes.c_void_p)))  # type: ignore[arg-type]


@contextlib.contextmanager
def _tolerant_loading() -> Any:
    """2.0.0 declares every function when it is imported, which fails at the first one that is not there."""
    load = ctypes.cdll.LoadLibrary
    ctypes.cdll.LoadLibrary = lambda path: _Tolerant(load(path))  # type: ignore[assignment, method-assign, return-value]
    try:
        yield
    finally:
        ctypes.cdll.LoadLibrary = load  # type: ignore[method-assign]
