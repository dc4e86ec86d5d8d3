"""Our end of the pipe to the healer, which notices when this program dies."""

import contextlib
import dataclasses
import json
import os
import select
import signal
import sys
from typing import Self

from harness.errors import LeaseError
from harness.leases import proc
from harness.leases.proc import ProcessId
from harness.leases.store import LeaseStore, Owner
from harness.paths import isolated

# The write ends of the pipes to our healers. A forked child that never calls exec would hold them open, and its healer
# would not notice this process's death.
_doorbells: set[int] = set()


def _close_doorbells_in_child() -> None:
    for handle in _doorbells:
        with contextlib.suppress(OSError):
            os.close(handle)
    _doorbells.clear()


os.register_at_fork(after_in_child=_close_doorbells_in_child)


class HealerHandle:
    """Our end of the pipe to a healer process."""

    def __init__(self, process: ProcessId, doorbell: int) -> None:
        self.pid = process.pid
        self._process = process
        self._doorbell = doorbell
        self._reaped = False

    @classmethod
    def start(cls, store: LeaseStore, owner: Owner, *, timeout_s: float) -> Self:
        """Start it and wait until it says that it stands guard."""
        bell_read, bell_write = (_above_stdio(handle) for handle in os.pipe2(os.O_CLOEXEC))
        ready_read, ready_write = (_above_stdio(handle) for handle in os.pipe2(os.O_CLOEXEC))
        _doorbells.add(bell_write)
        os.set_blocking(bell_write, False)
        try:
            pid = _spawn_healer(store, owner, stdin=bell_read, stdout=ready_write)
            os.close(ready_write)
            ready_write = -1
            readable, _, _ = select.select([ready_read], [], [], timeout_s)
            process = proc.identify(pid)
            if not readable or os.read(ready_read, 16) != b"ready\n" or process is None:
                raise LeaseError(
                    "the healer process did not start, and without it nothing is started",
                    advice=f"See the end of {store.log_path}.",
                )
            return cls(process, bell_write)
        except OSError as error:
            raise LeaseError(f"cannot start the healer process: {error}") from error
        finally:
            for handle in (bell_read, ready_read, ready_write):
                if handle >= 0:
                    os.close(handle)

    def is_running(self) -> bool:
        """Also reaps it when it has died."""
        if not self._reaped:
            try:
                self._reaped = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
            except ChildProcessError:
                self._reaped = True
        return not self._reaped

    def ring(self) -> None:
        """Ask it to look at the leases again. A full pipe has rung already; a broken one is noticed elsewhere."""
        with contextlib.suppress(OSError):
            os.write(self._doorbell, b".")

    def close(self) -> None:
        """Let go of the pipe: the healer heals what is not kept, and leaves when nothing is left."""
        if self._doorbell in _doorbells:
            _doorbells.discard(self._doorbell)
            os.close(self._doorbell)

    def wait_gone(self, *, timeout_s: float) -> None:
        """Wait for its end, and take its exit code so that no zombie stays."""
        proc.wait_gone([self._process], timeout_s=timeout_s)
        self.is_running()


def _spawn_healer(store: LeaseStore, owner: Owner, *, stdin: int, stdout: int) -> int:
    # Isolated and without site-packages: it starts in some 30 ms whatever the working folder and the user's settings
    # are, and cannot be broken by a package. Its environment is nearly empty, so that it carries no lease's token: it
    # would be killed as a descendant when the harness itself runs under a lease.
    owner_json = json.dumps(dataclasses.asdict(owner))
    argv = [*isolated("harness.leases.healer"), str(store.state_dir), owner_json]
    log_flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    return os.posix_spawn(
        sys.executable,
        argv,
        {"LC_ALL": "C.UTF-8"},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_DUP2, stdout, 1),
            (os.POSIX_SPAWN_OPEN, 2, str(store.log_path), log_flags, 0o600),
        ],
        setsid=True,
        setsigdef=[signal.SIGCHLD],
    )


def _above_stdio(handle: int) -> int:
    """The same file above 2: a program that was started with its standard files closed gets those numbers first."""
    if handle > 2:
        return handle
    import fcntl

    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(handle)
    return moved
