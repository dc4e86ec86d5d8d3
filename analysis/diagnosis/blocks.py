"""A log file in blocks of whole lines, and which of these lines are worth a look: most say nothing that anybody asks for.

Looking for a few words in a block of a megabyte takes a fraction of looking for them in each of its lines.
"""

from __future__ import annotations

import bisect
import codecs
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

BLOCK_BYTES = 1 << 20
LINE_BYTES_MAX = 1 << 22
"""What has no line ends for so long is cut."""


def blocks(raw: BinaryIO) -> Iterator[bytes]:
    """A file as UTF-8 or what comes near it: gz by its first bytes, whatever its name, UTF-16 by its mark.

    What came before a place that cannot be read is given before the error is raised.
    """
    start = raw.read(2)
    raw.seek(0)
    # Both give what they have, at most so much, so that nothing is lost with an error that comes later.
    stream = gzip.GzipFile(fileobj=raw) if start == b"\x1f\x8b" else cast(io.BufferedReader, raw)
    mark = stream.read(3)
    if mark[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        yield from _whole_lines(decode(piece).encode() for piece in itertools.chain([mark], _pieces(stream)))
    else:
        yield from _whole_lines(itertools.chain([mark.removeprefix(codecs.BOM_UTF8)], _pieces(stream)))


def _pieces(stream: gzip.GzipFile | io.BufferedReader) -> Iterator[bytes]:
    while piece := stream.read1(BLOCK_BYTES):
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


def lines_with(block: bytes, lines: Sequence[bytes], words: Sequence[bytes]) -> dict[int, list[bytes]]:
    """Which of these words each line of a block has, by the line's number from 0; lines that have none are left out."""
    ends: dict[int, list[bytes]] = {}
    for word in words:
        at = block.find(word)
        while at >= 0:
            end = block.find(b"\n", at)
            end = len(block) if end < 0 else end
            ends.setdefault(end, []).append(word)
            at = block.find(word, end)
    if not ends:
        return {}
    all_ends = list(itertools.accumulate((len(line) + 1 for line in lines), initial=-1))
    return {bisect.bisect_left(all_ends, end) - 1: found for end, found in ends.items()}
