"""A folder that somebody else has filled: what in it is its own, and what only leads out of it."""

import stat
from pathlib import Path


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
