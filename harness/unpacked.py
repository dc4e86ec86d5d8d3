"""What packed files of others hold, within bounds: the one reader of archives for builds, bundles and logs.

Bytes that come out, how many times their packed size they are, members, what is read at once and the time are bounded. Nothing is
read twice. What a directory or a header says is refused by what it says, before anything is unpacked.
"""

from __future__ import annotations

import gzip
import math
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

from harness.errors import shown

RATIO_MAX = 200
"""Real logs are packed to a tenth or a thirtieth; what unpacks to hundreds of times its size is made to take for ever."""
RATIO_FROM_BYTES = 2**26
PIECE_BYTES = 2**20
SECONDS_MAX = 60.0
"""A piece takes no longer; a hundred million empty members would."""
HEADER_BYTES_MAX = 2**16
"""Of all headers before a file: they are read into memory, and each line of them and each hole of a sparse file counts."""
HEADER_FIELDS_MAX = 16
"""A field of a header that holds for all files behind it is looked at again for each."""
DIRECTORY_BYTES_MAX = 2**22
"""Of a zip; it is read into memory as a whole. The largest jar of 5.5.0 has 6,176 members."""
FRAME_BYTES = 4096
"""Headers and padding of a tar come to a kibibyte or two a file."""
KINDS_READ = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Python unpacks any other kind of a zip's members without a bound, and Java does not read it."""


class PackedError(OSError):
    """A packed file comes to more than it may, or is packed in a way that is not read."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much may come out of a packed file."""

    bytes_max: int
    members_max: int

    def check(self, members: int, size: int) -> None:
        """Raises PackedError where so many members or so many bytes are too many."""
        if members > self.members_max or size > self.bytes_max:
            raise PackedError(f"it holds more than {self.members_max:,} files or {self.bytes_max / 2**20:,.0f} MiB")


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...


class _Source:
    """A packed file, which is not read for a piece that takes too long."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell
        self.ends_s = math.inf

    def read(self, size: int = -1) -> bytes:
        if time.monotonic() > self.ends_s:
            raise PackedError(f"{PIECE_BYTES:,} bytes of it take more than {SECONDS_MAX:g} s to unpack")
        return self._file.read(size)


class Unpacked:
    """What a gzip file holds, read forward alone and piece by piece, as long as it is within bounds."""

    def __init__(self, packed: BinaryIO, *, bytes_max: int | None = None) -> None:
        self._source = _Source(packed)
        self._unpacked = cast(_Readable, gzip.GzipFile(fileobj=cast(BinaryIO, self._source)))
        self._bytes_max, self._taken = bytes_max, 0

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes, which may not be more than PIECE_BYTES. Raises PackedError, and what unpacking raises."""
        return self._counted(self._unpacked.read, size)

    def read1(self, size: int = -1) -> bytes:
        """What there is, at most so many bytes; with an error that comes behind it nothing is lost."""
        return self._counted(self._unpacked.read1, size)

    def tell(self) -> int:
        """How many bytes were taken."""
        return self._taken

    def skip(self, to: int) -> None:
        """Go on at a later place. Raises PackedError: it is an earlier one, or there is none."""
        if to < self._taken:
            raise PackedError("its headers lead back")
        while self._taken < to:
            if not self.read(min(to - self._taken, PIECE_BYTES)):
                raise PackedError("it is cut")

    def _counted(self, read: Callable[[int], bytes], size: int) -> bytes:
        if not 0 <= size <= PIECE_BYTES:
            raise PackedError(f"more than {PIECE_BYTES:,} bytes of it would be read at once")
        self._source.ends_s = time.monotonic() + SECONDS_MAX
        self._taken += len(piece := read(size))
        if self._bytes_max is not None and self._taken > self._bytes_max:
            raise PackedError(f"it holds more than {self._bytes_max / 2**20:,.0f} MiB")
        _check_ratio(self._taken, self._source.tell())
        return piece


def _check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > RATIO_FROM_BYTES and unpacked > RATIO_MAX * packed:
        raise PackedError(f"it unpacks to more than {RATIO_MAX} times its size")


# --- tar.gz ---------------------------------------------------------------------------------------------------------------


class _Headers:
    """What tarfile sees of an archive: little for the headers before each file, and no way back."""

    def __init__(self, stream: Unpacked) -> None:
        self._stream = stream
        self.tell, self.seek = stream.tell, stream.skip
        self.bytes_left = HEADER_BYTES_MAX

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self.bytes_left:
            raise PackedError(f"headers of more than {HEADER_BYTES_MAX:,} bytes")
        self.bytes_left -= size
        return self._stream.read(size)


def tar_members(file: Path, bounds: Bounds) -> Iterator[tuple[tarfile.TarInfo, Iterator[bytes]]]:
    """The members of a tar.gz, each with the pieces of what it holds, to be taken before the next member.

    Raises PackedError, and what gzip and tarfile raise of a damaged one.
    """
    with file.open("rb") as packed:
        stream = Unpacked(packed, bytes_max=bounds.bytes_max + FRAME_BYTES * bounds.members_max)
        headers = _Headers(stream)
        with tarfile.open(fileobj=cast(IO[bytes], headers), mode="r:") as tar:
            number = size = 0
            while (member := tar.next()) is not None:
                # tarfile keeps each, and looks at none of them again.
                tar.members.clear()  # type: ignore[attr-defined]
                headers.bytes_left = HEADER_BYTES_MAX
                number, size = number + 1, size + member.size
                if member.size < 0 or len(member.pax_headers) > HEADER_FIELDS_MAX:
                    raise PackedError(f"{shown(member.name)} has a header that no such archive has")
                bounds.check(number, size)
                yield member, _pieces_of(member, stream)


def is_plain(member: tarfile.TarInfo) -> bool:
    """Whether it is a file without holes."""
    return member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()


def _pieces_of(member: tarfile.TarInfo, stream: Unpacked) -> Iterator[bytes]:
    stream.skip(member.offset_data)
    left = member.size
    while left:
        if not (piece := stream.read(min(left, PIECE_BYTES))):
            raise PackedError(f"it is cut in {shown(member.name)}")
        left -= len(piece)
        yield piece


# --- zip ------------------------------------------------------------------------------------------------------------------


class _Directory:
    """What zipfile sees of an archive: nothing is read whole that is longer than a directory may be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > DIRECTORY_BYTES_MAX:
            raise PackedError(f"a directory of more than {DIRECTORY_BYTES_MAX:,} bytes")
        return self._file.read(size)


@contextmanager
def opened_zip(file: BinaryIO, bounds: Bounds) -> Iterator[zipfile.ZipFile]:
    """A zip whose directory is within bounds, which hold for what comes out: no member gives more than the directory says.

    Raises PackedError, and what zipfile raises of a damaged one.
    """
    with zipfile.ZipFile(cast(IO[bytes], _Directory(file))) as packed:
        entries = packed.infolist()
        bounds.check(len(entries), sum(entry.file_size for entry in entries))
        for entry in entries:
            if entry.compress_type not in KINDS_READ:
                raise PackedError(f"{shown(entry.filename)} is packed in a way that is not read here, nor by Java")
            _check_ratio(entry.file_size, entry.compress_size)
        # Members that share their bytes come to more than the file.
        _check_ratio(sum(entry.file_size for entry in entries), file.seek(0, 2))
        yield packed


def zip_members(file: BinaryIO, bounds: Bounds) -> Iterator[tuple[zipfile.ZipInfo, Iterator[bytes]]]:
    """The members of a zip, each with the pieces of what it holds. Raises as ``opened_zip`` does, and what unpacking raises."""
    with opened_zip(file, bounds) as packed:
        for entry in packed.infolist():
            yield entry, _pieces_in(packed, entry)


def _pieces_in(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with packed.open(entry) as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
