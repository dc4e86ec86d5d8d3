"""A build of the user's own: an unpacked distribution of RocketMQ, or a tar.gz or zip of one, whose jars become a release.

It is named by its version and the first letters of the SHA-256 of its jars. They are copied into the cache, so that what is run
is what was named, whatever becomes of the folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from harness.errors import UsageError, shown
from harness.releases import central
from harness.releases.cache import cache_folder
from harness.releases.jars import BUILD, VERSION, LockedJar, jar_path, lock_path, write_lock
from harness.unpacked import PIECE_BYTES, Bounds, is_plain, opened_zip, tar_members, zip_members

ARCHIVES = (".tar.gz", ".tgz", ".zip")
BYTES_MAX = 2 * 10**9
"""Of all jars, and of all of their members; a distribution of 5.5.0 has 0.1 GB, unpacked 0.2 GB."""
JARS_MAX, MEMBERS_MAX = 2_000, 50_000
"""A distribution of 5.5.0 has 137 jars, the largest of which has 6,176 members."""
CLASS_BYTES_MAX = 2**24
"""A class of Java's has methods of 64 KiB at most, and the largest one of 5.5.0's jars is far below that bound."""
LETTERS = 8

MANIFEST, INDEX = "META-INF/MANIFEST.MF", "META-INF/INDEX.LIST"
END_BYTES, END_BYTES_MAX = 22, 22 + 65535
"""The record that ends an archive, without and with the longest comment."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_WRAPPED = re.compile(rf"(?:{_LINE_END.pattern}) ")
"""In a manifest a line goes on in the next one after a space."""
_OWN_JAR = re.compile(r"[^/\\:][^\\:]*")
_JAR = re.compile(r"(?:.*/)?lib/([A-Za-z0-9][\w.+-]{0,150})\.jar", re.ASCII)
_Jar = tuple[str, Iterator[bytes]]


def is_path(text: str) -> bool:
    """Whether a text means a build, not a release's name."""
    return os.sep in text or text.endswith(ARCHIVES) or (not VERSION.fullmatch(text) and Path(text).exists())


def take_build(path: Path, cache: Path | None = None) -> str:
    """Copy a build's jars into the cache and note them; returns the name that it has as a release.

    Raises UsageError: there is no such file, it is no distribution, or lacks what a cluster needs.
    """
    repository = cache_folder("maven", cache)
    with tempfile.TemporaryDirectory(dir=repository, prefix=".build-") as folder:
        try:
            sums = _copied(path, Path(folder))
        except _UNREADABLE as error:
            raise _no_build(path, f"it cannot be read: {central.says(error)}") from error
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


def _copied(path: Path, folder: Path) -> dict[str, str]:
    """The SHA-256 of each jar, by its name, of which the folder has a copy then. Raises UsageError and what _UNREADABLE has."""
    sums: dict[str, str] = {}
    left = to_unpack = BYTES_MAX
    for number, (name, pieces) in enumerate(_jars_of(path), start=1):
        if number > JARS_MAX:
            raise _no_build(path, f"it has more than {JARS_MAX:,} jars")
        with (folder / name).open("wb") as target:
            for piece in pieces:
                left -= target.write(piece)
                if left < 0:
                    raise _no_build(path, f"its jars have more than {BYTES_MAX / 1e9:g} GB")
        with (folder / name).open("rb") as jar:
            try:
                _check_last_record(jar)
                with opened_zip(jar, Bounds(bytes_max=to_unpack, members_max=MEMBERS_MAX)) as packed:
                    to_unpack -= sum(entry.file_size for entry in packed.infolist())
                    elsewhere = _classes_elsewhere(packed)
            except _UNREADABLE as error:
                raise _no_build(path, f"its {name}.jar cannot be read: {central.says(error)}") from error
            if elsewhere:
                raise _no_build(path, f"its {name}.jar has Java look for classes at {shown(elsewhere)}")
            jar.seek(0)
            sums[name] = hashlib.file_digest(jar, "sha256").hexdigest()
    return sums


def _version(path: Path, names: dict[str, str]) -> str:
    lacking = [artifact for artifact in central.ARTIFACTS if not any(name.startswith(f"{artifact}-") for name in names)]
    if lacking:
        raise _no_build(path, f"{'its lib has' if names else 'there is'} no {' and no '.join(lacking)}")
    broker = next(name for name in names if name.startswith(f"{central.ARTIFACTS[0]}-"))
    version = broker.removeprefix(f"{central.ARTIFACTS[0]}-")
    if not VERSION.fullmatch(version):
        raise _no_build(path, f"its {shown(broker)} has no version in its name")
    return version


def _check_last_record(jar: BinaryIO) -> None:
    """Raises ValueError where Java takes another record for the last one, and so other entries for the jar's."""
    jar.seek(max(0, jar.seek(0, os.SEEK_END) - END_BYTES_MAX))
    tail = jar.read()
    at = tail.rfind(b"PK\5\6")
    if at >= 0 and at + END_BYTES + int.from_bytes(tail[at + END_BYTES - 2 : at + END_BYTES], "little") != len(tail):
        raise ValueError("its last record does not end with it: Java would read other entries")


def _classes_elsewhere(jar: zipfile.ZipFile) -> str:
    """The first entry of a jar's index or Class-Path that leads out of its folder, to a host perhaps: Java follows it unasked.

    Empty where there is none. Raises what _UNREADABLE has where it cannot be told: Java reads some of what Python refuses.
    """
    entries = jar.infolist()
    if any(one.filename.endswith(".class") and one.file_size > CLASS_BYTES_MAX for one in entries):
        raise ValueError(f"it has a class of more than {CLASS_BYTES_MAX:,} bytes")
    for one in (one for one in entries if one.filename.upper() == INDEX):
        # Java takes each line that ends so for a jar in which it finds packages.
        for entry in _LINE_END.split(_beginning(jar, one)):
            if entry.endswith(".jar") and _leads_out(entry):
                return entry
    manifests = [one for one in entries if one.filename.upper() == MANIFEST]
    if len(manifests) > 1:
        raise ValueError(f"it has {len(manifests):,} manifests")
    for one in manifests:
        for line in _LINE_END.split(_WRAPPED.sub("", _beginning(jar, one))):
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


def _jars_of(path: Path) -> Iterator[_Jar]:
    """The jars below ``lib``, by their names without the ending, each with its pieces, to be taken before the next one.

    Raises UsageError and what _UNREADABLE has.
    """
    bounds = Bounds(bytes_max=BYTES_MAX, members_max=MEMBERS_MAX)
    if path.is_dir():
        files = sorted([*path.glob("lib/*.jar"), *path.glob("*/lib/*.jar")])
        yield from _named((str(file), _pieces(file)) for file in files if file.is_file())
    elif not path.is_file():
        raise _no_build(path, "there is no such file or folder")
    elif path.name.endswith(ARCHIVES[2]):
        with path.open("rb") as packed:
            yield from _named((entry.filename, pieces) for entry, pieces in zip_members(packed, bounds))
    else:
        members = tar_members(path, bounds)
        yield from _named((member.name, pieces) for member, pieces in members if is_plain(member))


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(PIECE_BYTES):
            yield piece


_UNREADABLE = (
    OSError, EOFError, tarfile.TarError, zlib.error, struct.error, zipfile.BadZipFile, ValueError,
    RuntimeError,
)  # fmt: skip
"""What a damaged or hostile archive raises; RuntimeError: it is encrypted, nested, or packed in a way that Python lacks."""


def _named(entries: Iterable[_Jar]) -> Iterator[_Jar]:
    for name, pieces in entries:
        if match := _JAR.fullmatch(name):
            yield match.group(1), pieces
