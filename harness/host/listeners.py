"""Who takes connections to an address of this host, as the kernel has it in /proc/net (tcp(7), proc(5))."""

import ipaddress
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.leases.proc import ProcessId
from harness.protocol.connection import split_address

_LISTEN = "0A"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def serve(processes: Iterable[ProcessId], address: str) -> bool | None:
    """Whether these processes, and no other one, take connections to ``HOST:PORT``. None where it cannot be seen.

    That is so where nobody listens there, as when packets are led elsewhere, where the processes have a network of their own, or
    where what they have open is not ours to look at.
    """
    try:
        sockets = _sockets_at(address)
        own = set[str]()
        for process in processes:
            if Path(f"/proc/{process.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink():
                return None
            own |= set(_sockets_of(process.pid))
    except (OSError, ValueError):
        return None
    return sockets <= own if sockets else None


def _sockets_at(address: str) -> set[str]:
    """The listening sockets by their inodes: those of this address, without any those of all addresses."""
    host, port = split_address(address)
    wanted = ipaddress.ip_address(host)
    exactly, anywhere = set(), set()
    # A kernel without IPv6 has one table alone.
    for table in sorted(Path("/proc/net").glob("tcp*")):
        for line in table.read_text().splitlines()[1:]:
            words = line.split()
            at, _, number = words[1].partition(":")
            if words[3] == _LISTEN and int(number, 16) == port:
                bound = _address(at)
                if bound == wanted:
                    exactly.add(words[9])
                elif bound.is_unspecified:
                    anywhere.add(words[9])
    return exactly or anywhere


def _address(text: str) -> _Address:
    """Words of 32 bits as this host has them; one of IPv4 may be written as one of IPv6."""
    words = [bytes.fromhex(text[first : first + 8]) for first in range(0, len(text), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    found = ipaddress.ip_address(packed)
    return getattr(found, "ipv4_mapped", None) or found


def _sockets_of(pid: int) -> Iterator[str]:
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(handle.readlink())
        except FileNotFoundError:
            continue  # It was closed meanwhile.
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")
