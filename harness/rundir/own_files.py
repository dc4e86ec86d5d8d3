"""A folder that somebody else has filled: what in it is its own, and what only leads out of it."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from harness.bounded import opened
from harness.errors import RunDirectoryError, shown


def own_file(folder: Path, *place: str) -> Path | None:
    """The regular file at that place below the folder; None where there is none, or where a link leads to it.

    Neither the file nor a folder on the way to it may be a link: it would lead to any file that its reader may read. The folder
    itself may be one, since its user has named it.
    """
    path = folder
    try:
        for depth, name in enumerate(place, start=1):
            if name in ("", ".", "..") or "/" in name:
                return None
            path = path / name
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) if depth == len(place) else stat.S_ISDIR(mode)):
                return None
    except (OSError, ValueError):
        return None
    return path if place else None


def opened_own(folder: Path, *place: str) -> BinaryIO:
    """The file that ``own_file`` has the path of, open for reading: whoever exchanges a name meanwhile leads nobody elsewhere.

    Raises OSError where there is none, or a link leads to it.
    """
    *folders, name = place
    if any(one in ("", ".", "..") or "/" in one or "\0" in one for one in place):
        raise FileNotFoundError(errno.ENOENT, "it is no name of a file", str(folder.joinpath(*place)))
    within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for one in folders:
            inner = os.open(one, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
            os.close(within)
            within = inner
        return opened(name, follow=False, within=within)
    finally:
        os.close(within)


def require_own_files(folder: Path) -> None:
    """Refuse a folder in which a link, a pipe or a device is anywhere: whoever reads or writes there would do so elsewhere.

    Raises RunDirectoryError.
    """
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        folders.append(entry.path)
                    # A JVM may leave a socket behind, which no file of a run can be opened by.
                    elif not (stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
                        raise RunDirectoryError(
                            f"{Path(entry.path)} is a link, a pipe or a device, and a run holds folders and files alone",
                            advice="Put in its place what it leads to, if that is the run's own, or copy the run again from where "
                            "it was made.",
                        )
        except OSError:
            # Of a run under way something goes while it is looked at; what cannot be read is said by whoever wants it.
            continue


def require_own_places(places: Iterable[str], what: str) -> None:
    """Refuse places below a folder that lead out of it. Raises RunDirectoryError."""
    for place in places:
        if "\0" in place or {"/", "//", ".."} & {*PurePosixPath(place).parts}:
            raise RunDirectoryError(f"{what} names {shown(place)}, which lies outside of the run")
