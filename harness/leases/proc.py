"""Which process is which, as Linux's /proc tells it.

A pid alone names nothing, since it is used again after its process is gone. A process is known here by its pid and
start time within one boot, and as ours by a random token in its environment, which its descendants inherit. Standard
library only: the healer process imports this.
"""

import functools
import os
import select
import signal
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

TOKEN_VARIABLE = "MQLAB_LEASE"  # noqa: S105 - a name, and the tokens are no secrets
_TOKEN_KEY = TOKEN_VARIABLE.encode() + b"="
_PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class ProcessId:
    """A process of this boot. ``start_ticks`` is field 22 of /proc/PID/stat, in clock ticks since the boot."""

    pid: int
    start_ticks: int

    def is_alive(self) -> bool:
        """False as well for a zombie: it runs nothing, it only waits for its parent to ask for its exit code."""
        state = read_stat(self.pid)
        return state is not None and state.start_ticks == self.start_ticks and state.runs

    def is_stopped(self) -> bool:
        """True while a stop signal or a tracer holds the process."""
        state = read_stat(self.pid)
        return state is not None and state.start_ticks == self.start_ticks and state.code in "Tt"

    def has_token(self, token: str) -> bool:
        """True when the process lives and was started, by us, with this token in its environment."""
        return self.is_alive() and _token_of(self.pid) == token


@dataclass(frozen=True, kw_only=True)
class Stat:
    """``code`` is one letter, of the first thread: R running, S sleeping, T stopped, Z zombie, ...

    ``cpu_ticks`` is what all threads have computed so far, in clock ticks: the process's own code, and the kernel for it.
    """

    code: str
    start_ticks: int
    threads: int
    cpu_ticks: int

    @property
    def runs(self) -> bool:
        """A first thread that is a zombie may have others that live, or are still on their way out: a killed JVM
        keeps its ports and its memory until the last one is gone."""
        return self.code not in "ZX" or self.threads > 1


def read_stat(pid: int) -> Stat | None:
    """None when there is no such process."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The command's name is in parentheses and may itself hold spaces and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return Stat(
        code=fields[0].decode(),
        start_ticks=int(fields[19]),
        threads=int(fields[17]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
    )


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now, or None. A zombie is still identified."""
    state = read_stat(pid)
    return None if state is None else ProcessId(pid=pid, start_ticks=state.start_ticks)


@functools.cache
def boot_id() -> str:
    """A random name of the time since the machine was started."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


@functools.cache
def pid_namespace() -> str:
    """Pids mean something within one namespace only; a home folder can be shared between containers."""
    return str((_PROC / "self/ns/pid").readlink())


def with_tokens(tokens: Collection[str]) -> dict[str, list[ProcessId]]:
    """All living processes that carry one of the tokens in their environment. Those of other users are not seen."""
    found: dict[str, list[ProcessId]] = {}
    for pid in [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]:
        process = identify(pid)
        if process is None:
            continue
        token = _token_of(process.pid)
        if token is not None and token in tokens and process.is_alive():
            found.setdefault(token, []).append(process)
    return found


def send_signal(process: ProcessId, token: str | None, number: signal.Signals) -> bool:
    """Signal the process if it is still the same one and carries the token; False when it is not, or is gone.

    The pid is pinned by a pidfd before it is checked, so that it cannot become another process's in between. Without
    a token only pid and start time are checked, which is enough for a child of ours whose exit code is not taken yet.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if not (process.is_alive() if token is None else process.has_token(token)):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def wait_gone(processes: Iterable[ProcessId], *, timeout_s: float) -> list[ProcessId]:
    """Wait until all are gone (a zombie is) and return those that are not after ``timeout_s``."""
    deadline_s = time.monotonic() + timeout_s
    left: list[ProcessId] = []
    for process in processes:
        try:
            handle = os.pidfd_open(process.pid)
        except OSError:
            continue
        try:
            # Readable once the last thread is gone.
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if identify(process.pid) == process and not poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
                left.append(process)
        finally:
            os.close(handle)
    return left


def _token_of(pid: int) -> str | None:
    entries = _environment_of(pid).split(b"\0")
    found = (entry for entry in entries if entry.startswith(_TOKEN_KEY))
    return next((entry.removeprefix(_TOKEN_KEY).decode("ascii", "replace") for entry in found), None)


def _environment_of(pid: int) -> bytes:
    """Empty for a zombie, a kernel thread, and a process that we may not look into."""
    folder = _PROC / str(pid)
    environment = _read(folder / "environ")
    if not environment and (state := read_stat(pid)) is not None and state.code == "Z" and state.runs:
        # The first thread has ended and shows nothing any more; the others still do.
        try:
            threads = list((folder / "task").iterdir())
        except OSError:
            return b""
        return next((found for thread in threads if (found := _read(thread / "environ"))), b"")
    return environment


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
