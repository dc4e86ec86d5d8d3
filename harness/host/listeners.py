"""Whether processes take the connections to an address of this host."""

from collections.abc import Iterable
from pathlib import Path

from harness.leases.elsewhere import ProcessElsewhere
from harness.leases.proc import ProcessId
from harness.leases.sockets import listeners, sockets_of
from harness.protocol.connection import split_address


def serve(processes: Iterable[ProcessId], address: str) -> bool | None:
    """Whether these processes, and no other one, take connections to ``HOST:PORT``. None where it cannot be seen.

    That is so where nobody listens there, as when packets are led elsewhere, where the processes have a network of their own, or
    where what they have open is not ours to look at.
    """
    processes = list(processes)
    elsewhere = [process for process in processes if isinstance(process, ProcessElsewhere)]
    if elsewhere:
        return elsewhere[0].serves(address) if len(processes) == 1 else None
    try:
        sockets = listeners(*split_address(address))
        own = set[str]()
        for process in processes:
            if Path(f"/proc/{process.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink():
                return None
            own |= sockets_of(process.pid)
    except (OSError, ValueError):
        return None
    return sockets <= own if sockets else None
