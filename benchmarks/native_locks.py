"""At what pace does Python's own client renew its ordered locks? Seen from the broker's side.

Members of ``rocketmq`` 0.4.4 (the native library), each alone in its group, consume in order from a broker that logs no
renewal; so the requests are read where they arrive, off the loopback interface. A request for several queues is the lock
timer's, one for a single queue a rebalance's. A Java client renews every 20 s (ORDER-03), and the broker's lock lives
60 s. Needs root, for the packets.

    python benchmarks/native_locks.py [--release 4.6.0,5.3.3] [--members 10] [--seconds 110]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from harness.backends.cluster import ClusterSpec, create_topic, masters, namesrv_addresses
from harness.backends.local import start_local
from harness.clients.python.clients import CLIENTS
from harness.clients.python.install import ensure_python_client
from harness.leases.leases import Leases
from harness.model.cluster import Topology
from harness.model.rocketmq import LOCK_BATCH_MQ
from harness.releases.jars import recorded_releases
from harness.releases.java import Java, find_java

TOPIC, QUEUES = "mqlab-native-locks", 8
START_EVERY_S = 2.0
"""Members start one after another, so that their timers have different phases."""
SAME_S = 1.0
"""Requests of one member that come so close together are one renewal."""
ETH_P_IP, PACKET_OUTGOING = 0x0800, 4
"""linux/if_ether.h, linux/if_packet.h: on loopback each packet is seen going out and coming in."""
SO_ATTACH_FILTER = 26
"""asm-generic/socket.h; the filter's codes are those of linux/bpf_common.h."""

_LOCKING = re.compile(rb'"code"\s*:\s*%d\b' % LOCK_BATCH_MQ)
_GROUP = re.compile(rb'"consumerGroup"\s*:\s*"([^"]+)"')
_QUEUE = re.compile(rb'"queueId"\s*:')


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request for locks as it arrived at the broker."""

    at_s: float
    group: str
    queues: int


class Arrivals:
    """Requests for locks that arrive at a port, until it is stopped."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stopped = False
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        _only_to(self._socket, port)
        self._socket.bind(("lo", ETH_P_IP))
        self._socket.settimeout(0.2)
        self.requests: list[Request] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stopped = True
        self._thread.join()
        self._socket.close()

    def _read(self) -> None:
        while not self._stopped:
            try:
                packet, address = self._socket.recvfrom(1 << 17)
            except TimeoutError:
                continue
            if address[2] != PACKET_OUTGOING:
                self._note(_payload(packet, self._port))

    def _note(self, payload: bytes) -> None:
        if _LOCKING.search(payload) and (group := _GROUP.search(payload)):
            queues = len(_QUEUE.findall(payload))
            self.requests.append(Request(at_s=time.monotonic(), group=group[1].decode(), queues=queues))


def _only_to(packets: socket.socket, port: int) -> None:
    """Let the kernel drop what is not TCP to ``port``: all of loopback would be more than can be read here."""
    load_byte, load_half_at, load_header_bytes, equals, done = 0x30, 0x48, 0xB1, 0x15, 0x06
    program = (
        (load_byte, 0, 0, 9), (equals, 0, 4, socket.IPPROTO_TCP), (load_header_bytes, 0, 0, 0),
        (load_half_at, 0, 0, 2), (equals, 0, 1, port), (done, 0, 0, 1 << 18), (done, 0, 0, 0),
    )  # fmt: skip
    words = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    packets.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(words)))


def _payload(packet: bytes, port: int) -> bytes:
    """What a TCP packet to ``port`` carries; nothing of any other."""
    ip_bytes = (packet[0] & 0x0F) * 4
    if packet[9] != socket.IPPROTO_TCP or len(packet) < ip_bytes + 20:
        return b""
    (to_port,) = struct.unpack_from(">H", packet, ip_bytes + 2)
    return packet[ip_bytes + (packet[ip_bytes + 12] >> 4) * 4 :] if to_port == port else b""


def consume(namesrv: str, members: int, seconds: float, logs: str) -> None:
    """Be the members; runs in a process whose path has the native client. Its shutdown may hang: it leaves."""
    from rocketmq.client import PushConsumer
    from rocketmq.ffi import dll

    kept = []
    ends = time.monotonic() + seconds
    for number in range(members):
        consumer = PushConsumer(f"native-{number}", orderly=True)
        consumer.set_namesrv_addr(namesrv)
        dll.SetPushConsumerInstanceName(consumer._handle, f"native-{number}".encode())
        dll.SetPushConsumerLogPath(consumer._handle, logs.encode())
        consumer.subscribe(TOPIC, lambda _message: None)
        consumer.start()
        kept.append(consumer)
        time.sleep(START_EVERY_S)
    time.sleep(max(0.0, ends - time.monotonic()))
    os._exit(0)


def watched(release: str, options: argparse.Namespace, leases: Leases, java: Java, scratch: Path) -> list[Request]:
    """The requests of all members in one release."""
    spec = ClusterSpec(name="native-locks", release=release, topology=Topology(name="single"))
    cluster = start_local(spec, scratch / release, leases, java, until_s=options.seconds + 120)
    try:
        create_topic(cluster, TOPIC, read_queues=QUEUES, write_queues=QUEUES)
        arrivals = Arrivals(int(masters(cluster)[0].address.rpartition(":")[2]))
        member = leases.spawn(
            [sys.executable, str(Path(__file__).resolve()), "--consume", namesrv_addresses(cluster),
             "--members", str(options.members), "--seconds", str(options.seconds)],
            name="native members",
            until_s=options.seconds + 60,
            env={
                **os.environ,
                "HOME": str(scratch),
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), str(ensure_python_client("native"))]),
            },
        )  # fmt: skip
        deadline = time.monotonic() + options.seconds + 30
        while member.poll() is None and time.monotonic() < deadline:
            time.sleep(0.5)
        member.kill()
        arrivals.stop()
        return arrivals.requests
    finally:
        cluster.down()


def periods_s(requests: list[Request]) -> dict[str, list[float]]:
    """By member, the times from one renewal to the next."""
    found: dict[str, list[float]] = {}
    last: dict[str, float] = {}
    for request in (one for one in requests if one.queues > 1):
        since = request.at_s - last.get(request.group, request.at_s)
        if since >= SAME_S:
            found.setdefault(request.group, []).append(since)
        if since >= SAME_S or request.group not in last:
            last[request.group] = request.at_s
    return found


def main() -> int:
    """Print a line a release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default=",".join(recorded_releases()))
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--consume", metavar="NAMESRV", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.consume:
        consume(options.consume, options.members, options.seconds, os.environ["HOME"])
    if os.geteuid() != 0:
        print("skipped: only root may read packets")
        return 0
    java = find_java()
    print(f"{CLIENTS['native'].can.name}: {options.members} members for {options.seconds:g} s, {QUEUES} queues each")
    print(
        f"{'release':8} {'requests':>8} {'of one queue':>12} {'renewals':>8} {'period s: median':>16} {'min':>7} {'max':>7}"
    )
    with tempfile.TemporaryDirectory() as folder, Leases.open(Path(folder) / "state") as leases:
        for release in options.release.split(","):
            requests = watched(release, options, leases, java, Path(folder))
            alone = sum(one.queues == 1 for one in requests)
            all_s = sorted(period for each in periods_s(requests).values() for period in each)
            shown = f"{statistics.median(all_s):16.2f} {all_s[0]:7.2f} {all_s[-1]:7.2f}" if all_s else f"{'none':>16}"
            print(f"{release:8} {len(requests):8} {alone:12} {len(all_s):8} {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
