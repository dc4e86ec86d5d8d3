"""A run in one file: packed with what says how it was made, and unpacked with nothing trusted that it holds."""

from __future__ import annotations

import io
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NoReturn

from harness.bounded import parsed, read_whole
from harness.errors import ConfigurationError, shown
from harness.rundir.files import write_error
from harness.rundir.manifest import Manifest, read_manifest
from harness.unpacked import Bounds, PackedError, is_plain, tar_members

VERSION = 1
ABOUT, RUN = "bundle.json", "run"
FILES_MAX = 20_000
BYTES_MAX = 2 * 2**30
"""Of all files together, unpacked."""
ABOUT_BYTES_MAX = 2**20
DEPTH_MAX, NAME_BYTES_MAX = 16, 255


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
    try:
        for member, pieces in tar_members(file, Bounds(bytes_max=BYTES_MAX, members_max=FILES_MAX + 1)):
            if not member.isdir():
                _write(_place_of(file, member, folder), pieces)
        about = parsed(read_whole(folder / ABOUT, ABOUT_BYTES_MAX).decode())
        version = about["bundle"]
    except PackedError as error:
        _refuse(file, str(error), error)
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        _refuse(file, f"it is damaged, or no bundle ({' '.join(str(error).split()) or type(error).__name__})", error)
    if version != VERSION:
        _refuse(file, f"it is of version {shown(str(version))}, and this lab reads {VERSION}")
    return folder / RUN


def _place_of(file: Path, member: tarfile.TarInfo, folder: Path) -> Path:
    if not is_plain(member):
        _refuse(file, f"{shown(member.name)} is no plain file")
    parts = PurePosixPath(member.name).parts
    if not _is_inside(member.name, parts) or (parts[0] != RUN and parts != (ABOUT,)):
        _refuse(file, f"{shown(member.name)} is no place in a bundle")
    return folder.joinpath(*parts)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as out:
        out.writelines(pieces)


def _is_inside(name: str, parts: tuple[str, ...]) -> bool:
    return (
        name.isprintable()
        and 0 < len(parts) <= DEPTH_MAX
        and not any(part in ("/", "//", "..") or len(part.encode()) > NAME_BYTES_MAX for part in parts)
    )


def _refuse(file: Path, why: str, cause: BaseException | None = None) -> NoReturn:
    raise ConfigurationError(f"{file} is not replayed: {why}", advice="Give a file that `--bundle` wrote.") from cause
