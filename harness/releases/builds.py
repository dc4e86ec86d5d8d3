"""A build of the user's own: an unpacked distribution of RocketMQ, or a tar.gz or zip of one, whose jars become a release.

It is named by its version and the first letters of the SHA-256 of its jars. They are copied into the cache, so that what is run
is what was named, whatever becomes of the folder.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote

from harness.errors import UsageError, shown
from harness.releases import central
from harness.releases.cache import cache_folder
from harness.releases.jars import BUILD, VERSION, LockedJar, jar_path, lock_path, write_lock

ARCHIVES = (".tar.gz", ".tgz", ".zip")
BYTES_MAX = 2 * 10**9
"""Of all jars; a distribution of 5.5.0 has 0.1 GB."""
PIECE_BYTES = 2**20
"""Of a file that is copied, and of a header of an archive, which is read into memory as a whole."""
CLASS_BYTES_MAX = 2**24
"""A class of Java's has methods of 64 KiB at most, and the largest one of 5.5.0's jars is far below that bound."""
LETTERS = 8

MANIFEST, INDEX = "META-INF/MANIFEST.MF", "META-INF/INDEX.LIST"
END_BYTES, END_BYTES_MAX = 22, 22 + 65535
"""The record that ends an archive, without and with the longest comment."""
_READ_BY_JAVA = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LINE_END = re.compile(r"\r\n|\r|\n")
_WRAPPED = re.compile(rf"(?:{_LINE_END.pattern}) ")
"""In a manifest a line goes on in the next one after a space."""
_OWN_JAR = re.compile(r"[^/\\:][^\\:]*")
_JAR = re.compile(r"(?:.*/)?lib/([A-Za-z0-9][\w.+-]{0,150})\.jar", re.ASCII)
_Opened = tuple[str, Callable[[], IO[bytes]]]


def is_path(text: str) -> bool:
    """Whether a text means a build, not a release's name."""
    return os.sep in text or text.endswith(ARCHIVES) or (not VERSION.fullmatch(text) and Path(text).exists())


def take_build(path: Path, cache: Path | None = None) -> str:
    """Copy a build's jars into the cache and note them; returns the name that it has as a release.

    Raises UsageError: there is no such file, it is no distribution, or lacks what a cluster needs.
    """
    repository = cache_folder("maven", cache)
    with tempfile.TemporaryDirectory(dir=repository, prefix=".build-") as folder, _jars_of(path) as jars:
        sums, left = {}, BYTES_MAX
        for name, opened in jars:
            with opened() as source, (Path(folder) / name).open("wb") as target:
                while piece := source.read(PIECE_BYTES):
                    left -= target.write(piece)
                    if left < 0:
                        raise _no_build(path, f"its jars have more than {BYTES_MAX / 1e9:g} GB")
            try:
                elsewhere = _classes_elsewhere(Path(folder) / name)
            except _UNREADABLE as error:
                raise _no_build(path, f"its {name}.jar cannot be read: {central.says(error)}") from error
            if elsewhere:
                raise _no_build(path, f"its {name}.jar has Java look for classes at {shown(elsewhere)}")
            with (Path(folder) / name).open("rb") as file:
                sums[name] = hashlib.file_digest(file, "sha256").hexdigest()
        version = _version(path, sums)
        if central.version_key(version) < central.version_key(central.OLDEST):
            raise _no_build(path, f"it is of {version}, and the lab runs none older than {central.OLDEST}")
        digest = hashlib.sha256("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()).hexdigest()
        release = f"{version}-{digest[:LETTERS]}"
        found = [
            LockedJar(group=BUILD, artifact=name, version=release, classifier="", sha256=sums[name])
            for name in sorted(sums)
        ]
        for jar in found:
            target_path = jar_path(jar, repository)
            target_path.parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / jar.artifact).replace(target_path)
        if not lock_path(release).exists():
            write_lock(release, found)
    return release


def _version(path: Path, names: dict[str, str]) -> str:
    lacking = [artifact for artifact in central.ARTIFACTS if not any(name.startswith(f"{artifact}-") for name in names)]
    if lacking:
        raise _no_build(path, f"{'its lib has' if names else 'there is'} no {' and no '.join(lacking)}")
    broker = next(name for name in names if name.startswith(f"{central.ARTIFACTS[0]}-"))
    version = broker.removeprefix(f"{central.ARTIFACTS[0]}-")
    if not VERSION.fullmatch(version):
        raise _no_build(path, f"its {shown(broker)} has no version in its name")
    return version


def _classes_elsewhere(jar: Path) -> str:
    """The first entry of a jar's index or Class-Path that leads out of its folder, to a host perhaps: Java follows it unasked.

    Empty where there is none. Raises what _UNREADABLE has where it cannot be told: Java reads some of what Python refuses.
    """
    with jar.open("rb") as file:
        file.seek(max(0, jar.stat().st_size - END_BYTES_MAX))
        tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at >= 0 and at + END_BYTES + int.from_bytes(tail[at + END_BYTES - 2 : at + END_BYTES], "little") != len(tail):
        raise ValueError("its last record does not end with it: Java would read other entries")
    with zipfile.ZipFile(jar) as packed:
        if any(one.filename.endswith(".class") and one.file_size > CLASS_BYTES_MAX for one in packed.infolist()):
            raise ValueError(f"it has a class of more than {CLASS_BYTES_MAX:,} bytes")
        if sum(one.file_size for one in packed.infolist()) > BYTES_MAX:
            raise ValueError(f"unpacked it has more than {BYTES_MAX / 1e9:g} GB")
        if any(one.compress_type not in _READ_BY_JAVA for one in packed.infolist()):
            raise ValueError("it is packed in a way that Java does not read")
        for one in (one for one in packed.infolist() if one.filename.upper() == INDEX):
            # Java takes each line that ends so for a jar in which it finds packages.
            for entry in _LINE_END.split(_beginning(packed, one)):
                if entry.endswith(".jar") and _leads_out(entry):
                    return entry
        manifests = [one for one in packed.infolist() if one.filename.upper() == MANIFEST]
        if len(manifests) > 1:
            raise ValueError(f"it has {len(manifests):,} manifests")
        for one in manifests:
            for line in _LINE_END.split(_WRAPPED.sub("", _beginning(packed, one))):
                key, _, value = line.partition(":")
                for entry in value.split() if key.casefold() == "class-path" else ():
                    if _leads_out(entry):
                        return entry
    return ""


def _beginning(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    """A jar's manifest or index as text. Raises ValueError where it is longer than either is."""
    with packed.open(entry) as file:
        read = file.read(PIECE_BYTES + 1)
    if len(read) > PIECE_BYTES:
        noun = "an index" if entry.filename.upper() == INDEX else "a manifest"
        raise ValueError(f"{noun} of more than {PIECE_BYTES:,} bytes")
    return read.decode("utf-8", "replace")


def _leads_out(entry: str) -> bool:
    """Whether a jar's relative URL is of no file in or below the folder of the jar."""
    plain = unquote(entry)
    return not _OWN_JAR.fullmatch(plain) or ".." in plain.split("/")


def _no_build(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{shown(str(path))} is no build that can be run: {why}",
        advice="Name an unpacked distribution, with its jars in lib, or a tar.gz or zip of one.",
    )


@contextmanager
def _jars_of(path: Path) -> Iterator[Iterator[_Opened]]:
    """The jars below ``lib``, by their names without the ending."""
    try:
        if path.is_dir():
            files = sorted([*path.glob("lib/*.jar"), *path.glob("*/lib/*.jar")])
            yield _named((str(file), lambda file=file: file.open("rb")) for file in files if file.is_file())  # type: ignore[misc]
        elif not path.is_file():
            raise _no_build(path, "there is no such file or folder")
        elif path.name.endswith(ARCHIVES[2]):
            with zipfile.ZipFile(path) as packed:
                yield _named((name, lambda name=name: packed.open(name)) for name in packed.namelist())  # type: ignore[misc]
        else:
            with (
                gzip.open(path) as unpacked,
                tarfile.open(mode="r:", fileobj=cast(IO[bytes], _Pieces(unpacked))) as tar,
            ):
                yield _named((one.name, lambda one=one: tar.extractfile(one)) for one in tar if one.isreg())  # type: ignore[misc]
    except _UNREADABLE as error:
        raise _no_build(path, f"it cannot be read: {central.says(error)}") from error


_UNREADABLE = (
    OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, zipfile.BadZipFile, ValueError,
    RuntimeError,
)  # fmt: skip
"""What a damaged or hostile archive raises; RuntimeError: it is encrypted, nested, or packed in a way that Python lacks."""


class _Pieces:
    """An unpacked archive, of which no header is longer than a piece."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= PIECE_BYTES:
            raise tarfile.ReadError(f"a header of more than {PIECE_BYTES:,} bytes")
        return self._file.read(size)


def _named(entries: Iterator[_Opened]) -> Iterator[_Opened]:
    for name, opened in entries:
        if match := _JAR.fullmatch(name):
            yield match.group(1), opened
