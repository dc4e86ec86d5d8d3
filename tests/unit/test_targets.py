from __future__ import annotations

from unittest import mock

import pytest

from harness.backends import cluster
from harness.errors import ConfigurationError, TargetNotAllowedError, UsageError
from harness.protocol.name_server import Route
from harness.protocol.targets import check_allowed, parse_networks


def test_loopback_is_allowed() -> None:
    check_allowed(["127.0.0.1:9876", "127.8.0.3:10911"])


@pytest.mark.parametrize("address", ["10.0.0.5:9876", "192.168.1.1:10911", "broker.example:10911", "8.8.8.8:80"])
def test_everything_else_is_refused(address: str) -> None:
    with pytest.raises(TargetNotAllowedError) as caught:
        check_allowed(["127.0.0.1:9876", address])
    assert "--allow-target" in caught.value.advice


def test_a_network_that_was_named_is_allowed_and_no_other() -> None:
    allowed = parse_networks(["10.1.0.0/16"])
    check_allowed(["10.1.2.3:9876", "127.0.0.1:1"], allowed)
    with pytest.raises(TargetNotAllowedError):
        check_allowed(["10.2.0.1:9876"], allowed)


def test_a_malformed_network_or_address_is_named() -> None:
    with pytest.raises(UsageError, match="allow-target"):
        parse_networks(["10.1.0.0/99"])
    with pytest.raises(ConfigurationError, match="HOST:PORT"):
        check_allowed(["127.0.0.1"])


class _NameServerThatPointsElsewhere:
    """Stands for any node: it takes the topic, and its route names a broker that is not on this machine."""

    def __enter__(self) -> _NameServerThatPointsElsewhere:
        return self

    def __exit__(self, *_: object) -> None: ...

    def create_topic(self, topic: str, *, read_queues: int, write_queues: int, order: bool) -> None: ...

    def route(self, topic: str) -> Route:
        return Route(addresses={"broker-a": {0: "192.168.1.9:10911"}}, write_queues={"broker-a": 8})


def test_a_route_that_leads_elsewhere_ends_the_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ask", "ask_name_server"):
        monkeypatch.setattr(cluster, name, lambda node, **_: _NameServerThatPointsElsewhere())
    nodes = [
        cluster.Node(name="namesrv-1", kind="namesrv", address="127.0.0.1:9876"),
        cluster.Node(name="broker-a", kind="broker", address="127.0.0.1:10911", broker_name="broker-a"),
    ]
    made = mock.create_autospec(cluster.Cluster, instance=True, nodes=nodes)
    with pytest.raises(TargetNotAllowedError, match=r"192\.168\.1\.9"):
        cluster.create_topic(made, "T", read_queues=8, write_queues=8)
