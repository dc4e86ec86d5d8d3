"""Which addresses load and faults may go to: loopback, and more only when the user says so."""

import ipaddress
from collections.abc import Iterable, Sequence

from harness.errors import TargetNotAllowedError, UsageError
from harness.protocol.connection import split_address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def parse_networks(values: Iterable[str]) -> tuple[Network, ...]:
    """Loopback and the networks of ``--allow-target``. Raises UsageError when one is no network."""
    try:
        return (*LOOPBACK, *(ipaddress.ip_network(value) for value in values))
    except ValueError as error:
        raise UsageError(f"--allow-target: {error}", advice="Write it like 192.168.7.0/24.") from error


def check_allowed(addresses: Iterable[str], allowed: Sequence[Network] = LOOPBACK) -> None:
    """Check that every ``HOST:PORT`` lies in an allowed network. A name is refused, since what it means may change.

    Raises TargetNotAllowedError when one does not.
    """
    for address in addresses:
        host, _ = split_address(address)
        try:
            ip = ipaddress.ip_address(host)
        except ValueError:
            raise TargetNotAllowedError(
                f"{address} is not an allowed target: {host} is a name, and what it means may change",
                advice="Give its IP address, such as 127.0.0.1 for localhost; a broker is listed by its brokerIP1.",
            ) from None
        if not any(ip in network for network in allowed):
            raise TargetNotAllowedError(
                f"{address} is not an allowed target",
                advice="Only loopback is by default; name its network with --allow-target CIDR if you mean it.",
            )
