from __future__ import annotations

from unittest import mock

import pytest

from harness.backends import cluster
from harness.errors import ClientError, ConfigurationError, TargetNotAllowedError, UsageError
from harness.protocol.connection import Connection, split_address
from harness.protocol.name_server import Route
from harness.protocol.targets import check_allowed, parse_networks


def test_loopback_is_allowed() -> None:
    check_allowed(["127.0.0.1:9876", "127.8.0.3:10911", "[::1]:9876"])


@pytest.mark.parametrize("address", ["10.0.0.5:9876", "192.168.1.1:10911", "[fe80::1]:10911", "8.8.8.8:80"])
def test_everything_else_is_refused(address: str) -> None:
    with pytest.raises(TargetNotAllowedError) as caught:
        check_allowed(["127.0.0.1:9876", address])
    assert "--allow-target" in caught.value.advice


@pytest.mark.parametrize("address", ["localhost:9876", "broker.example:10911"])
def test_a_name_is_refused_with_the_way_out_whatever_network_is_allowed(address: str) -> None:
    for networks in ((), ("0.0.0.0/0",)):
        with pytest.raises(TargetNotAllowedError, match="is a name") as caught:
            check_allowed([address], parse_networks(networks))
        assert caught.value.advice.startswith("Give its IP address")
        assert "--allow-target" not in caught.value.advice


def test_the_brackets_of_an_address_are_no_part_of_it() -> None:
    assert split_address("[::1]:9876") == ("::1", 9876)
    for wrong in ("[::1:9876", "::1]:9876", "[]:9876", "[::1]"):
        with pytest.raises(ConfigurationError, match="HOST:PORT"):
            split_address(wrong)
    # Nobody listens there, which is what is said, and not that there is no such name.
    with pytest.raises(ClientError, match=r"cannot connect to \[::1\]:1: .*(refused|[Aa]ddress)"):
        Connection("[::1]:1", timeout_s=1.0)


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
