"""Our end of the pipe to the healer, which notices when this program dies."""

import contextlib
import dataclasses
import json
import os
import select
import signal
import sys
import time
from typing import Self

from harness.errors import LeaseError
from harness.leases import proc
from harness.leases.proc import ProcessId
from harness.leases.store import LeaseStore, Owner
from harness.paths import isolated

TAKE_OVER_S_MAX = 20.0

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
    """Our ends of the pipes to whoever guards: a healer, or the understudy that has taken its place."""

    def __init__(self, child: int, doorbell: int, standing: int) -> None:
        self.pid = child
        self.understudy_pid = 0
        self._healer: ProcessId | None = None
        self._child: int | None = child
        self._doorbell = doorbell
        self._standing = standing
        self._is_deserted = False
        """Neither of them lives."""

    @classmethod
    def start(cls, store: LeaseStore, owner: Owner, *, timeout_s: float) -> Self:
        """Start it and wait until it says that it and its understudy stand guard."""
        bell_read, bell_write = (_above_stdio(handle) for handle in os.pipe2(os.O_CLOEXEC))
        standing_read, standing_write = (_above_stdio(handle) for handle in os.pipe2(os.O_CLOEXEC))
        _doorbells.add(bell_write)
        os.set_blocking(bell_write, False)
        try:
            child = _spawn_healer(store, owner, stdin=bell_read, stdout=standing_write)
        except OSError as error:
            raise LeaseError(f"cannot start the healer process: {error}") from error
        finally:
            os.close(bell_read)
            os.close(standing_write)
        handle = cls(child, bell_write, standing_read)
        if not handle._hear(timeout_s):
            handle.close()
            raise LeaseError(
                "the healer process did not start, and without it nothing is started",
                advice=f"See the end of {store.log_path}.",
            )
        return handle

    def is_running(self) -> bool:
        """Whether one stands guard; waits for an understudy to take the place of a healer that was killed.

        Raises LeaseError when it does not, and lives.
        """
        while self._hear(0.0):
            continue
        while self._healer is None or not self._healer.is_alive():
            self._reap()
            if not self._hear(TAKE_OVER_S_MAX):
                if self._is_deserted:
                    return False
                # Another one must not be started: this one, once it goes on, would take our closed pipe for our end.
                raise LeaseError(
                    f"the healer is gone, its understudy (pid {self.understudy_pid}) has not taken its place after "
                    f"{TAKE_OVER_S_MAX:.0f} s, and without it nothing is started",
                    advice="Was it stopped?",
                )
        return True

    def ring(self) -> None:
        """Ask it to look at the leases again. A full pipe has rung already; a broken one is noticed elsewhere."""
        with contextlib.suppress(OSError):
            os.write(self._doorbell, b".")

    def close(self, *, wait_s: float = 0.0) -> None:
        """Let go of the pipes: the healer heals what is not kept, and leaves when nothing is left.

        With ``wait_s`` so long is waited for that, and no zombie stays.
        """
        if self._doorbell not in _doorbells:
            return
        _doorbells.discard(self._doorbell)
        os.close(self._doorbell)
        deadline_s = time.monotonic() + wait_s
        while wait_s and self._hear(max(0.0, deadline_s - time.monotonic())):
            continue
        if wait_s and self._healer is not None:
            proc.wait_gone([self._healer], timeout_s=max(0.0, deadline_s - time.monotonic()))
        self._reap()
        os.close(self._standing)

    def _hear(self, timeout_s: float) -> bool:
        """Take in who stands guard now; False when nobody says so in time."""
        readable, _, _ = select.select([self._standing], [], [], timeout_s)
        said = os.read(self._standing, 65536) if readable else b""
        self._is_deserted = bool(readable) and not said
        if not said:
            return False
        self.pid, self.understudy_pid = map(int, said.splitlines()[-1].split())
        self._healer = proc.identify(self.pid)
        return True

    def _reap(self) -> None:
        """Take the exit code of the one that is our child; an understudy is not."""
        if self._child is not None:
            try:
                ended = os.waitpid(self._child, os.WNOHANG)[0] == self._child
            except ChildProcessError:
                ended = True
            self._child = None if ended else self._child


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
