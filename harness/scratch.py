"""Folders for what a command needs no longer than it runs, in the state folder: a killed one cannot remove its own.

Each is locked as long as its process lives. Whoever makes the next one or cleans up removes those that nobody holds.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.errors import ConfigurationError
from harness.paths import state_home

_FOLDER = "scratch"


@contextlib.contextmanager
def scratch_folder(state_dir: Path | None = None) -> Iterator[Path]:
    """A new folder, for the time of the block. Raises ConfigurationError where it cannot be made."""
    folder, handle = _locked(state_dir or state_home())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def scratch_of_process(state_dir: Path | None = None) -> Path:
    """A new folder, which is removed at the end of this process. Raises ConfigurationError where it cannot be made."""
    folder, _ = _locked(state_dir or state_home())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _locked(state_dir: Path) -> tuple[Path, int]:
    remove_abandoned(state_dir)
    home = state_dir / _FOLDER
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        # It has its final name when it is locked, so that nobody takes it for an abandoned one before.
        made = Path(tempfile.mkdtemp(dir=home, prefix="."))
    except OSError as error:
        raise ConfigurationError(
            f"cannot make a folder in {home}: {error.strerror}",
            advice="Set MQLAB_HOME to a folder that you can write to.",
        ) from error
    handle = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return made.rename(made.with_name(made.name.removeprefix("."))), handle


def remove_abandoned(state_dir: Path) -> None:
    """Remove those of processes that are gone."""
    for folder in (state_dir / _FOLDER).glob("[!.]*"):
        # Those of living processes cannot be locked.
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
