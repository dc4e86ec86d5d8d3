"""What each of Python's own clients is for a load: a producer that one thread sends with, and what it can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.clients.commands import SendSettings
from harness.errors import ClientError


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message to send. ``slot`` selects the queue of an ordered send; None leaves the choice to the client.

    ``tag`` is its number where its calls are to be found in the log of the client's library.
    """

    key: str
    body: bytes
    slot: int | None
    tag: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a client says about a send. ``status`` is RocketMQ's; ``queue`` is None if the client does not tell it."""

    status: str = "SEND_OK"
    queue: int | None = None
    offset: int | None = None
    msg_id: str = ""


Answered = Callable[[Answer | None, Exception | None], None]
"""Told the answer of a send, or why there is none. What it is told first counts."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The values that a client is made from. ``namesrv`` is the proxy's address for a client that speaks to one.

    ``retries`` is what an ordered send is told of further tries, where the client can be told. With ``traced`` the client's
    library logs each call that hands a message to the network.
    """

    namesrv: str
    group: str
    instance: str
    sends: SendSettings
    logs: Path
    retries: int = 0
    traced: bool = False


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a client can do, and what a reader of its figures has to know.

    ``name`` is its name in figures, ``modes`` are the modes of its sends, ``ordered_modes`` those of ordered ones, and
    ``library_of`` is the client whose native library it runs on.
    """

    name: str
    modes: tuple[str, ...]
    ordered_modes: tuple[str, ...]
    limits: tuple[str, ...]
    library_of: str = ""


class Client(ABC):
    """One producer, used by one thread: making it starts it.

    It is asked only for modes of its ``can``: those that it has not raise ClientError. Whatever a send raises is recorded as an
    unknown outcome.
    """

    can: ClassVar[Capabilities]

    @abstractmethod
    def __init__(self, opening: Opening) -> None: ...

    @abstractmethod
    def send(self, message: Message) -> Answer:
        """Send, and wait for the answer."""

    def send_async(self, message: Message, answered: Answered) -> None:
        """Send; ``answered`` is called later, in a thread of the client's."""
        raise ClientError(f"{self.can.name} has no asynchronous sends")

    def send_oneway(self, message: Message) -> None:
        """Send without an answer."""
        raise ClientError(f"{self.can.name} has no one-way sends")

    def send_batch(self, messages: list[Message]) -> Answer:
        """Send all of them in one request."""
        raise ClientError(f"{self.can.name} has no batches")

    @abstractmethod
    def shutdown(self) -> None:
        """Leave the cluster. It may hang: the process leaves anyway."""
