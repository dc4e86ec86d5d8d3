from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness.errors import AnswerError, ClientError
from harness.protocol.broker import Broker
from harness.protocol.connection import Connection
from harness.protocol.frames import Answer, Frame, read_answer
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
        _server(
            lambda request: _frame({"code": 17, "opaque": request["opaque"], "remark": "No topic route info"})
        ) as address,
        NameServer(address) as connection,
    ):
        assert connection.route("T") is None


def test_a_refusal_carries_code_and_remark() -> None:
    with (
        _server(
            lambda request: _frame({"code": 2, "opaque": request["opaque"], "remark": "[REJECTREQUEST]system busy"})
        ) as address,
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


# --- JSON that is not quite JSON ----------------------------------------------------------------------------------------


def test_negative_keys_of_fastjson_are_read_and_texts_stay_as_they_are() -> None:
    body = rb'{"brokerAddrs":{-1:"127.0.0.1:1", 2 :"x"},"says":"{0:1,-1:2} \",3:","n":[{4:-5}]}'
    assert Answer(code=0, remark="", fields={}, body=body).json() == {
        "brokerAddrs": {"-1": "127.0.0.1:1", "2": "x"},
        "says": '{0:1,-1:2} ",3:',
        "n": [{"4": -5}],
    }


def test_a_broker_that_waits_for_its_role_is_read_with_its_id() -> None:
    body = b'{"brokerAddrTable":{"broker-a":{"brokerAddrs":{-1:"127.0.0.1:10911"},"brokerName":"broker-a"}}}'
    with (
        _server(lambda request: _frame({"code": 0, "opaque": request["opaque"]}, body)) as address,
        NameServer(address) as connection,
    ):
        assert connection.cluster_brokers() == {"broker-a": {-1: "127.0.0.1:10911"}}


# --- binary headers: org.apache.rocketmq.remoting.protocol.RocketMQSerializable -----------------------------------------


def _binary(opaque: object, fields: dict[str, str], remark: str = "", *, code: int = 0, flag: int = 1) -> bytes:
    """The header as ``rocketMQProtocolEncode`` writes it: all numbers with their highest byte first."""
    assert isinstance(opaque, int)
    java, version = 0, 513
    pairs = b"".join(
        struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value
        for name, value in ((name.encode(), value.encode()) for name, value in fields.items())
    )
    text = remark.encode()
    head = struct.pack(">hbhii", code, java, version, opaque, flag)
    return head + struct.pack(">i", len(text)) + text + struct.pack(">i", len(pairs)) + pairs


def _binary_frame(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">II", 4 + len(header) + len(body), 1 << 24 | len(header)) + header + body


def test_a_binary_header_written_by_hand_is_read() -> None:
    by_hand = bytes.fromhex(
        "0011"  # code 17
        "00"  # language: Java
        "0201"  # version 513
        "0000002a"  # opaque 42
        "00000001"  # flag: an answer
        "00000004 6e6fc3b6"  # remark of 4 bytes
        "00000015"  # 21 bytes of fields:
        "0006 6f6666736574 00000002 3337"  # offset, 37
        "0001 61 00000000"  # a, which is empty
    )
    frame = Frame(serialisation=1, header=by_hand, body=b"{}")
    read = read_answer(frame, "broker-a")
    assert read is not None
    number, answer = read
    assert (number, answer.code, answer.remark, answer.version, answer.body) == (42, 17, "noö", 513, b"{}")
    assert answer.fields == {"offset": "37", "a": ""}


def test_a_broker_with_binary_headers_is_asked_as_any() -> None:
    fields = {"offset": "-7", "größe": "ä" * 300}
    with (
        _server(lambda request: _binary_frame(_binary(request["opaque"], fields)), requests=1) as address,
        Broker(address) as connection,
    ):
        assert connection.min_offset("T", 0) == -7
        assert connection.version == (5, 5, 0)


def test_a_request_of_the_brokers_own_with_a_binary_header_is_passed_over() -> None:
    def answer(request: dict[str, object]) -> bytes:
        own = _binary_frame(_binary(3, {"consumerGroup": "g"}, code=40, flag=0))
        return own + _binary_frame(_binary(request["opaque"], {}, "no such topic", code=17))

    with _server(answer) as address, NameServer(address) as connection:
        assert connection.route("T") is None


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x00" * 16,
        _binary(1, {}, "remark")[:-8],
        struct.pack(">hbhiii", 0, 0, 0, 1, 1, -1) + struct.pack(">i", 0),
        struct.pack(">hbhiii", 0, 0, 0, 1, 1, 2**31 - 1) + b"x",
        struct.pack(">hbhiiii", 0, 0, 0, 1, 1, 0, 3) + b"\x00\x01a",
        struct.pack(">hbhiiii", 0, 0, 0, 1, 1, 0, 2) + struct.pack(">h", -1),
        struct.pack(">hbhiii", 0, 0, 0, 1, 1, 2) + b"\xc3\x28" + struct.pack(">i", 0),
    ],
)
def test_a_binary_header_that_is_cut_or_has_wrong_lengths_is_nonsense(header: bytes) -> None:
    with pytest.raises(AnswerError, match="broker-a answered what no RocketMQ answers: a binary header") as raised:
        read_answer(Frame(serialisation=1, header=header, body=b""), "broker-a")
    assert raised.value.is_nonsense
