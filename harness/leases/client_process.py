"""Where client processes run: as processes of this host (``harness.leases.leases.Leases``), or each in a container of its own."""

from collections.abc import Mapping, Sequence
from typing import IO, Protocol

from harness.leases.lease import Lease
from harness.leases.leases import Leases


class Child(Protocol):
    """The part of a process that commands go through. ``subprocess.Popen`` has it as well."""

    @property
    def pid(self) -> int:
        """Its process id on this host."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its standard output."""

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code. Raises subprocess.TimeoutExpired."""


class ClientProcess(Child, Protocol):
    """A child process under a lease. ``harness.leases.process.LeasedProcess`` is one."""

    def kill(self) -> int:
        """SIGKILL; the monotonic nanoseconds at which it was seen gone."""

    def pause(self, leases: Leases, *, until_s: float) -> Lease:
        """Let it stand still, under a lease that lets it go on in ``until_s`` seconds at the latest; heal that to resume.

        Returns once every thread stands still. Raises LeaseError when that does not come.
        """

    def release(self) -> None:
        """End what is left of it and strike off its lease."""


class ClientHost(Protocol):
    """Starts client processes."""

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        until_s: float,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> ClientProcess:
        """Start a process that ends in ``until_s`` seconds at the latest, and when this program dies.

        Raises LeaseError when it cannot be started.
        """
