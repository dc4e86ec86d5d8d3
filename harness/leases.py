"""Every process and every fault is written down before it exists, and ends even if this program dies.

A *lease* says what exists (or is about to), whose it is, and when it has to be gone at the latest. It is one JSON file
in the state folder, on disk before the thing itself. Three parties heal what a lease describes:

* its *owner* (the harness process), in the ordinary course of a run;
* the *healer*, a detached process (harness/healer.py) that notices the owner's death at once, since it holds the other
  end of a pipe, and that ends single leases whose time is over;
* ``clean``, called by the next run and by ``mqlab clean``, for what a crashed machine or a killed healer left.

A lease that is *kept* outlives its owner (``mqlab up``) until it is cleaned with ``include_kept`` or its time is over.
Nothing is touched that cannot be shown to be ours: see harness/proc.py for processes. Standard library only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar

from harness import proc
from harness.errors import LeaseError
from harness.lease_healing import HEAL_TIMEOUT_S, PROCESS, STOPPED_PROCESS, heal, require_known
from harness.lease_store import Healed, LeaseData, LeaseRecord, LeaseStore, LeaseValue, Owner, state_home
from harness.paths import PACKAGES
from harness.proc import TOKEN_VARIABLE, ProcessId


class Lease:
    """A lease that this process holds. Whoever undoes the thing calls ``release``, or lets ``heal`` do both."""

    def __init__(self, store: LeaseStore, record: LeaseRecord) -> None:
        self._store = store
        self._record = record
        self._lock = threading.Lock()

    @property
    def record(self) -> LeaseRecord:
        """What is written down now."""
        return self._record

    @property
    def is_held(self) -> bool:
        """False once it was released or healed, by whomever."""
        return self._store.exists(self._record.id)

    def update(self, data: LeaseData) -> None:
        """Write down more of what was learned about the thing."""
        self._rewrite(dataclasses.replace(self._record, data={**self._record.data, **data}))

    def renew(self, until_s: float) -> None:
        """Move the end to ``until_s`` seconds from now."""
        self._rewrite(dataclasses.replace(self._record, until_mono_ns=_until_mono_ns(until_s)))

    def keep(self) -> None:
        """Let it outlive this process from now on."""
        self._rewrite(dataclasses.replace(self._record, kept=True))

    def release(self) -> None:
        """The thing does not exist any more; the lease goes."""
        self._store.remove(self._record.id)

    def heal(self) -> Healed:
        """Undo the thing the way the healer would, now."""
        return heal(self._store, [self._record])[0]

    def _rewrite(self, record: LeaseRecord) -> None:
        with self._lock:
            if self.is_held:
                self._store.write(record)
            self._record = record


class LeasedProcess:
    """A child process under a lease: it ends when the lease ends or its owner dies."""

    def __init__(self, popen: subprocess.Popen[bytes], lease: Lease, process: ProcessId, name: str) -> None:
        self._popen = popen
        self._process = process
        self.lease = lease
        self.name = name

    @property
    def pid(self) -> int:
        """The pid, also after the process is gone."""
        return self._popen.pid

    @property
    def token(self) -> str:
        """The token in its environment."""
        return self.lease.record.id

    @property
    def returncode(self) -> int | None:
        """Its exit code as of the last ``poll`` or ``wait``; minus the signal's number when a signal ended it."""
        return self._popen.returncode

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input when that was asked for as a pipe."""
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its standard output when that was asked for as a pipe."""
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """Its standard error when that was asked for as a pipe."""
        return self._popen.stderr

    def identity(self) -> dict[str, LeaseValue]:
        """The data of a lease about something that is done to this process (``stopped-process``)."""
        return {"name": self.name, "pid": self.pid, "start_ticks": self._process.start_ticks, "token": self.token}

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._popen.poll()

    def pause(self, leases: Leases, *, until_s: float) -> Lease:
        """SIGSTOP, under a lease that lets it go on in ``until_s`` seconds at the latest; heal that to resume.

        Returns once every thread stands still. Raises LeaseError when that does not come.
        """
        lease = leases.hold(STOPPED_PROCESS, self.identity(), until_s=until_s)
        self.send_signal(signal.SIGSTOP)
        deadline_s = time.monotonic() + HEAL_TIMEOUT_S
        while not self._process.is_stopped():
            if time.monotonic() >= deadline_s or self.poll() is not None:
                lease.heal()
                raise LeaseError(f"{self.name} (pid {self.pid}) did not stop")
            time.sleep(0.001)
        return lease

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code. Raises subprocess.TimeoutExpired."""
        if self._popen.returncode is None and timeout is not None:
            # Popen's own wait with a timeout polls in steps of up to 50 ms; a kill is stamped more exactly than that.
            still_there = proc.wait_gone([self._process], timeout_s=timeout)
            # A leader that is a zombie may have threads that are still ending; its exit code comes a moment later.
            return self._popen.wait(0 if still_there else 5.0)
        return self._popen.wait()

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; False when it is gone."""
        # Its token is not asked for: as long as its exit code is not taken, its pid is nobody else's.
        return self._popen.poll() is None and proc.send_signal(self._process, None, number)

    def kill(self, timeout_s: float = 5.0) -> int:
        """SIGKILL, wait until it and what it started are gone, release the lease.

        Returns the monotonic nanoseconds at which the process was seen gone. Raises LeaseError when it stays.
        """
        self.send_signal(signal.SIGKILL)
        try:
            self.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise LeaseError(f"{self.name} (pid {self.pid}) is still there {timeout_s} s after SIGKILL") from error
        gone_ns = time.monotonic_ns()
        self.release()
        return gone_ns

    def terminate(self, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL when it has not ended after ``grace_s``; True when it ended by itself."""
        self.send_signal(signal.SIGTERM)
        try:
            self.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self.release()
        return True

    def keep(self) -> None:
        """Let it outlive this program from now on, until ``mqlab down`` or the lease's end."""
        self.lease.keep()

    def release(self) -> None:
        """End what is left of it and of what it started, and remove the lease."""
        healed = self.lease.heal()
        self._popen.poll()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be ended: {healed.action}")


# The write ends of the pipes to our healers. A forked child that never calls exec would hold them open, and its healer
# would not notice this process's death.
_doorbells: set[int] = set()


def _close_doorbells_in_child() -> None:
    for handle in _doorbells:
        with contextlib.suppress(OSError):
            os.close(handle)
    _doorbells.clear()


os.register_at_fork(after_in_child=_close_doorbells_in_child)


class Leases:
    """The leases of one owner, and the healer that guards them. Safe to use from several threads.

    ::

        with Leases.open(state_home()) as leases:
            broker = leases.spawn(["java", ...], name="broker-a", until_s=3600)
            stop = broker.pause(leases, until_s=30)

    Leaving the block heals everything that is not kept.
    """

    HEALER_START_TIMEOUT_S: ClassVar[float] = 20.0

    def __init__(self, store: LeaseStore, owner: Owner) -> None:
        self._store = store
        self.owner = owner
        self._opened_by = os.getpid()
        # Held while something is written down and started, so that nothing is started behind ``close``.
        self._lock = threading.RLock()
        self._processes: list[LeasedProcess] = []
        self._healer: _HealerHandle | None = None
        self._closed = False

    @classmethod
    def open(cls, state_dir: Path | None = None, owner_pid: int | None = None) -> Leases:
        """Open the state folder for this process (or ``owner_pid``) and start the healer. Raises LeaseError."""
        if not Path("/proc/self/environ").exists():
            raise LeaseError("leases need Linux's /proc", advice="Run the lab on Linux, or in a container.")
        store = LeaseStore((state_dir or state_home()).absolute())
        leases = cls(store, Owner.of(owner_pid or os.getpid()))
        leases.ensure_healer()
        return leases

    def __enter__(self) -> Leases:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def state_dir(self) -> Path:
        """The folder of the lease files."""
        return self._store.state_dir

    @property
    def healer_pid(self) -> int:
        """The pid of the healer that was started last."""
        return self._healer.pid if self._healer else 0

    def ensure_healer(self) -> None:
        """Start the healer if it is not running. Every new lease does this first."""
        with self._lock:
            if self._closed:
                raise LeaseError("these leases are closed already")
            if self._healer is not None and self._healer.is_running():
                self._healer.ring()
                return
            if self._healer is not None:
                self._healer.close()
            self._healer = _HealerHandle.start(self._store, self.owner, timeout_s=self.HEALER_START_TIMEOUT_S)

    def hold(self, kind: str, data: LeaseData, until_s: float, *, kept: bool = False) -> Lease:
        """Write down something that is about to be done; it is healed in ``until_s`` seconds at the latest.

        When this returns, do it; when it is undone, ``release`` the lease.
        """
        require_known(kind)
        with self._lock:
            self.ensure_healer()
            record = self._record(kind, data, until_s=until_s, kept=kept)
            self._store.write(record)
            self._ring()
        return Lease(self._store, record)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        until_s: float,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | IO[bytes] | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        kept: bool = False,
    ) -> LeasedProcess:
        """Start a process in a session of its own, with its lease written down first.

        ``env`` is its whole environment (None: ours), to which the lease's token is added. It is killed in ``until_s``
        seconds at the latest, when this process dies (unless ``kept``), and when the leases are closed. Raises
        LeaseError when it cannot be started.
        """
        data: dict[str, LeaseValue] = {"name": name, "argv": shlex.join(argv)[:500], "pid": None, "start_ticks": None}
        with self._lock:
            self.ensure_healer()
            record = self._record(PROCESS, data, until_s=until_s, kept=kept)
            lease = Lease(self._store, record)
            self._store.write(record)
            environment = {**(os.environ if env is None else env), TOKEN_VARIABLE: record.id}
            try:
                popen = subprocess.Popen(
                    list(argv),
                    env=environment,
                    cwd=cwd,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                lease.release()
                raise LeaseError(f"cannot start {name} ({argv[0]}): {error}") from error
            # A child that has ended already is still identified, as a zombie; gone only where zombies are not kept.
            process = proc.identify(popen.pid) or ProcessId(pid=popen.pid, start_ticks=-1)
            leased = LeasedProcess(popen, lease, process, name)
            self._processes.append(leased)
        try:
            lease.update({"pid": process.pid, "start_ticks": process.start_ticks})
        except LeaseError:
            leased.kill()
            raise
        self._ring()
        return leased

    def close(self) -> list[Healed]:
        """Heal everything that is not kept, and let the healer go. Raises LeaseError when something stays.

        In a forked child this does nothing: it owns nothing.
        """
        with self._lock:
            if self._closed or os.getpid() != self._opened_by:
                return []
            self._closed = True
        records, _ = self._store.read_all()
        mine = [record for record in records if record.owner == self.owner]
        healed = heal(self._store, [record for record in mine if not record.kept])
        for process in self._processes:
            _reap(process)
        if self._healer is not None:
            self._healer.close()
            if not any(record.kept for record in mine) and all(result.complete for result in healed):
                self._healer.wait_gone(timeout_s=3.0)
        left = [result for result in healed if not result.complete]
        if left:
            raise LeaseError(
                f"could not heal {'; '.join(map(str, left))}",
                advice=f"`mqlab clean` tries again; the leases are in {self._store.state_dir}.",
            )
        return healed

    def _record(self, kind: str, data: LeaseData, *, until_s: float, kept: bool) -> LeaseRecord:
        return LeaseRecord(
            id=secrets.token_hex(16),
            kind=kind,
            data=dict(data),
            owner=self.owner,
            kept=kept,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            created_mono_ns=time.monotonic_ns(),
            until_mono_ns=_until_mono_ns(until_s),
        )

    def _ring(self) -> None:
        healer = self._healer
        if healer is not None:
            healer.ring()


def _until_mono_ns(until_s: float) -> int:
    return time.monotonic_ns() + int(until_s * 1e9)


def _reap(process: LeasedProcess) -> None:
    if process.poll() is None and process.lease.record.kept:
        # The process outlives us on purpose; without a code, Popen would warn about that when it is collected.
        process._popen.returncode = 0
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


class _HealerHandle:
    """Our end of the pipe to a healer process."""

    def __init__(self, process: ProcessId, doorbell: int) -> None:
        self.pid = process.pid
        self._process = process
        self._doorbell = doorbell
        self._reaped = False

    @classmethod
    def start(cls, store: LeaseStore, owner: Owner, *, timeout_s: float) -> _HealerHandle:
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


_HEALER_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from harness.healer import main; main(sys.argv[2:])"


def _spawn_healer(store: LeaseStore, owner: Owner, *, stdin: int, stdout: int) -> int:
    # Isolated and without site-packages: it starts in some 30 ms whatever the working folder and the user's settings
    # are, and cannot be broken by a package. Its environment is nearly empty, so that it carries no lease's token: it
    # would be killed as a descendant when the harness itself runs under a lease.
    owner_json = json.dumps(dataclasses.asdict(owner))
    argv = [sys.executable, "-I", "-S", "-c", _HEALER_BOOT, str(PACKAGES), str(store.state_dir), owner_json]
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
