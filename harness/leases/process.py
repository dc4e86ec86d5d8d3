"""A child process under a lease: it ends when this program does."""

import contextlib
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from harness.errors import LeaseError
from harness.leases import proc
from harness.leases.healing import HEAL_TIMEOUT_S, STOPPED_PROCESS
from harness.leases.lease import Lease
from harness.leases.proc import ProcessId
from harness.leases.store import LeaseData, LeaseValue

if TYPE_CHECKING:
    from harness.leases.leases import Leases

GONE_S_MAX = 60.0
"""From SIGKILL on. On a machine with far more to do than it can, a JVM of many threads takes more than seconds to be gone."""


class LeasedProcess:
    """A child process under a lease: it ends when the lease ends or its owner dies."""

    def __init__(self, popen: subprocess.Popen[bytes], lease: Lease, process: ProcessId, name: str) -> None:
        self._popen = popen
        self._process = process
        self.lease = lease
        self.name = name
        self.pid = popen.pid
        self.token = lease.record.id
        """In its environment."""
        self.stdin, self.stdout, self.stderr = popen.stdin, popen.stdout, popen.stderr
        """Where they were asked for as pipes."""

    @property
    def returncode(self) -> int | None:
        """Its exit code as of the last ``poll`` or ``wait``; minus the signal's number when a signal ended it."""
        return self._popen.returncode

    def identity(self) -> dict[str, LeaseValue]:
        """The data of a lease about something that is done to this process (``stopped-process``)."""
        return {"name": self.name, "pid": self.pid, "start_ticks": self._process.start_ticks, "token": self.token}

    def processes(self) -> list[ProcessId]:
        """The one that a pause stops: nodes and clients start no others."""
        return [self._process]

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._popen.poll()

    def pause(self, leases: "Leases", *, until_s: float) -> Lease:
        """SIGSTOP, under a lease that lets it go on in ``until_s`` seconds at the latest; heal that to resume.

        Returns once every thread stands still. Raises LeaseError when that does not come.
        """
        # Its token is not asked for: as long as its exit code is not taken, its pid is nobody else's.
        return stop_process(leases, self._process, self.identity(), until_s=until_s)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code. Raises subprocess.TimeoutExpired."""
        if self._popen.returncode is None and timeout is not None:
            # Popen's own wait with a timeout polls in steps of up to 50 ms; a kill is stamped more exactly than that.
            still_there = proc.wait_gone([self._process], timeout_s=timeout)
            # A leader that is a zombie may have threads that are still ending; its exit code comes a moment later.
            return self._popen.wait(0 if still_there else GONE_S_MAX)
        return self._popen.wait()

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; False when it is gone."""
        # Its token is not asked for: as long as its exit code is not taken, its pid is nobody else's.
        return self._popen.poll() is None and proc.send_signal(self._process, None, number)

    def kill(self, timeout_s: float = GONE_S_MAX) -> int:
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
        """Let it outlive this program from now on, until ``mqlab cluster down`` or the lease's end."""
        self.lease.keep()

    def release(self) -> None:
        """End what is left of it and of what it started, and remove the lease."""
        try:
            self.lease.end()
        finally:
            self._popen.poll()


def stop_process(leases: "Leases", process: ProcessId, data: LeaseData, *, until_s: float) -> Lease:
    """SIGSTOP of a process under a lease with this data (``stopped-process``); returns once every thread stands still.

    Raises LeaseError when that does not come; it goes on then.
    """
    lease = leases.hold(STOPPED_PROCESS, data, until_s=until_s)
    proc.send_signal(process, None, signal.SIGSTOP)
    deadline_s = time.monotonic() + HEAL_TIMEOUT_S
    while not process.is_stopped():
        if time.monotonic() >= deadline_s or not process.is_alive():
            lease.heal()
            raise LeaseError(f"{data['name']} (pid {process.pid}) did not stop")
        time.sleep(0.001)
    return lease


def reap(process: LeasedProcess) -> None:
    """Close our ends of its pipes, and forget one that outlives us on purpose."""
    if process.poll() is None and process.lease.record.kept:
        # The process outlives us on purpose; without a code, Popen would warn about that when it is collected.
        process._popen.returncode = 0
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
