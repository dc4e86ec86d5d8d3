"""Nodes that are slow, never end, or answer what no RocketMQ answers, as small servers on loopback."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase

Request = Mapping[str, object]
"""The header of a request."""
Behaviour = Callable[[socket.socket, BufferedIOBase], None]
"""What a node does with a connection, of which it can read requests."""
TICK_S = 0.05
LATE_S = 0.7
ENDLESS_S = 60.0
"""What has no end in a test has one for the machine."""


def frame_of(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">II", 4 + len(text) + len(body), len(text)) + text + body


def answer_to(request: Request, body: bytes = b"", **changed: object) -> bytes:
    return frame_of({"code": 0, "opaque": request["opaque"], "flag": 1, "version": 513, **changed}, body)


def read_request(stream: BufferedIOBase) -> Request | None:
    if len(start := stream.read(8)) < 8:
        return None
    length, header_length = struct.unpack(">II", start)
    header: Request = json.loads(stream.read(length - 4)[:header_length])
    return header


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is what these nodes are about."""


@contextmanager
def node(behave: Behaviour) -> Iterator[str]:
    """A node whose connections do that, each in a thread of its own."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            behave(self.request, self.rfile)

    with _Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def answering(answer: Callable[[Request], bytes]) -> Behaviour:
    """Answers each request with these bytes, and hangs up after the last one."""

    def behave(connection: socket.socket, requests: BufferedIOBase) -> None:
        while (request := read_request(requests)) is not None:
            connection.sendall(answer(request))

    return behave


# --- slow and endless ones ----------------------------------------------------------------------------------------------


def _ticks() -> Iterator[None]:
    until_s = time.monotonic() + ENDLESS_S
    while time.monotonic() < until_s:
        yield
        time.sleep(TICK_S)


def silent(connection: socket.socket, requests: BufferedIOBase) -> None:
    for _ in _ticks():
        pass


def trickles(connection: socket.socket, requests: BufferedIOBase) -> None:
    """A byte now and then of an answer that would be right."""
    request = read_request(requests)
    assert request is not None
    for octet, _ in zip(answer_to(request, b'{"table":{}' + b" " * 1_000 + b"}"), _ticks(), strict=False):
        connection.sendall(bytes([octet]))


def never_ends(connection: socket.socket, requests: BufferedIOBase) -> None:
    """A frame of 60 MiB of which a part comes, and then a byte now and then."""
    request = read_request(requests)
    text = json.dumps({"code": 0, "opaque": (request or {}).get("opaque"), "flag": 1}).encode()
    connection.sendall(struct.pack(">II", 60 * 2**20, len(text)) + text + b" " * 2**20)
    for _ in _ticks():
        connection.sendall(b" ")


def asks_back(connection: socket.socket, requests: BufferedIOBase) -> None:
    """Requests of its own without end, as a broker sends them when groups change."""
    for _ in _ticks():
        connection.sendall(frame_of({"code": 40, "opaque": 1, "flag": 0}) * 100)


def reads_nothing_and_sends_half_a_length(connection: socket.socket, requests: BufferedIOBase) -> None:
    connection.sendall(b"\x00\x00")
    for _ in _ticks():
        pass


def answers_late(connection: socket.socket, requests: BufferedIOBase) -> None:
    """Each answer in time, and each of many."""
    while (request := read_request(requests)) is not None:
        time.sleep(LATE_S)
        body = json.dumps({"topicConfigTable": {}, "table": {"dispatchBehindBytes": "0"}, "offsetTable": {}}).encode()
        connection.sendall(answer_to(request, body))


SLOW = (silent, trickles, never_ends, asks_back, reads_nothing_and_sends_half_a_length, answers_late)
