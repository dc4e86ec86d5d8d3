"""Limits that a shell sets (``ulimit``): what they are, what needs more of them, and what Java says when one is met."""

import re
import resource

from harness.errors import ConfigurationError

FILES_MIN = 256
"""A broker opens some two hundred jars and files of its store before it takes a request."""
FILES_WANTED = 1024
"""What Linux gives by default. A JVM raises its own to the most that is allowed."""

_FILES = re.compile(r"Too many open files")
_MEMORY = re.compile(
    r"Could not (?:reserve|allocate)|insufficient memory|Cannot allocate memory|[Uu]nable to create (?:new )?native thread"
    r"|Native memory allocation|OutOfMemoryError|failed to map|Failed to (?:reserve|commit|create)|pthread_create failed"
)


def require_files() -> None:
    """Let this process, and those that it starts, open as many files as they need. Raises ConfigurationError: they may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= FILES_WANTED:
        return
    most = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    if most < FILES_MIN:
        raise ConfigurationError(
            f"a process may open {most} files here (ulimit -n), and a broker needs {FILES_MIN} at least",
            advice="Raise the limit, for example with ulimit -n 4096 in a new shell.",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def met_limit(text: str) -> str:
    """What to do about a limit that somebody's last words show was met; empty where they show none."""
    if _FILES.search(text):
        return f"It could not open more files: {limits('files')}. Raise it, for example with ulimit -n 4096."
    if _MEMORY.search(text):
        return (
            f"It got no more memory or threads: {limits('memory', 'processes')}. Raise what is low, or free some of the "
            "machine's memory."
        )
    return ""


def limits(*names: str) -> str:
    """How a shell shows and sets them, and what they are now."""
    return ", ".join(f"{_OPTION[name]} is {_value(_LIMIT[name], _UNIT[name])}" for name in names)


_OPTION = {"memory": "ulimit -v", "processes": "ulimit -u", "files": "ulimit -n"}
_LIMIT = {"memory": resource.RLIMIT_AS, "processes": resource.RLIMIT_NPROC, "files": resource.RLIMIT_NOFILE}
_UNIT = {"memory": 1024, "processes": 1, "files": 1}


def _value(limit: int, unit: int) -> str:
    soft, _ = resource.getrlimit(limit)
    return "unlimited" if soft == resource.RLIM_INFINITY else str(soft // unit)
