"""One connection to a name server or broker: requests and their answers, whatever they are about.

mqadmin is not used: it may print an error and then "success".
"""

import contextlib
import itertools
import re
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Self

from harness.errors import AnswerError, ClientError, ConfigurationError, shown
from harness.model.rocketmq import SUCCESS
from harness.printable import excerpt, printable
from harness.protocol.access import OPEN, Access, check_let_in
from harness.protocol.deadline import Deadline
from harness.protocol.frames import Answer, Fields, Version, numbered_version, read_answer, request_frame
from harness.protocol.stream import FRAME_BYTES_MAX, FrameStream

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

    ``timeout_s`` is what an answer may take, from the request on (the first one, from connecting on) until its last byte is there.
    ``within`` bounds all of them together. ``name`` is said beside the address. After an AnswerError nothing can be asked any more.

    Raises ClientError when nobody listens there or it refuses the request, AnswerError when it does not answer in time, or not as
    RocketMQ does, AccessDeniedError when it asks for keys or these are not enough, and ConfigurationError when the file of the
    keys has none.
    """

    _opaque = itertools.count(1)

    def __init__(
        self,
        address: str,
        *,
        name: str = "",
        timeout_s: float = 5.0,
        within: Deadline | None = None,
        access: Access = OPEN,
    ) -> None:
        self.address = address
        self.words = f"{printable(name)} at {address}" if name else address
        """How errors name the node."""
        self._timeout_s, self._within = timeout_s, within
        self._keys = access.keys()
        self._has_answered = access.tls
        self._failure: AnswerError | None = None
        self.version: Version = ()
        """The release of the node, once it has answered."""
        self._connecting_s, began_s = 0.0, time.monotonic()
        deadline = self._deadline()
        try:
            plain = socket.create_connection(split_address(address), timeout=deadline.left_s())
        except OSError as error:
            raise AnswerError(f"cannot connect to {self.words}: {error}") from error
        try:
            plain.settimeout(deadline.left_s())
            self._socket = access.secured(plain, self.words)
        except TimeoutError as error:
            plain.close()
            raise AnswerError(f"cannot connect to {self.words}: {error}") from error
        except BaseException:
            plain.close()
            raise
        self._connecting_s = time.monotonic() - began_s
        self._stream = FrameStream(self._socket, self.words)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Host and port of this side and of the other one. Raises ClientError when the connection is gone."""
        try:
            here, there = self._socket.getsockname(), self._socket.getpeername()
        except OSError as error:
            raise AnswerError(f"{self.words} has hung up: {error}") from error
        return (here[0], here[1]), (there[0], there[1])

    def close(self) -> None:
        """End the connection. The groups that it kept online are offline once the other side has seen that."""
        self._socket.close()

    def hang_up(self) -> None:
        """Have an ``ask`` that another thread waits for fail at once; that thread closes the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def ask(self, code: int, fields: Fields | None = None, body: bytes = b"") -> Answer:
        """One request and its answer, whatever its code."""
        number = next(self._opaque)
        answer = self._exchange(code, [number], self._frame(number, code, fields or {}, body))[number]
        check_let_in(self.words, code, answer, self._keys)
        return answer

    def ask_many(self, code: int, fields: Iterable[Fields]) -> Iterator[Answer]:
        """The answers to many requests of one kind, in their order, asked ``ASKED_AT_ONCE`` at a time."""
        rest = iter(fields)
        while chunk := list(itertools.islice(rest, ASKED_AT_ONCE)):
            numbers = [next(self._opaque) for _ in chunk]
            frames = (self._frame(number, code, of, b"") for number, of in zip(numbers, chunk, strict=True))
            answers = self._exchange(code, numbers, b"".join(frames))
            for number in numbers:
                check_let_in(self.words, code, answers[number], self._keys)
                yield answers[number]

    def call(self, code: int, fields: Fields | None = None, body: bytes = b"") -> Answer:
        """One request that must succeed."""
        return self.succeeded(code, self.ask(code, fields, body))

    def succeeded(self, code: int, answer: Answer) -> Answer:
        """The answer to this request. Raises ClientError where it is another than success."""
        if answer.code != SUCCESS:
            raise ClientError(f"{self.words} answered request {code} with code {answer.code}: {excerpt(answer.remark)}")
        return answer

    def nonsense(self, what: str) -> AnswerError:
        """The error that says that the node has answered this, which no RocketMQ answers."""
        return AnswerError.nonsense(self.words, what)

    def _frame(self, number: int, code: int, fields: Fields, body: bytes) -> bytes:
        return request_frame(number, code, fields if self._keys is None else self._keys.sign(fields, body), body)

    def _deadline(self) -> Deadline:
        return Deadline.after(self._timeout_s - self._connecting_s).within(self._within)

    def _exchange(self, code: int, numbers: Collection[int], request: bytes) -> dict[int, Answer]:
        """The answers to requests of these numbers, by number, after all of them were sent at once."""
        if self._failure is not None:
            raise AnswerError(self._failure.message, is_nonsense=self._failure.is_nonsense)
        try:
            return self._answers(set(numbers), request)
        except AnswerError as error:
            self._failure = error
        except TimeoutError:
            self._failure = self._late(f"request {code}")
        except OSError as error:
            closed = isinstance(error, ConnectionError) and not self._has_answered
            hint = ", as nodes do that take TLS alone (--tls)" if closed else ""
            self._failure = AnswerError(f"{self.words} did not answer request {code}: {error}{hint}")
        raise self._failure

    def _answers(self, numbers: set[int], request: bytes) -> dict[int, Answer]:
        deadline = self._deadline()
        self._connecting_s = 0.0
        self._stream.send(request, deadline)
        answers: dict[int, Answer] = {}
        octets = 0
        # Threads of the other side overtake each other.
        while len(answers) < len(numbers):
            number, answer = self._read_answer(deadline)
            if number not in numbers or number in answers:
                raise self.nonsense(f"a request that nobody asked, of number {number}")
            answers[number] = answer
            octets += len(answer.body)
            if octets > FRAME_BYTES_MAX:
                raise self.nonsense(f"{len(numbers):,} requests with more than {FRAME_BYTES_MAX:,} bytes")
            deadline = self._deadline()
        return answers

    def _late(self, what: str) -> AnswerError:
        if self._within is not None and self._within.is_over():
            return AnswerError(f"{self.words} did not answer everything within {self._within.given_s:.3g} s")
        return AnswerError(f"{self.words} did not answer {what} within {self._timeout_s:g} s")

    def _read_answer(self, deadline: Deadline) -> tuple[int, Answer]:
        """The number of the request that is answered, and the answer.

        A broker tells a connection that has sent a heartbeat when its groups change; such requests are passed over.
        """
        while True:
            frame = self._stream.receive(deadline)
            self._has_answered = True
            if (answer := read_answer(frame, self.words)) is not None:
                self.version = numbered_version(answer[1].version)
                return answer
