"""Brings a cluster up with a user's file that is full of addresses, and prints every packet's destination. Run by test_packets.py.

``python -m tests.root.packets RELEASE BACKEND FOLDER``, in a network namespace of its own. One JSON object: ``own`` are the places
of the lab's own nodes, ``asked`` those on loopback that a connection was begun to, or a datagram sent, ``left`` what went by any
other interface, each as ADDRESS:PORT.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from pathlib import Path

from harness.backends.choose import choose_backend
from harness.backends.cluster import ClusterSpec
from harness.backends.nodes import HOST, peers_of
from harness.leases.leases import Leases
from harness.model.cluster import Topology, UserSettings
from harness.releases.java import find_java
from tests.lib.border import LEADS_OUT_JVM, hostile_conf

STAYS_S = 15.0
"""What a broker does when it has been up for a while, it does within this time."""
ALL_PROTOCOLS, IPV4, TCP, UDP, SYN, ACK = 3, 0x0800, 6, 17, 0x02, 0x10


class Packets:
    """All packets of the namespace, as they are sent."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.left: set[str] = set()
        self._over = threading.Event()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
        self._socket.settimeout(0.5)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self) -> None:
        """Hear no more."""
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                packet, (interface, kind, *_) = self._socket.recvfrom(2048)
            except TimeoutError:
                continue
            place = _destination(packet, kind)
            if interface != "lo":
                self.left.add(place or f"a packet of kind {kind:#06x}")
            elif place:
                self.asked.add(place)


def _destination(packet: bytes, kind: int) -> str:
    """Of a packet that begins a connection or is a datagram; else empty."""
    ip = packet[14:]
    if kind != IPV4:
        return f"a packet of kind {kind:#06x}"
    protocol, header = ip[9], (ip[0] & 15) * 4
    (port,) = struct.unpack("!H", ip[header + 2 : header + 4])
    place = f"{socket.inet_ntoa(ip[16:20])}:{port}"
    if protocol == TCP:
        flags = ip[header + 13]
        return place if flags & SYN and not flags & ACK else ""
    return place if protocol == UDP else f"{socket.inet_ntoa(ip[16:20])}, protocol {protocol}"


def control() -> None:
    """One datagram that goes out, and one to loopback: that they would be heard."""
    packets = Packets()
    try:
        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            sender.sendto(b".", ("198.51.100.7", 9))
            sender.sendto(b".", ("127.0.0.9", 9))
        time.sleep(2.0)
    finally:
        packets.close()
    print(json.dumps({"asked": sorted(packets.asked), "left": sorted(packets.left)}))


def main() -> None:
    """See the module."""
    if sys.argv[1:] == ["control"]:
        return control()
    release, backend, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    user = UserSettings(broker=hostile_conf(), broker_jvm=LEADS_OUT_JVM)
    java = find_java()
    chosen = choose_backend(backend, "", (release,), java)
    spec = ClusterSpec(name="packets", release=release, topology=Topology(name="pair", slaves_per_master=1), user=user)
    packets = Packets()
    try:
        with Leases.open(folder / "state") as leases:
            cluster = chosen.start(spec, folder / "cluster", leases, until_s=600)
            try:
                time.sleep(STAYS_S)
                own = peers_of(cluster.nodes)
            finally:
                cluster.down()
    finally:
        packets.close()
    heard = {"own": sorted(own), "asked": sorted(packets.asked), "left": sorted(packets.left), "host": HOST}
    print(json.dumps({**heard, "named": sorted(cluster.overrides)}))
    return None


if __name__ == "__main__":
    main()
