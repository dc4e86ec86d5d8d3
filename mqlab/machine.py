"""What a limit of this machine, or a folder of the user's, means to the user. What nothing of it explains is a defect of ours."""

from __future__ import annotations

import errno
from pathlib import Path

from harness.errors import FULL, ConfigurationError, DiskFullError, LabError
from harness.limits import limits
from harness.paths import cache_home, state_home

FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
FILES = frozenset({errno.EMFILE, errno.ENFILE})
SPENT = frozenset({errno.ENOMEM, errno.EAGAIN})


def of_this_machine(error: Exception) -> LabError | None:
    """The same error in words, with what to do; None where it may be a defect of ours."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in SPENT):
        return LabError(
            "the machine has no more memory or processes for it",
            advice=f"End what needs them, or raise the limits: {limits('memory', 'processes')}.",
        )
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return LabError(
            "the machine has no more threads for it",
            advice=f"End what needs them, or raise the limits: {limits('processes', 'memory')}.",
        )
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return ConfigurationError("there is no home folder", advice="Set HOME, or MQLAB_HOME and MQLAB_CACHE.")
    if not isinstance(error, OSError):
        return None
    place = str(error.filename or "")
    if error.errno in FILES:
        return LabError(
            f"too many files are open{f' to open {place}' if place else ''}",
            advice=f"Raise the limit in this shell, for example ulimit -n 4096: {limits('files')}.",
        )
    if error.errno in FULL:
        where = f"no room left to write {place}" if place else "a disk has no room left"
        return DiskFullError(f"{where}: {error.strerror}", advice="Make room; what was recorded before is whole.")
    if error.errno in FORBIDDEN and place:
        return ConfigurationError(f"{place} cannot be used: {error.strerror}", advice=_instead_of(place))
    return None


def _instead_of(place: str) -> str:
    path = Path(place).absolute()
    for variable, home in (("MQLAB_CACHE", cache_home()), ("MQLAB_HOME", state_home())):
        if path == home.absolute() or home.absolute() in path.parents or path in home.absolute().parents:
            return f"Set {variable} to a folder that you can write to."
    return ""
