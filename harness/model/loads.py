"""What loads are asked to be; ``harness/load`` sends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class OrderedGroups:
    """Keyed ordered sends into one topic, consumed in order by several groups of two members each.

    The first member of every group (its *owner*) lives in one client process, the second (the *successor*) in another.
    Owners start one after another over ``owner_start_spread_s``, so that the phases of their lock renewals are spread,
    and are at least ``owner_age_s_min`` old when the fault comes. A successor is there already and has its half of the
    queues, or it is a *replacement* that joins when the fault has come and finds an owner that had all of them.

    An owner's listener works ``owner_work_ms`` on each message and does not heed an interruption, as a call of a database
    does. ``owner_settings`` are bean properties of its DefaultMQPushConsumer.
    """

    groups: int
    queues_per_broker: int = 8
    rate_per_queue_hz: float = 10.0
    owner_start_spread_s: float = 20.0
    owner_age_s_min: float = 0.0
    owner_properties: Mapping[str, str] = field(default_factory=dict)
    successor_properties: Mapping[str, str] = field(default_factory=dict)
    successor_joins: Literal["before", "after"] = "before"
    owner_work_ms: float = 0.0
    broadcasting: int = 0
    """Members in broadcasting mode, each in a group of its own, beside the others."""
    owner_settings: Mapping[str, int] = field(default_factory=dict)
    body_bytes: int = 128


@dataclass(frozen=True, kw_only=True)
class OpenLoopSends:
    """Asynchronous sends on a fixed schedule: operation i is due at start + i / rate, whatever happened before.

    The rate comes from the cell's parameter ``rate_hz``. Synchronous sends need as many ``threads`` as sends may be
    under way at once; one that finds none is late, which its record says.
    """

    queues: int = 8
    retries: int = 0
    send_timeout_ms: int = 10_000
    body_bytes: int = 128
    mode: Literal["async", "sync", "oneway"] = "async"
    threads: int = 1
    topic_on: Literal["all", "first", "last"] = "all"
    """Which of the masters have the topic."""
    attempts: bool = False
    """Record each attempt of a send with its broker, not only how the send ended."""
    readings: tuple[str, ...] = ()
    """What is read off the first master before the fault and after it, by the names of ``harness/load/readings.py``."""
    probes: tuple[str, ...] = ()
    """Requests to the first master beside the load, one after another: ``pull``, ``admin``, ``heartbeat``, and, in a topic
    of their own, ``send`` and ``delivery`` (a send until a pull gets what it sent)."""


@dataclass(frozen=True, kw_only=True)
class SteadyClients:
    """Normal synchronous sends and two consumers of one group, all the while.

    ``first_servers`` are the name servers, by index, that the producers and the first consumer are bound to, those of
    the second consumer are ``second_servers``; empty stands for all. Several producers share the rate; each has a route
    timer of its own, whose phase is drawn within its own part of the timer's period.
    """

    rate_hz: float = 10.0
    producers: int = 1
    retries: int = 2
    queues: int = 4
    body_bytes: int = 128
    first_servers: tuple[int, ...] = ()
    second_servers: tuple[int, ...] = ()
    groups: int = 1
    poll_route_ms: int = 30_000
    """``pollNameServerInterval`` of the clients."""


@dataclass(frozen=True, kw_only=True)
class FailingMessages:
    """``messages`` sends, of which every ``fail_every``-th fails at each consumption of it; 0 lets none fail.

    ``attempts_max`` is the consumer's maxReconsumeTimes, -1 its default; ``until`` ends the hold: at the first dead
    letters of all that fail, or when the phase's time is over.
    """

    messages: int = 60
    rate_hz: float = 20.0
    fail_every: int = 5
    ordered: bool = False
    attempts_max: int = -1
    until: Literal["dead letters", "time"] = "dead letters"
    groups: int = 1
    queues: int = 4
    body_bytes: int = 128


@dataclass(frozen=True, kw_only=True)
class QueueNumbers:
    """Normal sends into a topic whose numbers of write and read queues differ, consumed by groups of two members each.

    The topic lies on as many brokers as the cell's parameter ``brokers`` says. ``rate_per_queue_hz`` is that of a topic on
    one of them; a topic on several gets as many messages in all.
    """

    groups: int
    write_queues: int = 8
    read_queues: int = 8
    rate_per_queue_hz: float = 2.0
    body_bytes: int = 128

    @property
    def rate_hz(self) -> float:
        """Messages a second, on however many brokers."""
        return self.rate_per_queue_hz * self.write_queues


@dataclass(frozen=True, kw_only=True)
class KeyedSends:
    """Sends of several kinds side by side, each into a topic of its own that one group of two members consumes in order.

    ``hash`` takes a queue of those that the route has by the key's hash, ``strict`` does so with a route that a broker's
    absence does not change (an order topic), ``fixed`` sends a key to the queue that it was mapped to at first, and
    ``keyless`` lets the client choose. Every message carries its key all the same, so that order can be judged.
    """

    kinds: tuple[str, ...]
    queues_per_broker: int = 8
    keys: int = 97
    """Neither they nor the share of one thread a multiple of the number of queues: round robin would then put every key
    where it was before."""
    rate_hz: float = 48.5
    body_bytes: int = 128


Load = OrderedGroups | QueueNumbers | KeyedSends | OpenLoopSends | SteadyClients | FailingMessages
