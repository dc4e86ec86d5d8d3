"""A log file in blocks of whole lines, whatever it is packed and encoded with."""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

BLOCK_BYTES = 1 << 20
LINE_BYTES_MAX = 1 << 22
"""What has no line ends for so long is cut."""
RATIO_MAX = 200
"""Real logs are packed to a tenth or a thirtieth; what unpacks to hundreds of times its size is made to take for ever."""
RATIO_FROM_BYTES = 1 << 26


def blocks(raw: BinaryIO) -> Iterator[bytes]:
    """A file as UTF-8 or what comes near it: gz and zip by the first bytes, whatever the name, UTF-16 by its mark.

    What came before a place that cannot be read is given before the error is raised.
    """
    start = raw.read(4)
    raw.seek(0)
    if start == b"PK\x03\x04":
        yield from _members(raw)
        return
    # Both give what they have, at most so much, so that nothing is lost with an error that comes later.
    yield from _decoded(gzip.GzipFile(fileobj=raw) if start[:2] == b"\x1f\x8b" else cast(io.BufferedReader, raw), raw)


def _members(raw: BinaryIO) -> Iterator[bytes]:
    """The files of a zip, one after the other."""
    try:
        with zipfile.ZipFile(raw) as packed:
            for member in packed.infolist():
                if not member.is_dir():
                    with packed.open(member) as stream:
                        yield from _decoded(cast(io.BufferedReader, stream), raw)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        # One with a password is a RuntimeError.
        raise OSError(str(error)) from error


def _decoded(stream: gzip.GzipFile | io.BufferedReader, raw: BinaryIO) -> Iterator[bytes]:
    mark = stream.read(3)
    if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        yield from _whole_lines(decode(piece).encode() for piece in itertools.chain([mark], _pieces(stream, raw)))
    else:
        yield from _whole_lines(itertools.chain([mark.removeprefix(codecs.BOM_UTF8)], _pieces(stream, raw)))


def _pieces(stream: gzip.GzipFile | io.BufferedReader, raw: BinaryIO) -> Iterator[bytes]:
    taken = 0
    while piece := stream.read1(BLOCK_BYTES):
        taken += len(piece)
        if taken > RATIO_FROM_BYTES and taken > RATIO_MAX * raw.tell():
            raise OSError(f"it unpacks to more than {RATIO_MAX} times its size, as no log does")
        yield piece


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
