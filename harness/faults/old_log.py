"""An old part of a broker's commit log: files that are full of one topic's messages, to be read when they are in no memory.

It is written once a deployment, by batches, which the store takes apart into single messages. What is cold is said by the
kernel, of the files and of the image that their file system lies in.
"""

import bisect
import os
import shutil
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from harness.backends.cluster import RECORD_S_MAX, Cluster, Node, ask, create_topic
from harness.errors import ClientError, ConfigurationError
from harness.faults.targets import store_of
from harness.host.page_cache import evict, resident_bytes
from harness.model import rocketmq
from harness.protocol.broker import Broker, pull_fields, send_fields
from harness.wait import NotYet, wait_until

TOPIC, GROUP = "mqlab-old", "mqlab-old-readers"
BODY_BYTES, BATCH = 2048, 400
"""A batch stays well below maxMessageSize (4 MiB)."""
ROOM = 1.25
"""Of its length so much has to be free: the files that follow are made ahead of need."""
WRITE_S_MAX = 120.0
REFUSED_S = 0.05

_PLACE_BYTE = 28
"""Where a stored message has its place in the commit log (``MessageDecoder.MESSAGE_PHYSIC_OFFSET_POSITION``)."""


@dataclass(frozen=True, kw_only=True)
class OldLog:
    """The first ``messages`` of the topic's one queue, by their offsets from 0; they fill ``files`` but for the ends."""

    files: tuple[Path, ...]
    image: Path
    messages: int

    def make_cold(self, pid: int) -> float:
        """Put it out of every memory, that of the broker ``pid``, too; the share of it that is in none then.

        Whatever the image still has in memory is taken to be of it. Raises LeaseError.
        """
        evict(self.files, pid)
        evict([self.image], pid)
        in_memory = sum(map(resident_bytes, (*self.files, self.image)))
        return max(0.0, 1 - in_memory / sum(file.stat().st_size for file in self.files))


def old_log(cluster: Cluster, broker: Node, mebibytes: int) -> OldLog:
    """The broker's, which is written unless it is there. Raises ConfigurationError, ClientError, WaitTimeout."""
    store = store_of(broker)
    wanted = max(1, mebibytes * 2**20 // BODY_BYTES)
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        if (there := connection.max_offset(TOPIC, 0)) < wanted:
            _check_room(broker, mebibytes)
            create_topic(cluster, TOPIC, read_queues=1, write_queues=1, on=[broker])
            _write(connection, wanted - there)
            wait_until("the old log's last message", lambda: _has(connection, wanted), timeout_s=WRITE_S_MAX)
        first, last = (_place(connection, offset) for offset in (0, wanted - 1))
        files = _full_files(store.mountpoint / "commitlog", first, last)
        if not files:
            raise ConfigurationError(
                f"an old log of {mebibytes} MiB fills no file of {broker.name}'s commit log",
                advice="Ask for one that is longer than two files (old_mb, mappedFileSizeCommitLog).",
            )
        end = int(files[-1].name) + files[-1].stat().st_size
        messages = bisect.bisect_left(range(wanted), end, key=lambda offset: _place(connection, offset))
    return OldLog(files=files, image=store.image, messages=messages)


def _check_room(broker: Node, mebibytes: int) -> None:
    free_mb = shutil.disk_usage(store_of(broker).mountpoint).free / 2**20
    if free_mb < ROOM * mebibytes:
        raise ConfigurationError(
            f"an old log of {mebibytes} MiB has no room in the store of {broker.name}, where {free_mb:.0f} MiB are free",
            advice="Ask for a shorter one (old_mb).",
        )


def batch_of(body: bytes, count: int) -> bytes:
    """So many messages as a batch has them (``MessageDecoder.encodeMessage``).

    Each is its length, three numbers that the broker does not read (magic, checksum, flag), the body after its length, and the
    length of its properties, which are none.
    """
    return struct.pack(f">iiiii{len(body)}sh", 22 + len(body), 0, 0, 0, len(body), body, 0) * count


def _write(connection: Broker, messages: int) -> None:
    batch = batch_of(os.urandom(BODY_BYTES), BATCH)
    fields = {**send_fields(TOPIC, 0), "batch": "true"}
    deadline = time.monotonic() + WRITE_S_MAX
    for _ in range(-(-messages // BATCH)):
        while (answer := connection.ask(rocketmq.SEND_MESSAGE, fields, batch)).code != rocketmq.SUCCESS:
            # A pool that is short of buffers, or a disk that is behind, takes it a little later.
            if time.monotonic() > deadline:
                raise ClientError(f"{connection.address} does not take the old log: {answer.code} {answer.remark}")
            time.sleep(REFUSED_S)


def _has(connection: Broker, messages: int) -> bool:
    if (end := connection.max_offset(TOPIC, 0)) < messages:
        raise NotYet(f"{end} of {messages} can be read")
    return True


def _place(connection: Broker, offset: int) -> int:
    """Where a message lies in the commit log."""
    found = connection.call(rocketmq.PULL_MESSAGE, pull_fields(GROUP, TOPIC, 0, offset))
    (place,) = struct.unpack_from(">Q", found.body, _PLACE_BYTE)
    return int(place)


def _full_files(folder: Path, first: int, last: int) -> tuple[Path, ...]:
    """The commit log's files, each named for the place of its first byte, that end at ``last`` at the latest, from that on
    which holds ``first``."""
    files = sorted(path for path in folder.iterdir() if path.name.isdecimal())
    ends = {path: int(path.name) + path.stat().st_size for path in files}
    return tuple(path for path in files if first < ends[path] <= last)
