"""A log file in blocks of whole lines, whatever it is packed and encoded with."""

from __future__ import annotations

import codecs
import itertools
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Protocol, cast

from harness.unpacked import Bounds, Unpacked, opened_zip

BLOCK_BYTES = 1 << 20
LINE_BYTES_MAX = 1 << 22
"""What has no line ends for so long is cut."""
MEMBERS = Bounds(bytes_max=2**40, members_max=50_000)
"""Of a zip of logs; how many times its own size it comes to is bounded as well."""
ELSEWHERE = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"(\xb5/\xfd": "zstd"}
"""By its first bytes what a file is packed with that is not unpacked here."""


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...


class PackedBadlyError(OSError):
    """A packed file that is none, or that cannot be unpacked; other logs beside it may be read all the same."""


def blocks(raw: BinaryIO) -> Iterator[bytes]:
    """A file as UTF-8 or what comes near it: gz and zip by the first bytes, whatever the name, UTF-16 by its mark.

    What came before a place that cannot be read is given before the error is raised.
    """
    start = raw.read(6)
    raw.seek(0)
    if start[:4] == b"PK\x03\x04":
        yield from _members(raw)
        return
    for mark, packer in ELSEWHERE.items():
        if start.startswith(mark):
            raise OSError(f"it is packed with {packer}: unpack it, or pack it with gzip")
    # Both give what they have, at most so much, so that nothing is lost with an error that comes later.
    yield from _decoded(Unpacked(raw) if start[:2] == b"\x1f\x8b" else cast(_Stream, raw))


def _members(raw: BinaryIO) -> Iterator[bytes]:
    """The files of a zip, one after the other."""
    try:
        with opened_zip(raw, MEMBERS) as packed:
            for member in packed.infolist():
                if not member.is_dir():
                    with packed.open(member) as stream:
                        yield from _decoded(cast(_Stream, stream))
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise PackedBadlyError(str(error)) from error
    except RuntimeError as error:
        # Its text has Python's own words of the member.
        raise PackedBadlyError("a file in it is encrypted: unpack it with its password") from error


def _decoded(stream: _Stream) -> Iterator[bytes]:
    mark, pieces = stream.read(3), iter(lambda: stream.read1(BLOCK_BYTES), b"")
    if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        yield from _whole_lines(decode(piece).encode() for piece in itertools.chain([mark], pieces))
    else:
        yield from _whole_lines(itertools.chain([mark.removeprefix(codecs.BOM_UTF8)], pieces))


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    held = b""
    error: Exception | None = None
    while True:
        try:
            piece = next(pieces, None)
        except (OSError, EOFError, zlib.error) as broken:
            piece, error = None, broken
        if piece is None:
            break
        cut = len(piece) if len(held) > LINE_BYTES_MAX else piece.rfind(b"\n") + 1
        held += piece
        if cut and len(held) >= BLOCK_BYTES // 4:
            end = len(held) - len(piece) + cut
            yield held[:end]
            held = held[end:]
    if held:
        yield held
    if error is not None:
        raise error
