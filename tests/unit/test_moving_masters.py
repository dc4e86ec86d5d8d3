"""A load's topic whose masters are others when it ends: who they are is asked of the route, each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from harness.errors import ClientError, TargetNotAllowedError, WaitTimeout
from harness.generator import target as targets
from harness.generator.target import Target
from harness.protocol.access import Access
from harness.protocol.name_server import Route
from harness.protocol.targets import LOOPBACK, Network, check_allowed

OLD, NEW = "127.0.0.1:10911", "127.0.0.1:10921"
FIRST, SECOND = "127.0.0.1:9876", "127.0.0.1:9877"
ORDERS = Target(
    namesrv=(FIRST, SECOND),
    topic="orders",
    allowed=LOOPBACK,
    brokers={"broker-a": OLD},
    queues={"broker-a": 2},
    read_queues={"broker-a": 2},
)


class _Asked:
    """A broker by its address: the ends of its queues, and what the group has committed in each."""

    ENDS: Mapping[str, Sequence[int]] = {OLD: (10, 10), NEW: (7, 12)}
    COMMITTED: Mapping[str, Sequence[int]] = {OLD: (0, 0), NEW: (9, 12)}

    def __init__(self, address: str, **_: object) -> None:
        self._address = address

    def __enter__(self) -> _Asked:
        return self

    def __exit__(self, *_: object) -> None: ...

    def max_offset(self, topic: str, queue: int) -> int:
        return self.ENDS[self._address][queue]

    def consumer_offset(self, group: str, topic: str, queue: int) -> int:
        return self.COMMITTED[self._address][queue]


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Route | ClientError]:
    """What each name server answers; it may be changed."""
    told: dict[str, Route | ClientError] = {}

    def read(namesrv: str, topic: str, allowed: Sequence[Network], access: Access) -> Route | None:
        answer = told[namesrv]
        if isinstance(answer, ClientError):
            raise answer
        check_allowed((one for by_id in answer.addresses.values() for one in by_id.values()), allowed)
        return answer

    monkeypatch.setattr(targets, "_read_route", read)
    monkeypatch.setattr(targets, "Broker", _Asked)
    return told


def _route(by_id: Mapping[int, str], **more: Mapping[int, str]) -> Route:
    return Route(addresses={"broker-a": by_id, **more})


def test_what_is_left_is_asked_of_who_is_master_now(routes: dict[str, Any]) -> None:
    routes[FIRST] = _route({0: OLD, 2: NEW})
    assert ORDERS.unconsumed("group") == 20
    routes[FIRST] = _route({0: NEW, 1: OLD})
    assert ORDERS.masters() == {"broker-a": NEW}
    assert ORDERS.unconsumed("group") == 0


def test_a_committed_offset_beyond_the_new_masters_end_leaves_nothing_and_hides_nothing(
    routes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    routes[FIRST] = _route({0: NEW})
    monkeypatch.setattr(_Asked, "COMMITTED", {NEW: (9, 10)})
    assert ORDERS.unconsumed("group") == 2


def test_a_name_server_that_is_gone_or_names_no_master_leaves_it_to_the_next_one(routes: dict[str, Any]) -> None:
    routes[SECOND] = _route({0: NEW})
    for first in (ClientError("cannot connect"), _route({-1: OLD}), Route()):
        routes[FIRST] = first
        assert ORDERS.masters() == {"broker-a": NEW}


def test_no_master_anywhere_is_said_and_waited_for(routes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    routes[FIRST] = routes[SECOND] = _route({-1: OLD})
    with pytest.raises(ClientError, match=r"9877 names no master of broker-a"):
        ORDERS.masters()
    monkeypatch.setattr(targets, "MASTER_S_MAX", 0.1)
    with pytest.raises(WaitTimeout, match="a master of broker-a"):
        ORDERS.wait_for_masters()


def test_a_master_that_is_not_allowed_is_refused_though_the_first_one_was(routes: dict[str, Any]) -> None:
    routes[FIRST] = _route({0: "192.168.1.9:10911"})
    with pytest.raises(TargetNotAllowedError):
        ORDERS.masters()


def test_a_broker_that_joins_later_is_none_of_the_loads(routes: dict[str, Any]) -> None:
    routes[FIRST] = _route({0: NEW}, **{"broker-b": {0: OLD}})
    assert ORDERS.masters() == {"broker-a": NEW}
