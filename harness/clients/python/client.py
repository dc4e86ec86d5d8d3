"""What each of Python's own clients is for a load: a producer that one thread sends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.clients.commands import SendSettings


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message to send. ``slot`` selects the queue of an ordered send; None leaves the choice to the client."""

    key: str
    body: bytes
    slot: int | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a client says about a send. ``status`` is RocketMQ's; ``queue`` is None if the client does not tell it."""

    status: str = "SEND_OK"
    queue: int | None = None
    offset: int | None = None
    msg_id: str = ""


class Client(Protocol):
    """One producer, used by one thread. Whatever it raises is recorded as an unknown outcome."""

    def send(self, message: Message) -> Answer | None:
        """Send, and wait for the answer; None for a one-way send."""

    def send_batch(self, messages: list[Message]) -> Answer:
        """Send all of them in one request."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The values that a client is made from."""

    namesrv: str
    group: str
    instance: str
    sends: SendSettings
    logs: Path


Open = Callable[[Opening], Client]
