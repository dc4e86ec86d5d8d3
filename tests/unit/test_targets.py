from __future__ import annotations

import pytest

from harness.errors import ConfigurationError, TargetNotAllowedError, UsageError
from harness.targets import check_allowed, parse_networks


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
