from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness.errors import ClientError
from harness.protocol.broker import Broker
from harness.protocol.connection import Connection
from harness.protocol.frames import Answer
from harness.protocol.name_server import NameServer


@contextmanager
def _server(answer: Callable[[dict[str, object]], bytes], requests: int = 1) -> Iterator[str]:
    """A node that reads so many requests' headers, answers each with what it is told to, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for _ in range(requests):
                    length, header_length = struct.unpack(">II", connection.recv(8))
                    rest = connection.recv(length - 4)
                    connection.sendall(answer(json.loads(rest[:header_length])))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(5)


def _frame(header: dict[str, object], body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body


def test_integer_keys_of_fastjson_are_read() -> None:
    body = b'{"brokerAddrs":{0:"127.0.0.1:10911",1:"127.0.0.1:10921"},"name":"a:1"}'
    value = Answer(code=0, remark="", fields={}, body=body).json()
    assert value == {"brokerAddrs": {"0": "127.0.0.1:10911", "1": "127.0.0.1:10921"}, "name": "a:1"}


def test_a_route_is_read_by_broker() -> None:
    body = (
        b'{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:1"},"brokerName":"broker-a","cluster":"c"}],'
        b'"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":4,"writeQueueNums":8}]}'
    )
    with (
        _server(lambda request: _frame({"code": 0, "opaque": request["opaque"]}, body)) as address,
        NameServer(address) as connection,
    ):
        route = connection.route("T")
    assert route is not None
    assert route.addresses == {"broker-a": {0: "127.0.0.1:1"}}
    assert (route.read_queues, route.write_queues) == ({"broker-a": 4}, {"broker-a": 8})


def test_a_topic_that_is_not_known_has_no_route() -> None:
    with (
        _server(lambda _: _frame({"code": 17, "remark": "No topic route info"})) as address,
        NameServer(address) as connection,
    ):
        assert connection.route("T") is None


def test_a_refusal_carries_code_and_remark() -> None:
    with (
        _server(lambda _: _frame({"code": 2, "remark": "[REJECTREQUEST]system busy"})) as address,
        Broker(address) as connection,
        pytest.raises(ClientError, match=r"code 2: \[REJECTREQUEST\]"),
    ):
        connection.max_offset("T", 0)


@pytest.mark.parametrize(
    ("remark", "told"),
    [("java.util.NoSuchElementException, LinkedList.getLast", {"putTps": "1.0"}), ("disk full", None)],
)
def test_a_broker_that_has_sampled_nothing_yet_is_asked_again(remark: str, told: dict[str, str] | None) -> None:
    asked: list[object] = []
    requests = 1 if told is None else 2

    def answer(request: dict[str, object]) -> bytes:
        asked.append(request["code"])
        if len(asked) == 1:
            return _frame({"code": 1, "opaque": request["opaque"], "remark": remark})
        return _frame({"code": 0, "opaque": request["opaque"]}, b'{"table":{"putTps":"1.0"}}')

    with _server(answer, requests) as address, Broker(address) as connection:
        if told is None:
            with pytest.raises(ClientError, match="code 1: disk full"):
                connection.runtime_info()
        else:
            assert connection.runtime_info() == told
    assert asked == [28] * requests


@pytest.mark.parametrize("reply", [b"", b"\x00\x00", struct.pack(">I", 2**31 - 1), struct.pack(">II", 100, 50) + b"x"])
def test_a_connection_that_breaks_or_is_no_rocketmq_is_a_clear_error(reply: bytes) -> None:
    with _server(lambda _: reply) as address, Connection(address) as connection, pytest.raises(ClientError):
        connection.ask(105)


def test_nobody_listening_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(ClientError, match="cannot connect"):
        Connection(address)
