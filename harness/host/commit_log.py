"""What the files of a broker's commit log hold, read while no broker runs on them.

The layout is that of ``org.apache.rocketmq.store.CommitLog.checkMessageAndReturnSize`` in 4.6.0 to 5.5.0: size, magic code, and
the fields of a message one after another; addresses have 8 bytes or, by two bits of the system flag, 20; since 5.x a topic may
have a length of two bytes, which a second magic code says. A third one ends a file.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

_HEAD = struct.Struct(">iI4xi4xqqi")
"""Size, magic code, queue, queue offset, place in the log, system flag; the check sum and a flag of the sender's left out."""
_MESSAGE, _MESSAGE_V2, _END_OF_FILE = 0xDAA320A7, 0xDAA320AB, 0xCBD43194
_BORN_V6, _STORED_V6 = 1 << 4, 1 << 5
_AFTER_FLAG = 8 + 8 + 4 + 8
"""The two times, how often it was consumed, and the place of the half message."""


def queue_ends(folder: Path, topic: str) -> dict[int, int]:
    """The next offset of each of a topic's queues, by the messages that are in the log's files up to the first gap."""
    ends: dict[int, int] = {}
    for queue, offset, name in _messages(folder):
        if name == topic:
            ends[queue] = max(ends.get(queue, 0), offset + 1)
    return ends


def _messages(folder: Path) -> Iterator[tuple[int, int, str]]:
    """Queue, offset in it and topic of each message, up to the first gap: a recovery keeps nothing of what lies beyond it."""
    for path in sorted(path for path in folder.iterdir() if path.stat().st_size):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            at = 0
            while at + _HEAD.size <= len(log):
                size, magic, queue, offset, place, flag = _HEAD.unpack_from(log, at)
                if magic == _END_OF_FILE:
                    break
                if magic not in (_MESSAGE, _MESSAGE_V2) or place != int(path.name) + at or at + size > len(log):
                    return
                yield queue, offset, _topic(log, at, magic, flag)
                at += size


def _topic(log: mmap.mmap, at: int, magic: int, flag: int) -> str:
    hosts = (20 if flag & _BORN_V6 else 8) + (20 if flag & _STORED_V6 else 8)
    body_at = at + _HEAD.size + _AFTER_FLAG + hosts
    (body_bytes,) = struct.unpack_from(">i", log, body_at)
    length_at = body_at + 4 + body_bytes
    form = ">B" if magic == _MESSAGE else ">h"
    (length,) = struct.unpack_from(form, log, length_at)
    begin = length_at + struct.calcsize(form)
    return log[begin : begin + length].decode()
