"""A folder for what an analysis writes while it runs, which goes with its process, however that ends."""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "mqlab-analysis-"


def scratch_folder() -> Path:
    """A new folder, which is removed at the end of this process.

    A killed process cannot remove its own. The folder is locked as long as its process lives, and whoever makes the next
    one removes those that nobody holds.
    """
    _remove_abandoned()
    # It has its final name when it is locked, so that nobody takes it for an abandoned one before.
    made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
    fcntl.flock(os.open(made, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)
    folder = made.rename(made.with_name(made.name.removeprefix(".")))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # Those of other users cannot be opened, and those of living processes cannot be locked.
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
