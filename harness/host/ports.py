"""Ports of this host that nobody uses."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Sequence

from harness.errors import PortTakenError

PORTS_FIRST, PORTS_LAST = 21000, 31999
"""Below Linux's ephemeral ports, so that no outgoing connection takes one between our look and the broker's bind."""
BROKER_PORTS = (-2, 0, 1)
"""A broker also listens two below (fast port) and one above (HA) its listenPort."""

_PORTS = threading.Lock()
_ports_given: set[int] = set()


def free_port(offsets: Sequence[int] = (0,)) -> int:
    """A port of which every offset is free on all interfaces and was not given out by this process before.

    Raises:
        PortTakenError: none is left.
    """
    with _PORTS:
        for _ in range(2000):
            port = random.randint(PORTS_FIRST, PORTS_LAST)
            wanted = {port + offset for offset in offsets}
            if not wanted & _ports_given and all(is_free(candidate) for candidate in wanted):
                _ports_given.update(wanted)
                return port
    raise PortTakenError(
        f"no free port between {PORTS_FIRST} and {PORTS_LAST}", advice="End what listens there, then run again."
    )


def take_port(port: int, offsets: Sequence[int] = (0,)) -> int:
    """The very port that a user asked for.

    Raises:
        PortTakenError: it, or one that goes with it, is in use.
    """
    for offset in offsets:
        if not is_free(port + offset):
            raise PortTakenError(
                f"port {port + offset} is taken", advice="Choose another with --port, or end what listens there."
            )
    return port


def is_free(port: int) -> bool:
    """Whether nobody listens on a port, on any interface."""
    # A broker of 4.6.0 binds every interface whatever is configured, so every interface must be free.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
