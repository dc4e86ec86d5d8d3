"""What each of Python's own clients is for a load: a producer that one thread sends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.clients.commands import SendSettings


@dataclass(frozen=True, kw_only=True)
class Message:
    """One send as a client is asked for it. ``slot`` selects a queue for ordered sends; None leaves it to the client."""

    key: str
    body: bytes
    slot: int | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a client told. ``status`` is RocketMQ's; a queue is None where the client does not tell it."""

    status: str = "SEND_OK"
    queue: int | None = None
    offset: int | None = None
    msg_id: str = ""


class Client(Protocol):
    """One producer of one thread. What it raises is recorded as an unknown outcome."""

    def send(self, message: Message) -> Answer | None:
        """Send and wait for the answer; None for a send that has none."""

    def send_batch(self, messages: list[Message]) -> Answer:
        """Send all of them as one."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What a client is made with."""

    namesrv: str
    group: str
    instance: str
    sends: SendSettings
    logs: Path


Open = Callable[[Opening], Client]
