"""Archives of others are unpacked within bounds, or refused within moments."""

from __future__ import annotations

import gzip
import io
import os
import resource
import tarfile
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import harness.unpacked
from analysis.diagnosis.blocks import blocks
from harness.errors import ConfigurationError, UsageError
from harness.releases.builds import take_build
from harness.unpacked import DIRECTORY_BYTES_MAX, Bounds, PackedError, Unpacked, opened_zip, tar_members
from mqlab.run.bundle import open_bundle

SMALL = Bounds(bytes_max=10**6, members_max=10)
SECONDS_MAX = 5.0
"""Of a processor; to unpack ten gigabytes of zeros takes many times as long."""


def _zeros(path: Path, count: int, before: bytes = b"") -> Path:
    """A gzip file of so many times 64 MiB of zeros, behind some bytes."""
    piece = gzip.compress(bytes(2**26), 9)
    with path.open("wb") as out:
        out.write(gzip.compress(before))
        for _ in range(count):
            out.write(piece)
    return path


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("before", [
    b"", _header("README", 10**10), _header("run/x", 10**9), _header("lib/x.jar", 10**9), b"x" * 512,
], ids=["zeros", "huge file", "large file", "large jar", "no tar"])  # fmt: skip
def test_ten_gigabytes_of_zeros_are_refused_within_moments(tmp_path: Path, before: bytes) -> None:
    bomb = _zeros(tmp_path / "bomb.tgz", 160, before)
    (tmp_path / "place").mkdir()
    since_s, memory_kb = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError, match="is no build that can be run"):
        take_build(bomb, tmp_path / "cache")
    with pytest.raises(ConfigurationError, match="is not replayed"):
        open_bundle(bomb, tmp_path / "place")
    with bomb.open("rb") as raw, pytest.raises(PackedError, match="it unpacks to more than 200 times its size"):
        sum(map(len, blocks(raw)))
    assert time.thread_time() - since_s < SECONDS_MAX
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kb < 300_000


def _zip(kind: int, members: int = 1) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as packed:
        for number in range(members):
            packed.writestr(f"lib/{number}.jar", bytes(1000))
    return made.getvalue()


def _says(data: bytes, of: int) -> bytes:
    """The same zip, whose directory says that its last member has so many bytes."""
    at = data.rindex(b"PK\1\2")
    return data[: at + 24] + of.to_bytes(4, "little") + data[at + 28 :]


@pytest.mark.parametrize(("data", "says"), [
    (_zip(zipfile.ZIP_BZIP2), "'lib/0.jar' is packed in a way that is not read here"),
    (_zip(zipfile.ZIP_LZMA), "'lib/0.jar' is packed in a way that is not read here"),
    (_says(_zip(zipfile.ZIP_DEFLATED), 10**6 + 1), "it holds more than 10 files or 1 MiB"),
    (_zip(zipfile.ZIP_DEFLATED, 11), "it holds more than 10 files or 1 MiB"),
], ids=["bzip2", "lzma", "large", "many"])  # fmt: skip
def test_a_zip_is_refused_by_its_directory(data: bytes, says: str) -> None:
    with pytest.raises(PackedError, match=says), opened_zip(io.BytesIO(data), SMALL):
        pass


def test_a_directory_is_not_read_beyond_its_bound() -> None:
    data = bytearray(_zip(zipfile.ZIP_STORED))
    end = data.rindex(b"PK\5\6")
    data[end:end] = bytes(DIRECTORY_BYTES_MAX)
    end += DIRECTORY_BYTES_MAX
    data[end + 12 : end + 16] = (DIRECTORY_BYTES_MAX + 60).to_bytes(4, "little")
    with pytest.raises(PackedError, match="a directory of more than"), opened_zip(io.BytesIO(data), SMALL):
        pass


def test_members_that_share_their_bytes_come_to_no_more_than_the_file() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("0", bytes(2**26))
    one = made.getvalue()
    at, end = one.rindex(b"PK\1\2"), one.rindex(b"PK\5\6")
    count = 9
    directory = one[at:end] * count
    tail = bytearray(one[end:])
    tail[8:10] = tail[10:12] = count.to_bytes(2, "little")
    tail[12:16] = len(directory).to_bytes(4, "little")
    bounds = Bounds(bytes_max=2**40, members_max=100)
    with (
        pytest.raises(PackedError, match="it unpacks to more than 200 times its size"),
        opened_zip(io.BytesIO(one[:at] + directory + bytes(tail)), bounds),
    ):
        pass


def test_a_log_in_a_zip_of_another_kind_or_packed_otherwise_is_named() -> None:
    for data, says in (
        (_zip(zipfile.ZIP_LZMA), "is packed in a way that is not read here"),
        (b"BZh91AY&SY", "it is packed with bzip2: unpack it"), (b"\xfd7zXZ\0\0", "it is packed with xz"),
        (b"(\xb5/\xfd\0\0", "it is packed with zstd"),
    ):  # fmt: skip
        with pytest.raises(OSError, match=says):
            list(blocks(io.BytesIO(data)))


def test_empty_members_without_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.unpacked, "SECONDS_MAX", 0.1)
    since_s = time.thread_time()
    with pytest.raises(PackedError, match=r"take more than 0\.1 s to unpack"):
        Unpacked(io.BytesIO(gzip.compress(b"") * 1_000_000)).read(1)
    assert time.thread_time() - since_s < SECONDS_MAX


def _tar(path: Path, *pieces: bytes) -> Path:
    path.write_bytes(gzip.compress(b"".join(pieces)))
    return path


def _sized_by_base_256(size: int) -> bytes:
    header = bytearray(_header("x", 0))
    header[124:136] = b"\xff" + size.to_bytes(11, "big", signed=True)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


@pytest.mark.parametrize(("pieces", "says"), [
    ((_header("x", 0) * 11,), "it holds more than 10 files"),
    ((_header("x", 10**6 + 1),), "it holds more than 10 files or 1 MiB"),
    ((_header("x", 2000),), "it is cut in 'x'"),
    ((_header("y", 0), _sized_by_base_256(-1024)), "has a header that no such archive has"),
], ids=["many", "large", "cut", "backward"])  # fmt: skip
def test_a_tar_is_refused_by_its_headers(tmp_path: Path, pieces: tuple[bytes, ...], says: str) -> None:
    with pytest.raises(PackedError, match=says):
        sum(len(piece) for _, held in tar_members(_tar(tmp_path / "x.tgz", *pieces), SMALL) for piece in held)


def test_members_are_given_whole_also_where_some_are_passed_over(tmp_path: Path) -> None:
    file, data = tmp_path / "x.tgz", {str(number): os.urandom(700 * number) for number in range(5)}
    with tarfile.open(file, "w:gz") as tar:
        for name, content in data.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    found = {one.name: b"".join(held) for one, held in tar_members(file, SMALL) if one.name not in ("0", "3")}
    assert found == {name: data[name] for name in ("1", "2", "4")}


@pytest.mark.parametrize("make", [take_build, lambda path: list(blocks(path.open("rb")))], ids=["build", "log"])
def test_a_zip_that_gives_more_than_it_says_gives_what_it_says(tmp_path: Path, make: Callable[[Path], object]) -> None:
    path = tmp_path / "x.zip"
    with warnings.catch_warnings(action="ignore"):
        path.write_bytes(_says(_zip(zipfile.ZIP_DEFLATED), 10))
        with pytest.raises((UsageError, OSError), match=r"Bad CRC-32|cannot be read"):
            make(path)
