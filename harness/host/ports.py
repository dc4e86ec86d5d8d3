"""Ports of this host that nobody uses."""

import random
import socket
import threading
from collections import deque
from collections.abc import Sequence

from harness.errors import PortTakenError

PORTS_FIRST, PORTS_LAST = 21000, 31999
"""Below Linux's ephemeral ports, so that no outgoing connection takes one between our look and the broker's bind."""
CLAIMS_MAX = 200
BROKER_PORTS = (-2, 0, 1)
"""A broker also listens two below (fast port) and one above (HA) its listenPort."""

_PORTS = threading.Lock()
_ports_given: set[int] = set()
_claims: deque[socket.socket] = deque()
"""Of the ports given last: which no other process of the lab gives out until whoever asked for them listens."""


def free_port(offsets: Sequence[int] = (0,)) -> int:
    """A port of which every offset is free on all interfaces and was not given out before, here or by another lab.

    Raises PortTakenError when none is left.
    """
    with _PORTS:
        for _ in range(2000):
            port = random.randint(PORTS_FIRST, PORTS_LAST)
            wanted = {port + offset for offset in offsets}
            if not wanted & _ports_given and all(is_free(one) and _claim(one) for one in wanted):
                _ports_given.update(wanted)
                return port
    raise PortTakenError(
        f"no free port between {PORTS_FIRST} and {PORTS_LAST}", advice="End what listens there, then run again."
    )


def _claim(port: int) -> bool:
    """Claim a port before other processes of this network namespace; the kernel lets go of it when this process ends."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0mqlab-port-{port}")
    except OSError:
        claim.close()
        return False
    while len(_claims) >= CLAIMS_MAX:
        _claims.popleft().close()
    _claims.append(claim)
    return True


def take_port(port: int, offsets: Sequence[int] = (0,)) -> int:
    """The very port that a user asked for. Raises PortTakenError when it, or one that goes with it, is in use."""
    for offset in offsets:
        if not is_free(port + offset):
            raise PortTakenError(
                f"port {port + offset} is taken", advice="Choose another with --port, or end what listens there."
            )
    return port


def is_free(port: int) -> bool:
    """Whether nobody listens on a port, on any interface."""
    # On loopback alone it would not be seen that somebody listens on all of them.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
