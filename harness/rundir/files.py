"""Files that are either the old or the new whole, never half."""

import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.errors import FULL, ConfigurationError, DiskFullError, LabError

TEMPORARY = "temporary"
"""A folder for what the libraries of a process unpack; no evidence."""

JsonValue = str | int | float | bool | None

FREE_BYTES_MIN = 4 * 2**20
"""With less than this a disk takes a load's records for a second or two more, and the documents that end its run."""

_SPACE_ADVICE = "Make room and resume the run with --resume; what was recorded so far is whole."


def replace_file(path: Path, text: str) -> None:
    """Replace the file by ``text`` (UTF-8) as a whole, on the disk when this returns; its folder is made.

    A byte of a name that is no UTF-8, which Python has as half a character, is written as JSON escapes it.

    Raises DiskFullError or LabError; the old file stays then.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # One of an ended process of that number, or a link that somebody else left there, is not written to.
        draft.unlink(missing_ok=True)
        with draft.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        flush_to_disk(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise write_error(path, error) from error
        raise


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Replace the file by one JSON object. Raises DiskFullError or LabError; the old file stays then."""
    replace_file(path, json_text(value))


def json_text(value: Mapping[str, object]) -> str:
    """The text of a file that holds one JSON object."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def flush_to_disk(path: Path) -> None:
    """Have the disk hold what was written to a file or folder, by whichever process. Raises DiskFullError or LabError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise write_error(path, error) from error


def require_space(path: Path, needed_bytes: int) -> None:
    """Raise ConfigurationError when the file system of ``path`` (which need not exist yet) has less than that to offer."""
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise ConfigurationError(
            f"{path} needs {needed_bytes / 2**20:.0f} MiB and its file system has {free_bytes / 2**20:.0f} MiB left",
            advice="Make room, or choose another folder with --out.",
        )


def require_room(folder: Path) -> None:
    """Raise DiskFullError where the records of a run soon find no room; who writes them says so when they are closed, or never."""
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < FREE_BYTES_MIN:
        raise DiskFullError(
            f"the disk of {folder} is full ({free_bytes / 2**20:.1f} MiB are left), and the run was ended",
            advice=_SPACE_ADVICE,
        )


def write_error(path: Path, error: OSError) -> LabError:
    """The error to raise when ``path`` could not be written: a full disk is told apart, since it ends a run."""
    if error.errno in FULL:
        return DiskFullError(f"no room left to write {path}: {error.strerror}", advice=_SPACE_ADVICE)
    return LabError(f"cannot write {path}: {error.strerror}")
