"""Message bodies with a checksum, as ``recorder/Body.java`` makes and reads them, for clients in Python."""

from __future__ import annotations

import zlib

CHECKSUM_CHARS = 8


def make_body(run: str, seq: int, intended_ns: int, count: int) -> bytes:
    """A body of ``count`` bytes, or of more if its content needs them; ASCII without NUL."""
    head = f"{run} {seq} {intended_ns} ".encode("ascii")
    payload = head.ljust(count - CHECKSUM_CHARS, b".")
    return payload + b"%08x" % zlib.crc32(payload)


def read_body(body: bytes, run: str) -> tuple[int, int] | None:
    """(sequence number, intended nanoseconds), or None when the body is of another run or was changed on its way."""
    payload, checksum = body[:-CHECKSUM_CHARS], body[-CHECKSUM_CHARS:]
    parts = payload.split(b" ", 3)
    if checksum != b"%08x" % zlib.crc32(payload) or len(parts) < 4 or parts[0] != run.encode("ascii"):
        return None
    return int(parts[1]), int(parts[2])
