"""The target of a load: name servers, and the topic's queues on the brokers that they list. Every address is checked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.backends.cluster import RECORD_S_MAX
from harness.errors import ClientError, ReleaseError, UsageError
from harness.model.rocketmq import version_of
from harness.protocol.access import OPEN, Access
from harness.protocol.broker import Broker
from harness.protocol.name_server import NameServer, Route
from harness.protocol.targets import Network, check_allowed
from harness.releases.central import version_key
from harness.releases.jars import ensure_jars, recorded_releases
from harness.rundir.events import EventLog, Moment
from harness.wait import NotYet, patience, wait_until

ROUTE_S_MAX = 60.0
MASTER_S_MAX = 60.0
"""For a master at the end of a load: a controller's brokers have one again within some 20 s."""
_LOOK = "mqlab audit says what its name servers and brokers tell."


@dataclass(frozen=True, kw_only=True)
class Target:
    """A topic on a cluster. ``brokers`` are the addresses, by broker name, of those that were masters when it was found, and
    ``masters`` says who they are now; ``queues`` are their queues of the topic to write to, ``read_queues`` those to read from."""

    namesrv: tuple[str, ...]
    topic: str
    allowed: tuple[Network, ...]
    brokers: Mapping[str, str]
    queues: Mapping[str, int]
    read_queues: Mapping[str, int]
    access: Access = OPEN

    @property
    def namesrv_list(self) -> str:
        """The name servers as a client wants them, separated by semicolons."""
        return ";".join(self.namesrv)

    def release(self) -> str:
        """The release that a broker tells, or where that cannot be had the newest recorded one that is not newer."""
        name, address = next(iter(self.brokers.items()))
        with Broker(address, name=name, access=self.access) as connection:
            told = connection.runtime_info().get("brokerVersionDesc", "")
        return release_near(version_of(told))

    def check(self) -> None:
        """Ask the name servers again, and refuse when any of them lists an address that is not allowed.

        Raises:
            TargetNotAllowedError: one does.
        """
        for namesrv in self.namesrv:
            try:
                _read_route(namesrv, self.topic, self.allowed, self.access)
            except ClientError:
                continue  # A name server that does not answer tells clients nothing either.

    def masters(self) -> dict[str, str]:
        """Who is master now, by broker name: of those that it was found with, as the topic's route names them.

        Raises:
            ClientError: no name server answers, or the route names no master of one.
            TargetNotAllowedError: it names an address that is not allowed.
        """
        failure: ClientError | None = None
        for namesrv in self.namesrv:
            try:
                route = _read_route(namesrv, self.topic, self.allowed, self.access) or Route()
            except ClientError as error:
                failure = error
                continue
            found = {name: by_id[0] for name, by_id in route.addresses.items() if name in self.queues and 0 in by_id}
            if lacking := sorted(self.queues.keys() - found.keys()):
                failure = ClientError(f"the route of {self.topic} on {namesrv} names no master of {', '.join(lacking)}")
                continue
            return found
        raise failure or ClientError(f"there is no name server to ask for the route of {self.topic}")

    def wait_for_masters(self, cancel: threading.Event | None = None) -> dict[str, str]:
        """``masters``, once there is one of each: an election takes its time. Raises WaitTimeout."""

        def known() -> dict[str, str]:
            with patience():
                return self.masters()

        return wait_until(
            f"a master of {', '.join(self.queues)}", known, timeout_s=MASTER_S_MAX, poll_s=0.5, cancel=cancel
        )

    def unconsumed(self, group: str) -> int:
        """Messages that the group has not committed yet, by the counts of those that are masters now.

        A new master may end below what the group has committed: nothing is left of that queue then.
        """
        left = 0
        for name, address in self.masters().items():
            with Broker(address, name=name, timeout_s=RECORD_S_MAX, access=self.access) as connection:
                for queue in range(self.queues[name]):
                    done = connection.consumer_offset(group, self.topic, queue) or 0
                    left += max(0, connection.max_offset(self.topic, queue) - done)
        return left

    def record_ends(self, events: EventLog, group: str | None, moment: Moment) -> None:
        """Record every queue's offsets, and the group's in it, as those have them that are masters now.

        Raises WaitTimeout: one has no master.
        """
        for name, address in self.wait_for_masters().items():
            with Broker(address, name=name, timeout_s=RECORD_S_MAX, access=self.access) as connection:
                for queue in range(self.queues[name]):
                    events.record(
                        "store_max",
                        topic=self.topic,
                        broker=name,
                        queue=queue,
                        min_offset=connection.min_offset(self.topic, queue),
                        max_offset=connection.max_offset(self.topic, queue),
                        group=group,
                        consumer_offset=connection.consumer_offset(group, self.topic, queue) if group else None,
                        moment=moment,
                    )


def release_near(version: tuple[int, ...]) -> str:
    """The release of that version, learned if need be, or the newest recorded one that is not newer, or the oldest."""
    same = ".".join(map(str, version))
    with contextlib.suppress(UsageError, ReleaseError):
        if version and ensure_jars(same):
            return same
    recorded = recorded_releases()
    fitting = [release for release in recorded if version_key(release) <= version]
    return (fitting or recorded[:1])[-1]


def find_target(
    namesrv: Sequence[str],
    topic: str,
    *,
    allowed: Sequence[Network],
    create_queues: int | None,
    access: Access = OPEN,
) -> Target:
    """Read where the topic lives. ``create_queues`` makes it with so many queues a broker where it does not exist.

    Raises:
        TargetNotAllowedError: a name server or broker lies outside of what is allowed; nothing was sent to it.
        UsageError: the topic does not exist and was not to be made.
        ClientError: a name server or broker does not answer, or no master is there.
        AccessDeniedError: a broker asks for keys, or does not let these make the topic.
    """
    check_allowed(namesrv, allowed)
    route = _read_route(namesrv[0], topic, allowed, access)
    if route is None and create_queues is None:
        raise UsageError(
            f"{namesrv[0]} has no route of topic {topic}",
            advice="Name one with --topic, or let it be made with --create-topic QUEUES.",
        )
    if route is None:
        assert create_queues is not None
        _create(namesrv, topic, create_queues, allowed, access)
        route = _read_route(namesrv[0], topic, allowed, access) or Route()
    brokers = {name: by_id[0] for name, by_id in route.addresses.items() if 0 in by_id}
    if not brokers:
        raise ClientError(f"no broker of {topic} takes sends: its route on {namesrv[0]} names no master", advice=_LOOK)
    return Target(
        namesrv=tuple(namesrv),
        topic=topic,
        allowed=tuple(allowed),
        brokers=brokers,
        queues={name: count for name, count in route.write_queues.items() if name in brokers},
        read_queues={name: count for name, count in route.read_queues.items() if name in brokers},
        access=access,
    )


def _read_route(namesrv: str, topic: str, allowed: Sequence[Network], access: Access) -> Route | None:
    with NameServer(namesrv, access=access) as connection:
        listed = connection.cluster_brokers()
        check_allowed((address for by_id in listed.values() for address in by_id.values()), allowed)
        route = connection.route(topic)
    if route is not None:
        check_allowed((address for by_id in route.addresses.values() for address in by_id.values()), allowed)
    return route


def _create(namesrv: Sequence[str], topic: str, queues: int, allowed: Sequence[Network], access: Access) -> None:
    with NameServer(namesrv[0], access=access) as server:
        masters = {name: by_id[0] for name, by_id in server.cluster_brokers().items() if 0 in by_id}
    if not masters:
        raise ClientError(f"{namesrv[0]} lists no broker that takes sends", advice=_LOOK)
    for name, address in masters.items():
        with Broker(address, name=name, access=access) as broker:
            broker.create_topic(topic, read_queues=queues, write_queues=queues)

    def listed_everywhere() -> bool:
        for one in namesrv:
            try:
                route = _read_route(one, topic, allowed, access) or Route()
            except ClientError as error:  # 4.6.0's name server fails to write a route that is changing right now
                raise NotYet(str(error)) from error
            if set(route.write_queues) != set(masters):
                raise NotYet(f"{one} lists {dict(route.write_queues)}")
        return True

    wait_until(f"the route of {topic}", listed_everywhere, timeout_s=ROUTE_S_MAX)
