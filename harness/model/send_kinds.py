"""Every kind of send of the Java client, side by side: what the load of send-retries is made of."""

import abc
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.loads import LoadValue

Route = Literal["normal", "selector", "fixed", "again"]
"""``again``: a selector send that the application itself sends once more, to another broker's queue, when it failed."""
Mode = Literal["sync", "async", "oneway"]

ROUTES: tuple[Route, ...] = ("normal", "selector", "fixed")
MODES: tuple[Mode, ...] = ("sync", "async", "oneway")
DEFAULT_RETRIES = 2
"""``retryTimesWhenSendFailed`` and ``retryTimesWhenSendAsyncFailed`` of org.apache.rocketmq.client.producer.DefaultMQProducer,
read from its constructors in 4.6.0 to 5.5.0. Producers of the default are told nothing."""
SWEPT: tuple[tuple[Route, Mode], ...] = (
    ("normal", "sync"), ("normal", "async"), ("selector", "sync"), ("fixed", "sync"),
)  # fmt: skip
"""Kinds whose numbers of retries are tried, without avoidance and with it."""
RETRIES = {0: "none", DEFAULT_RETRIES: "two", 5: "five"}
"""Those that are tried, in words."""
KIND_PARAMS = ("send", "retries", "avoidance", "topic", "client")
"""What tells the values of one kind from those of others: a kind's name in parts. A client that is not there is Java's."""
THREADS = 5
BOTH, ONE = "both", "one"
"""The topic that lies on both masters, and the one that lies on the master that the fault is done to alone."""
GONE_S = 4.0
"""From when a broker is gone from the routes to when clients that ask each second have forgotten its address as well."""


@dataclass(frozen=True, kw_only=True)
class KindOfSend(abc.ABC):
    """The sends of one producer, of whichever client. Its name has all of it, joined by ``-``."""

    route: Route
    mode: Mode
    topic: str = BOTH

    @property
    @abc.abstractmethod
    def threads(self) -> int:
        """Senders of the producer."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Route, mode, retries, avoidance, topic."""


@dataclass(frozen=True, kw_only=True)
class SendKind(KindOfSend):
    """The sends of one producer of the Java client."""

    retries: int = DEFAULT_RETRIES
    avoids: bool = False

    @property
    def threads(self) -> int:
        """Of the default kinds five, as an application has several, of the others one.

        Threads share their producer's connections, and since 4.9.7 the first one that times out closes it under the others
        (``clientCloseSocketIfTimeout``): whether a retry has time left then depends on who else waits.
        """
        is_default = (self.retries, self.avoids, self.topic) == (DEFAULT_RETRIES, False, BOTH)
        return THREADS if is_default else 1

    @property
    def name(self) -> str:
        """``normal-sync-two-off-both``."""
        return f"{self.route}-{self.mode}-{RETRIES[self.retries]}-{'on' if self.avoids else 'off'}-{self.topic}"


def all_kinds() -> Iterator[SendKind]:
    """As an application has them by default, on a topic without another broker, and by retries and avoidance."""
    for route, mode in itertools.product(ROUTES, MODES):
        yield SendKind(route=route, mode=mode)
    yield SendKind(route="again", mode="sync")
    yield SendKind(route="normal", mode="sync", topic=ONE)
    yield SendKind(route="normal", mode="async", topic=ONE)
    for (route, mode), retries, avoids in itertools.product(SWEPT, RETRIES, (False, True)):
        if avoids or retries != DEFAULT_RETRIES:
            yield SendKind(route=route, mode=mode, retries=retries, avoids=avoids)


KINDS = tuple(all_kinds())


@dataclass(frozen=True, kw_only=True)
class KindsOfSend(LoadValue):
    """A producer for each of its kinds, all at the same rate, while something is wrong with one of two masters.

    Each topic has one queue a master, and each producer twice as many keys as threads at most, so that a thread's keys go to
    both masters in turn, whichever kind of send they have. At the end one consumer a topic reads the stores, so that every copy
    is known. ``at`` is the master that the fault is done to. ``order_topic``: the topics are order topics, to which alone a
    broker without the permission to write refuses a send. ``timeout_ms`` is what each send is given (``sendMsgTimeout``).
    """

    kinds: Sequence[KindOfSend]

    at: Literal["first", "last"] = "last"
    order_topic: bool = False
    rate_hz: float = 5.0
    keys: int = 2 * THREADS
    body_bytes: int = 128
    timeout_ms: int = 3000

    def group_names(self) -> tuple[str, ...]:
        """The readers of the topics, by their names; a topic that no kind sends to is not there."""
        return tuple(topic for topic in (BOTH, ONE) if any(kind.topic == topic for kind in self.kinds))

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Of all producers together."""
        return self.rate_hz * len(self.kinds)

    def operations(self, topology: Topology, params: Parameters, seconds: float) -> float:
        """A send, its call and its consumption."""
        return 3 * self.messages_hz(topology, params) * seconds


@dataclass(frozen=True, kw_only=True)
class SendKinds(KindsOfSend):
    """Kinds of send of the Java client.

    ``poll_route_ms`` is the clients' period of routes and heartbeats; the default is longer than a trial, so that no route changes.
    """

    kinds: tuple[SendKind, ...] = KINDS
    poll_route_ms: int = 600_000
