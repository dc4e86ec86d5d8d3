"""The thawer: the freezer's second, which thaws what the freezer has frozen when that was killed or is late.

Whoever kills harness, healer, understudy and freezer leaves this one: it carries no token of a lease and has a session of its
own. It keeps the file system's handle open, so that it has nothing to look for on a host that waits for a frozen disk. It reads
when the freeze has to be over:

    NANOSECONDS     of CLOCK_MONOTONIC; 0 when it is over

Its standard input closes when the freezer ends, and so does it. What it was not told to be frozen it does not touch.
"""

import contextlib
import os
import select
import signal
import sys
import time
from typing import Self

from harness.leases import kernel
from harness.paths import isolated

START_S_MAX = 15.0


class Thawer:
    """The freezer's end of it."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    @classmethod
    def start(cls, mountpoint: str) -> Self:
        """Start it and wait until it is ready. Raises OSError."""
        told, tell = os.pipe()
        heard, said = os.pipe()
        os.posix_spawn(
            sys.executable,
            [*isolated("harness.faults.programs.thawer"), mountpoint],
            {"LC_ALL": "C.UTF-8"},
            file_actions=[(os.POSIX_SPAWN_DUP2, told, 0), (os.POSIX_SPAWN_DUP2, said, 1)],
            setsid=True,
        )
        os.close(told)
        os.close(said)
        readable, _, _ = select.select([heard], [], [], START_S_MAX)
        if not readable or not os.read(heard, 8):
            raise OSError("its thawer did not start")
        os.close(heard)
        return cls(tell)

    def expect(self, thawed_by_ns: int) -> None:
        """Say when a freeze that begins now has to be over; 0: it is. One that was killed leaves that to the lease's healer."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._pipe, f"{thawed_by_ns}\n".encode())


def main(argv: list[str]) -> None:
    """``argv`` is the mountpoint."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    handle = kernel.open_mountpoint(argv[0])
    kernel.lock_memory()
    os.write(1, b"ready\n")
    thawed_by_ns = 0
    while True:
        left_s = max(0.0, (thawed_by_ns - time.monotonic_ns()) / 1e9) if thawed_by_ns else None
        readable, _, _ = select.select([0], [], [], left_s)
        told = os.read(0, 64) if readable else b"0"
        if thawed_by_ns and (not readable or not told):
            kernel.thaw(handle)
        if not told:
            return
        thawed_by_ns = int(told.split()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
