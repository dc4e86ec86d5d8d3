"""Producers that avoid brokers, or do not: the loads of broker-slow, of broker-killed and of the incidents of outages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.loads import LoadValue, LocustUsers, OfARelease


@dataclass(frozen=True, kw_only=True)
class Avoider:
    """One producer of :class:`AvoidingProducers`. What befalls one of its sends, and where its normal sends go after that.

    One send to the first master is held up for ``slow_ms`` (with ``second_slow_ms`` one to the second master before that). It is
    one of the ``normal`` sends; or one of another topic, which the first master alone has: sent to a ``fixed`` queue, or
    ``alone``, by normal synchronous sends that go on. ``timeout_ms`` is that of every send.
    """

    name: str
    slow_ms: float = 0.0
    second_slow_ms: float = 0.0
    slow_is: Literal["normal", "fixed", "alone"] = "normal"
    mode: Literal["sync", "async"] = "sync"
    avoidance: bool = True
    """``sendLatencyFaultEnable``."""
    queues: int = 1
    """On each master. With one of them every second send goes to the first master."""
    timeout_ms: int = 60_000
    retries: int = 0
    threads: int = 1
    durations_ms: tuple[int, ...] = ()
    """``notAvailableDuration``, by the client's own setter; empty: the release's own."""
    settings: Mapping[str, int | bool] = field(default_factory=dict)
    """Further bean properties of the producer by name, from its start on."""


@dataclass(frozen=True, kw_only=True)
class AvoidingProducers(OfARelease, LoadValue):
    """Producers side by side, each with a client, a topic and a table of its own.

    ``poll_route_ms`` is the period in which they ask for their routes. A route that is asked for anew leaves out a broker that is
    gone, and brings back queues that a client has changed; by default they never ask again.
    """

    no_boots_meanwhile: ClassVar[bool] = True
    core_share: ClassVar[float] = 0.6
    producers: tuple[Avoider, ...]
    rate_hz: float = 4.0
    """Of each of them."""
    poll_route_ms: int = 3_600_000
    locust: LocustUsers | None = None
    body_bytes: int = 128
    readings: tuple[str, ...] = ()
    """What is read off the release's code, by the names of ``harness/load/readings.py``."""

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """Of all producers together."""
        return self.rate_hz * len(self.producers)
