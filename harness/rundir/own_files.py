"""A folder that somebody else has filled: what in it is its own, and what only leads out of it."""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from harness.bounded import opened
from harness.errors import RunDirectoryError, shown
from harness.printable import excerpt, printable

DEPTH_MAX = 64
"""So many folders may lie in each other below a run, of which those of the lab have some ten."""
NAME_BYTES_MAX = 255
"""Of one name, as Linux's file systems have it (``NAME_MAX``)."""
PLACE_BYTES_MAX = 2048
"""Of a place below a run, half of the longest path of Linux (``PATH_MAX``)."""
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})
_AGAIN = "Copy the run again from where it was made."


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

    What cannot be looked at is refused, too, and what is nested too deeply. Raises RunDirectoryError.
    """
    folders = [(str(folder), 0)]
    while folders:
        path, depth = folders.pop()
        require_shallow(path, depth)
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        folders.append((entry.path, depth + 1))
                    # A JVM may leave a socket behind, which no file of a run can be opened by.
                    elif not (stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
                        raise RunDirectoryError(
                            f"{printable(entry.path)} is a link, a pipe or a device, and a run holds folders and files alone",
                            advice="Put in its place what it leads to, if that is the run's own, or copy the run again from where "
                            "it was made.",
                        )
        except OSError as error:
            # Of a run under way something goes while it is looked at.
            if error.errno in _GONE:
                continue
            raise RunDirectoryError(
                f"{excerpt(path)} cannot be looked at ({error.strerror}), and a link in it might lead out of the run",
                advice="Let its user read it, or copy the run again from where it was made.",
            ) from error


def require_shallow(path: str, depth: int) -> None:
    """Refuse a folder that lies in more others than any of a run. Raises RunDirectoryError."""
    if depth > DEPTH_MAX:
        raise RunDirectoryError(
            f"{excerpt(path)} lies in more than {DEPTH_MAX} folders, and no run is nested so deeply", advice=_AGAIN
        )


def require_own_places(places: Iterable[str], what: str) -> None:
    """Refuse places below a run that lead out of it, or that no file of it can have. Raises RunDirectoryError."""
    for place in places:
        if why := why_no_place(place):
            raise RunDirectoryError(f"{what} {why}", advice=_AGAIN)


def why_no_place(place: str) -> str:
    """Why a document names there what is no place below a run; empty where it is one."""
    if "\0" in place or {"/", "//", ".."} & {*PurePosixPath(place).parts}:
        return f"names {shown(place)}, which lies outside of the run"
    if place in ("", ".") or place != str(PurePosixPath(place)):
        return f"names {shown(place)}, which is no place of a run"
    if max(map(_length, place.split("/"))) > NAME_BYTES_MAX or _length(place) > PLACE_BYTES_MAX:
        return f"names {shown(place)}, which is longer than any file's name"
    return ""


def _length(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
