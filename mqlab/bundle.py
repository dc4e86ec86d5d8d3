"""A run in one file: packed with what says how it was made, and unpacked with nothing trusted that it holds."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn, cast

from harness.errors import ConfigurationError, LabError, shown
from harness.rundir.files import write_error
from harness.rundir.manifest import Manifest, read_manifest

VERSION = 1
ABOUT, RUN = "bundle.json", "run"
FILES_MAX = 20_000
BYTES_MAX = 2 * 2**30
"""Of all files together, unpacked."""
DEPTH_MAX, NAME_BYTES_MAX = 16, 255
HEADER_BYTES_MAX = 2**16
"""Of all headers before a file: they are read into memory, and each line of them and each hole of a sparse file counts."""
HEADER_FIELDS_MAX = 16
"""A field of a header that holds for all files behind it is looked at again for each."""
PIECE_BYTES = 2**16


# --- packing --------------------------------------------------------------------------------------------------------------


def write_bundle(run: Path, file: Path) -> None:
    """Pack an analysed run; tables that an analysis makes again, and what only its machine needs, stay out.

    Raises LabError, and ConfigurationError where the run is larger than a bundle may be.
    """
    found = sorted(_packed(run))
    size = sum(path.stat().st_size for path in found)
    if len(found) > FILES_MAX or size > BYTES_MAX:
        raise ConfigurationError(
            f"{run} is too large for a bundle ({len(found):,} files, {size / 2**20:,.0f} MiB)",
            advice=f"At most {FILES_MAX:,} files and {BYTES_MAX / 2**20:,.0f} MiB: reproduce a single trial of it.",
        )
    about = json.dumps(about_run(read_manifest(run)), indent=1).encode()
    draft = file.with_name(f".{file.name}.tmp")
    try:
        with tarfile.open(draft, "w:gz", format=tarfile.PAX_FORMAT) as tar:
            header = tarfile.TarInfo(ABOUT)
            header.size = len(about)
            tar.addfile(header, io.BytesIO(about))
            for path in found:
                tar.add(path, f"{RUN}/{path.relative_to(run).as_posix()}", recursive=False, filter=_anonymous)
        draft.replace(file)
    except OSError as error:
        raise write_error(file, error) from error
    finally:
        draft.unlink(missing_ok=True)


def about_run(manifest: Manifest) -> Mapping[str, object]:
    """What a bundle is, for whoever looks into it: the manifest has all of this, too."""
    return {
        "bundle": VERSION,
        "run": manifest.run,
        "command": manifest.command,
        "seed": manifest.seed,
        "releases": manifest.releases,
        "commit": manifest.commit,
        "dirty": manifest.dirty,
        "python": manifest.host.python,
        "java": manifest.host.java,
        "system": manifest.host.system,
    }


def _packed(run: Path) -> Iterator[Path]:
    for path in run.rglob("*"):
        inside = path.relative_to(run).parts
        is_table = any(part.endswith(".parquet") for part in inside)
        if path.is_file() and not path.is_symlink() and not is_table and inside[0] not in (".lock", "look"):
            yield path


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


# --- unpacking ------------------------------------------------------------------------------------------------------------


def open_bundle(file: Path, folder: Path) -> Path:
    """Unpack into an empty folder; returns the run directory.

    Raises ConfigurationError: it is damaged, too large, of another version, or holds what no bundle holds.
    """
    whole = folder / "bundle.tar"
    try:
        _unpack_gzip(file, whole)
        with whole.open("rb") as handle:
            headers = _Headers(handle)
            with tarfile.open(fileobj=cast(IO[bytes], headers), mode="r:") as tar:
                _unpack_members(file, tar, headers, folder)
        about = json.loads((folder / ABOUT).read_bytes())
        version = about["bundle"]
    except LabError:
        raise
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, KeyError, TypeError, RecursionError) as error:
        _refuse(file, f"it is damaged, or no bundle ({' '.join(str(error).split()) or type(error).__name__})", error)
    finally:
        whole.unlink(missing_ok=True)
    if version != VERSION:
        _refuse(file, f"it is of version {shown(str(version))}, and this lab reads {VERSION}")
    return folder / RUN


class _Headers:
    """A file of which little is read for the headers before each of its members."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close
        self.bytes_left = HEADER_BYTES_MAX

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self.bytes_left:
            raise tarfile.ReadError(f"headers of more than {HEADER_BYTES_MAX:,} bytes")
        self.bytes_left -= size
        return self.file.read(size)


def _unpack_gzip(file: Path, whole: Path) -> None:
    size = 0
    with gzip.open(file, "rb") as packed, whole.open("xb") as out:
        while piece := packed.read(PIECE_BYTES):
            size += len(piece)
            # Headers and padding come to a kibibyte or two a file.
            if size > BYTES_MAX + 4096 * FILES_MAX:
                _refuse(file, f"it holds more than {BYTES_MAX / 2**20:,.0f} MiB")
            out.write(piece)


def _unpack_members(file: Path, tar: tarfile.TarFile, headers: _Headers, folder: Path) -> None:
    size = 0
    for number, member in enumerate(tar, start=1):
        headers.bytes_left = HEADER_BYTES_MAX
        size += member.size
        if member.size < 0 or len(member.pax_headers) > HEADER_FIELDS_MAX:
            _refuse(file, f"{shown(member.name)} has a header that no bundle has")
        if number > FILES_MAX + 1 or size > BYTES_MAX:
            _refuse(file, f"it holds more than {FILES_MAX:,} files or {BYTES_MAX / 2**20:,.0f} MiB")
        if member.isdir():
            continue
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
            _refuse(file, f"{shown(member.name)} is no plain file")
        parts = PurePosixPath(member.name).parts
        if not _is_inside(member.name, parts) or (parts[0] != RUN and parts != (ABOUT,)):
            _refuse(file, f"{shown(member.name)} is no place in a bundle")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        headers.file.seek(member.offset_data)
        left = member.size
        with path.open("xb") as out:
            while left:
                if not (piece := headers.file.read(min(left, PIECE_BYTES))):
                    _refuse(file, f"it is cut in {shown(member.name)}")
                left -= out.write(piece)


def _is_inside(name: str, parts: tuple[str, ...]) -> bool:
    return (
        name.isprintable()
        and 0 < len(parts) <= DEPTH_MAX
        and not any(part in ("/", "//", "..") or len(part.encode()) > NAME_BYTES_MAX for part in parts)
    )


def _refuse(file: Path, why: str, cause: BaseException | None = None) -> NoReturn:
    raise ConfigurationError(f"{file} is not replayed: {why}", advice="Give a file that `--bundle` wrote.") from cause
