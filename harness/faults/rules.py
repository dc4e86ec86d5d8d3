"""How a Byteman rule in a broker's JVM is armed: a line over a loopback connection, and a line as the answer.

The rules are loaded when the broker starts; ``byteman/StallHelper.java`` listens, and passes on what is another helper's.
"""

import contextlib
import socket
from collections.abc import Iterator

from harness.backends.cluster import Node
from harness.errors import ClientError, WaitTimeout
from harness.wait import wait_until

ANSWER_S_MAX = 45.0
FIRST_APPEND_S_MAX = 10.0
"""Byteman installs a rule when it is triggered for the first time, and only then it can be armed."""


@contextlib.contextmanager
def rule_of(broker: Node) -> Iterator[socket.socket]:
    """A connection on which one rule is asked for one thing. Raises ClientError."""
    try:
        with wait_until(
            "the broker's first append",
            lambda: socket.create_connection(("127.0.0.1", broker.stall_port), timeout=ANSWER_S_MAX),
            timeout_s=FIRST_APPEND_S_MAX,
        ) as connection:
            yield connection
    except (OSError, WaitTimeout) as error:
        raise ClientError(f"the rule of {broker.name} could not be armed: {error}") from error


def asked_rule(broker: Node, line: str, count: int) -> list[int]:
    """The stamps with which a rule answers a line, in monotonic nanoseconds. Raises ClientError."""
    with rule_of(broker) as connection:
        connection.sendall(f"{line}\n".encode())
        return stamps_of(connection, broker, count)


def stamps_of(connection: socket.socket, broker: Node, count: int) -> list[int]:
    """So many numbers, which is what a rule answers when it took effect. Raises ClientError."""
    words = answer_of(connection, broker).split()
    if len(words) != count or not all(word.isdigit() for word in words):
        raise ClientError(f"no rule of {broker.name} took effect: {' '.join(words)}")
    return [int(word) for word in words]


def answer_of(connection: socket.socket, broker: Node, expected: str = "") -> str:
    """A line. Raises ClientError when there is none, or another than is expected."""
    with connection.makefile("r") as lines:
        answer = lines.readline().strip()
    if not answer or (expected and answer != expected):
        raise ClientError(f"the rule of {broker.name} did not answer: {answer or 'the broker ended'}")
    return answer
