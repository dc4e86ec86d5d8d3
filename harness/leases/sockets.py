"""Which sockets of this host take connections to an address, and whose they are, as Linux's /proc tells it (tcp(7), proc(5)).

Standard library only: the healer process imports this.
"""

import ipaddress
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
OWN_NETWORK = _PROC / "net"
_ESTABLISHED, _LISTEN = "01", "0A"
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
End = tuple[str, int]
"""Host and port."""


@dataclass(frozen=True, kw_only=True)
class TcpSocket:
    """A line of /proc/net/tcp or tcp6. ``inode`` is "0" until the connection has been accepted. IPv4 is written as such, also where
    a socket of IPv6 takes it."""

    local: tuple[_Address, int]
    remote: tuple[_Address, int]
    state: str
    inode: str


def listeners(host: str, port: int) -> set[str]:
    """The inodes of the sockets that a connection to the address may come to; of several nobody knows which one gets it.

    One that is bound to the address itself has it before those of all addresses, and of those one of the address's own kind.

    Raises:
        OSError, ValueError: it cannot be seen, or the host is a name.
    """
    return taking(_sockets(OWN_NETWORK), host, port)


def taking(all_sockets: Iterable[TcpSocket], host: str, port: int) -> set[str]:
    """``listeners`` of the sockets of any network. Raises ValueError."""
    wanted = ipaddress.ip_address(host)
    exactly, of_its_kind, of_any_kind = set[str](), set[str](), set[str]()
    for one in all_sockets:
        bound, at = one.local
        if one.state != _LISTEN or at != port:
            continue
        if bound == wanted:
            exactly.add(one.inode)
        elif bound.is_unspecified and bound.version == wanted.version:
            of_its_kind.add(one.inode)
        elif bound.is_unspecified and wanted.version == 4:
            of_any_kind.add(one.inode)
    return exactly or of_its_kind or of_any_kind


def other_end(here: End, there: End) -> set[str]:
    """The inode of the socket at which a connection of this host's ends, by the addresses of ours and of the other one.

    Empty where it is no socket of this network, or has not been accepted. Raises OSError and ValueError.
    """
    return ending(_sockets(OWN_NETWORK), here, there)


def ending(all_sockets: Iterable[TcpSocket], here: End, there: End) -> set[str]:
    """``other_end`` among the sockets of any network. Raises ValueError."""
    ours, theirs = ((ipaddress.ip_address(host), port) for host, port in (here, there))
    return {
        one.inode
        for one in all_sockets
        if (one.local, one.remote, one.state) == (theirs, ours, _ESTABLISHED) and one.inode != "0"
    }


def connections(pid: int, port: int) -> set[TcpSocket]:
    """Accepted connections to a port in a process's network. Raises OSError and ValueError."""
    return {
        one
        for one in _sockets(_PROC / str(pid) / "net")
        if one.state == _ESTABLISHED and one.local[1] == port and one.inode != "0"
    }


def sockets_of(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open. Raises OSError where that is not ours to look at."""
    return set(_open_sockets(pid))


def owners(inodes: Collection[str]) -> Mapping[str, set[int]]:
    """Who has these sockets open, as pids by inode. Those of other users are not seen."""
    found: dict[str, set[int]] = {inode: set() for inode in inodes}
    for pid in [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]:
        try:
            own = sockets_of(pid) & found.keys()
        except OSError:
            continue
        for inode in own:
            found[inode].add(pid)
    return found


def _sockets(network: Path) -> Iterator[TcpSocket]:
    # A kernel without IPv6 has one table alone.
    for table in (path for path in (network / "tcp", network / "tcp6") if path.exists()):
        for line in table.read_text().splitlines()[1:]:
            words = line.split()
            yield read_socket(words[1], words[2], words[3], words[9])


def read_socket(local: str, remote: str, state: str, inode: str) -> TcpSocket:
    """Of the words of a line. Raises ValueError."""
    return TcpSocket(local=_end(local), remote=_end(remote), state=state, inode=inode)


def _end(text: str) -> tuple[_Address, int]:
    """Words of 32 bits as this host has them, and the port; an address of IPv4 may be written as one of IPv6."""
    host, _, port = text.partition(":")
    words = [bytes.fromhex(host[first : first + 8]) for first in range(0, len(host), 8)]
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    found = ipaddress.ip_address(packed)
    return getattr(found, "ipv4_mapped", None) or found, int(port, 16)


def _open_sockets(pid: int) -> Iterator[str]:
    for handle in (_PROC / str(pid) / "fd").iterdir():
        try:
            target = str(handle.readlink())
        except FileNotFoundError:
            continue  # It was closed meanwhile.
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")
