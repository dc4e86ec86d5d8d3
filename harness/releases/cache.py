"""The lab's cache: its folders, the mark by which it is known again, and its removal.

``MQLAB_CACHE`` may name any folder, the user's home, too. So nothing is removed but the lab's own folders of a cache that carries
the lab's mark, which the lab leaves in a folder that it has made or found empty. A cache of before there was a mark gets it when it
is used next, never when it is to be removed: by the folders that are in it, and by a stamp that the lab alone leaves.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from harness.errors import ConfigurationError
from harness.paths import cache_home

MARK = ".rocketmq-incident-lab-cache"
FOLDERS = frozenset({"class-archives", "classes", "maven", "python", "spark"})
LAYERS = "image-*.tar"
"""What building an image leaves where it is killed."""
STAMPS = "maven/.*.verified.json"
"""What ``ensure_jars`` leaves, which every use of a cache begins with."""

_WORDS = "The cache of rocketmq-incident-lab. `mqlab runs clean --cache` removes the lab's folders beside this file, and it.\n"


def cache_folder(name: str, cache: Path | None = None) -> Path:
    """One of the cache's folders, which is made with the cache; ``cache`` is another one than the user's.

    Raises ConfigurationError where it cannot be made.
    """
    assert name in FOLDERS, name
    home = cache or cache_home()
    _make(home)
    # A cache that is only to be read stays without a mark, and is used all the same.
    with contextlib.suppress(OSError):
        if not is_marked(home) and _is_the_labs(home):
            (home / MARK).write_text(_WORDS, encoding="utf-8")
    folder = home / name
    _make(folder)
    return folder


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise ConfigurationError(
            f"the cache cannot be made at {folder}: {why}",
            advice="Set MQLAB_CACHE to a folder that you can write to.",
        ) from error


def is_marked(home: Path) -> bool:
    """Whether the folder carries the lab's mark."""
    return (home / MARK).is_file()


def _is_the_labs(home: Path) -> bool:
    """Whether a folder without a mark is empty, or holds what the lab's cache held and nothing else."""
    entries = {*home.iterdir()} - {*home.glob(LAYERS)}
    are_ours = all(entry.name in FOLDERS and entry.is_dir() and not entry.is_symlink() for entry in entries)
    return not any(home.iterdir()) or (are_ours and any(home.glob(STAMPS)))


def remove_cache() -> list[str]:
    """Remove the cache; returns the names of what else is in its folder, which stays, as does the folder then.

    Raises ConfigurationError: the folder does not carry the lab's mark.
    """
    home = cache_home()
    if not home.exists():
        return []
    require_mark()
    for name in sorted(FOLDERS):
        folder = home / name
        if folder.is_symlink():
            # What it leads to is somebody else's.
            folder.unlink()
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for layer in home.glob(LAYERS):
        layer.unlink(missing_ok=True)
    left = sorted(entry.name for entry in home.iterdir() if entry.name != MARK)
    if not left:
        (home / MARK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # where it is a link itself
            home.rmdir()
    return left


def require_mark() -> None:
    """Raises ConfigurationError: there is a folder where the cache would be, and it does not carry the lab's mark."""
    home = cache_home()
    if home.exists() and not is_marked(home):
        named = " (MQLAB_CACHE)" if os.environ.get("MQLAB_CACHE") else ""
        raise ConfigurationError(
            f"{home}{named} is not removed: it lacks {MARK}, by which a cache of the lab is known",
            advice="Remove it yourself where it is one; that of an older version gets the mark by `mqlab cluster fetch`.",
        )
