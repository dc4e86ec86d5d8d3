"""Message bodies with a checksum, as ``recorder/Body.java`` makes and reads them, for clients in Python."""

from __future__ import annotations

import random
import zlib

CHECKSUM_CHARS = 8
COMPRESSED_OVER_BYTES = 4096
"""``compressMsgBodyOverHowmuch`` of RocketMQ's producers."""
LETTERS = bytes(range(ord("!"), ord("~") + 1))
_LETTER_OF = bytes(LETTERS[byte % len(LETTERS)] for byte in range(256))


def make_body(run: str, seq: int, intended_ns: int, count: int) -> bytes:
    """A body of ``count`` bytes, or of more if its content needs them; ASCII without NUL."""
    head = f"{run} {seq} {intended_ns} ".encode("ascii")
    payload = head + _padding(count - CHECKSUM_CHARS - len(head), seq, is_large=count > COMPRESSED_OVER_BYTES)
    return payload + b"%08x" % zlib.crc32(payload)


def _padding(count: int, seq: int, *, is_large: bool) -> bytes:
    """Dots, and in a large body letters by chance: a client compresses those, dots to next to nothing."""
    return random.Random(seq).randbytes(max(0, count)).translate(_LETTER_OF) if is_large else b"." * max(0, count)


def read_body(body: bytes, run: str) -> tuple[int, int] | None:
    """(sequence number, intended nanoseconds), or None when the body is of another run or was changed on its way."""
    payload, checksum = body[:-CHECKSUM_CHARS], body[-CHECKSUM_CHARS:]
    parts = payload.split(b" ", 3)
    if checksum != b"%08x" % zlib.crc32(payload) or len(parts) < 4 or parts[0] != run.encode("ascii"):
        return None
    return int(parts[1]), int(parts[2])
