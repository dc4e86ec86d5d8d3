"""One connection to a name server or broker: requests and their answers, whatever they are about.

mqadmin is not used: it may print an error and then "success".
"""

import contextlib
import itertools
import re
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Self

from harness.errors import ClientError, ConfigurationError, shown
from harness.model.rocketmq import SUCCESS
from harness.protocol.access import OPEN, Access, check_let_in
from harness.protocol.frames import Answer, Fields, Version, numbered_version, read_answer, request_frame

ANSWER_BYTES_MAX = 64 * 1024 * 1024
READ_BYTES = 64 * 1024
ASKED_AT_ONCE = 256
"""Requests that are sent before their answers are read. They keep the other side busy and still fit into its buffers.
"""


def split_address(address: str) -> tuple[str, int]:
    """``("127.0.0.1", 9876)`` of ``127.0.0.1:9876``, ``("::1", 9876)`` of ``[::1]:9876``.

    Raises ConfigurationError when it is no HOST:PORT.
    """
    host, _, port = address.strip().rpartition(":")
    is_port = re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65536
    # The brackets are of the notation, not of the address: no resolver knows a host of that name.
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not is_port or not re.fullmatch(r"[\w.:-]{1,253}", bare, re.ASCII):
        raise ConfigurationError(f"{shown(address)} is not HOST:PORT", advice="Write it like 127.0.0.1:9876.")
    return bare, int(port)


class Connection:
    """One connection to a name server or broker. Not safe for threads; short-lived by intent.

    Raises ClientError when nobody listens there, it does not answer in time, or it refuses the request, AccessDeniedError when
    it asks for keys or these are not enough, and ConfigurationError when the file of the keys has none.
    """

    _opaque = itertools.count(1)

    def __init__(self, address: str, *, timeout_s: float = 5.0, access: Access = OPEN) -> None:
        self.address = address
        self._keys = access.keys()
        self._has_answered = access.tls
        self.version: Version = ()
        """The release of the node, once it has answered."""
        try:
            plain = socket.create_connection(split_address(address), timeout=timeout_s)
        except OSError as error:
            raise ClientError(f"cannot connect to {address}: {error}") from error
        try:
            self._socket = access.secured(plain, address)
        except BaseException:
            plain.close()
            raise
        self._answers = self._socket.makefile("rb", READ_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection. The groups that it kept online are offline once the other side has seen that."""
        self._answers.close()
        self._socket.close()

    def hang_up(self) -> None:
        """Have an ``ask`` that another thread waits for fail at once; that thread closes the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def ask(self, code: int, fields: Fields | None = None, body: bytes = b"") -> Answer:
        """One request and its answer, whatever its code."""
        try:
            self._socket.sendall(self._frame(next(self._opaque), code, fields or {}, body))
            answer = self._read_answer()[1]
        except OSError as error:
            raise self._no_answer(code, error) from error
        check_let_in(self.address, code, answer, self._keys)
        return answer

    def ask_many(self, code: int, fields: Iterable[Fields]) -> Iterator[Answer]:
        """The answers to many requests of one kind, in their order, asked ``ASKED_AT_ONCE`` at a time."""
        rest = iter(fields)
        while chunk := list(itertools.islice(rest, ASKED_AT_ONCE)):
            numbers = [next(self._opaque) for _ in chunk]
            try:
                self._socket.sendall(
                    b"".join(self._frame(one[0], code, one[1], b"") for one in zip(numbers, chunk, strict=True))
                )
                # Threads of the other side overtake each other.
                answers = dict(self._read_answer() for _ in chunk)
            except OSError as error:
                raise self._no_answer(code, error) from error
            for number in numbers:
                if number not in answers:
                    raise ClientError(f"{self.address} answered a request {code} that nobody asked")
                check_let_in(self.address, code, answers[number], self._keys)
                yield answers[number]

    def call(self, code: int, fields: Fields | None = None, body: bytes = b"") -> Answer:
        """One request that must succeed."""
        return self.succeeded(code, self.ask(code, fields, body))

    def succeeded(self, code: int, answer: Answer) -> Answer:
        """The answer to this request. Raises ClientError where it is another than success."""
        if answer.code != SUCCESS:
            raise ClientError(f"{self.address} answered request {code} with code {answer.code}: {answer.remark}")
        return answer

    def _frame(self, number: int, code: int, fields: Fields, body: bytes) -> bytes:
        return request_frame(number, code, fields if self._keys is None else self._keys.sign(fields, body), body)

    def _no_answer(self, code: int, error: OSError) -> ClientError:
        closed = isinstance(error, ConnectionError) and not self._has_answered
        hint = ", as nodes do that take TLS alone (--tls)" if closed else ""
        return ClientError(f"{self.address} did not answer request {code}: {error}{hint}")

    def _read_answer(self) -> tuple[int, Answer]:
        """The number of the request that is answered, and the answer.

        A broker tells a connection that has sent a heartbeat when its groups change; such requests are passed over.
        """
        while True:
            (length,) = struct.unpack(">I", self._read_exactly(4))
            if not 4 <= length <= ANSWER_BYTES_MAX:
                raise ClientError(f"{self.address} answered with a frame of {length} bytes: not a RocketMQ node?")
            frame = self._read_exactly(length)
            self._has_answered = True
            if (answer := read_answer(frame)) is not None:
                self.version = numbered_version(answer[1].version)
                return answer

    def _read_exactly(self, count: int) -> bytes:
        part: bytes = self._answers.read(count)
        if len(part) < count:
            raise ConnectionResetError("the connection was closed in the middle of an answer")
        return part
