"""Every kind of send of Python's own clients, side by side: what the load of send-retries-python is made of.

What is said of the native library is by the source of rocketmq-client-cpp 1.2.3, whose words and functions the library has that
``rocketmq`` 0.4.4 brings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from harness.model.send_kinds import BOTH, ONE, KindOfSend, KindsOfSend

Client = Literal["native", "rocketmq-client-python"]
"""By their names for ``--client``: ``rocketmq`` 0.4.4, and rocketmq-client-python 2.0.0 on the library of that one."""

CLIENT_NAMES: dict[Client, str] = {
    "native": "rocketmq 0.4.4",
    "rocketmq-client-python": "rocketmq-client-python 2.0.0",
}

RETRIES = {None: "own", 0: "none", 3: "three"}
"""In words: what a producer does by itself, which Python cannot set, or what ``send_orderly`` is told. Three is its default."""
THREADS = 3
"""Each thread has a producer of its own: several on one fail now and then for no reason of a broker's."""

ROUTES_FIRST_S, ROUTES_S = 3.0, 30.0
"""When a producer asks for its routes after its start, and how often from then on (``MQClientFactory::startScheduledTask`` and
``updateTopicRouteInfo``). Nothing sets it."""
GONE_S = ROUTES_S + 3.0
"""From when a broker is gone from the routes to when every producer has asked for them."""


@dataclass(frozen=True, kw_only=True)
class PythonSendKind(KindOfSend):
    """The sends of the producers of one client, of which each thread has one."""

    client: Client
    retries: int | None = None
    """What ``send_orderly`` is told; None where a send takes no such argument."""

    @property
    def threads(self) -> int:
        """The same of all kinds."""
        return THREADS

    @property
    def name(self) -> str:
        """``normal-sync-own-off-both-native``. The library has a way around brokers that fail, which Python cannot switch on."""
        return f"{self.route}-{self.mode}-{RETRIES[self.retries]}-off-{self.topic}-{self.client}"


def all_kinds() -> Iterator[PythonSendKind]:
    """What each client offers: on both masters, and where there are retries on a topic without another broker, too."""
    for topic in (BOTH, ONE):
        yield PythonSendKind(client="native", route="normal", mode="sync", topic=topic)
    yield PythonSendKind(client="native", route="normal", mode="async")
    yield PythonSendKind(client="native", route="normal", mode="oneway")
    yield PythonSendKind(client="native", route="selector", mode="sync", retries=0)
    for topic in (BOTH, ONE):
        yield PythonSendKind(client="native", route="selector", mode="sync", retries=3, topic=topic)
    yield PythonSendKind(client="native", route="selector", mode="oneway")
    for topic in (BOTH, ONE):
        yield PythonSendKind(client="rocketmq-client-python", route="normal", mode="sync", topic=topic)
    yield PythonSendKind(client="rocketmq-client-python", route="normal", mode="oneway")
    # Its library has no send by key; the lab makes it of the one with a selector, which it tells to try no further.
    yield PythonSendKind(client="rocketmq-client-python", route="selector", mode="sync", retries=0)


PYTHON_KINDS = tuple(all_kinds())


@dataclass(frozen=True, kw_only=True)
class PythonSendKinds(KindsOfSend):
    """Kinds of send of Python's clients, each client in a process of its own; a consumer of Java's reads the stores."""

    kinds: tuple[PythonSendKind, ...] = PYTHON_KINDS
    keys: int = 2 * THREADS

    def client_of(self, release: str) -> str:
        """Those that send, by their names."""
        used = {kind.client for kind in self.kinds}
        return " and ".join(name for client, name in CLIENT_NAMES.items() if client in used)
