"""Groups whose members differ: by the names of their clients, or by what they subscribe to."""

from dataclasses import dataclass
from typing import Literal

from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.loads import LoadValue

IN_A_CONTAINER = "(in a container)"
"""For the name of a client: what its release calls it by itself in a container, where a process has the id 1."""
PROCESSES = ("first", "second")
"""Of the client processes, which hold a member of each group at most."""
KEY_PREFIX = "tag"
"""Tags are ``tag0``, ``tag1`` and so on."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A push consumer: the expression of its subscription, which topic that is of, and the instance name of its client.

    Members of one process and one name share their client, as those of an application do. An empty name: one of its own.
    """

    tags: str = "*"
    topic: int = 0
    client_name: str = ""


@dataclass(frozen=True, kw_only=True)
class GroupMembers(LoadValue):
    """Normal sends, and groups of one or two concurrent members, each in a process of its own.

    Every group has all ``members``, or each has one of them in turn (``is_apart``). Each of the ``topics`` gets ``rate_hz``. The
    messages of a topic take ``tags`` tags by chance, each as often as any other; 0: none. Every ``fail_every``-th message fails at
    each consumption (0: none), ``retries`` times after the first.
    """

    processes = len(PROCESSES)

    members: tuple[Member, ...]
    groups: int = 8
    is_apart: bool = False
    topics: int = 1
    tags: int = 0
    rate_hz: float = 20.0
    fail_every: int = 0
    retries: int = 3
    heartbeat_ms: int = 30_000
    """``heartbeatBrokerInterval`` of the members, by which they also tell brokers their subscriptions."""
    start_spread_s: float = 0.0
    """Members start one after another over so many seconds, which spreads the phases of their timers. Where they do, the steady
    phase lasts until every group has consumed from every queue."""
    keeps_route: Literal["nobody", "producer", "all"] = "nobody"
    """Whose clients never ask for their route again. One that asks while a broker is away leaves it out until it asks once more."""
    members_release: str = ""
    """Of the client processes, where it is not the trial's."""
    queues: int = 4
    """Of each topic on each master."""
    body_bytes: int = 128

    def members_of(self, group: int) -> tuple[tuple[str, Member], ...]:
        """Those of the group of this number, each with its process."""
        all_of_them = tuple(zip(PROCESSES, self.members, strict=False))
        return (all_of_them[group % len(all_of_them)],) if self.is_apart else all_of_them

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Into all topics."""
        return self.rate_hz * self.topics
