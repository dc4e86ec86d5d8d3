"""The freezer: a process of its own that freezes one file system for an exact time.

It touches nothing on that file system, has its memory locked and, where allowed, a real-time priority, so that neither
the frozen file system nor a busy interpreter delays the thaw. One line in, one out:

    (start)            -> ready REALTIME          1 when it has a real-time priority, else 0
    freeze NANOSECONDS -> ASKED ENGAGED THAWING RELEASED     CLOCK_MONOTONIC in nanoseconds
                       or error TEXT

The time counts from ENGAGED, when the freeze call has returned, to RELEASED, when the thaw call has. When its standard
input closes (its owner is gone), it thaws at once and ends: it must not be killed then, as other programs are. A killed freezer
leaves the thaw to its lease's healer, and to its own thawer (``harness.faults.programs.thawer``), whom nobody kills with it.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import time

from harness.faults.programs.thawer import Thawer
from harness.leases import kernel

_SPIN_NS = 500_000
"""A sleep may end some tens of microseconds late; the last half millisecond is waited for awake."""

_PRIORITY = 20

_LATE_NS_MAX = 5_000_000_000
"""A freeze that is not over so long after its time is the thawer's to end."""


def freeze_for(handle: int, nanoseconds: int, owner: int) -> tuple[int, int, int, int]:
    """Freeze, wait, thaw; the four stamps. ``owner`` is a pipe whose end ends the freeze. Raises OSError."""
    # What is clean already is not written while writers wait: this shortens the way into the freeze.
    kernel.sync_file_system(handle)
    asked_ns = time.monotonic_ns()
    kernel.freeze(handle)
    engaged_ns = time.monotonic_ns()
    try:
        _wait_until(engaged_ns + nanoseconds, owner)
    finally:
        thawing_ns = time.monotonic_ns()
        kernel.thaw(handle)
        released_ns = time.monotonic_ns()
    return asked_ns, engaged_ns, thawing_ns, released_ns


def _wait_until(end_ns: int, owner: int) -> None:
    while (left_ns := end_ns - time.monotonic_ns()) > 0:
        if left_ns <= _SPIN_NS:
            continue
        # Without a real-time priority the kernel lets a long wait end late, by up to a two-hundredth of its length.
        pause_ns = left_ns - max(_SPIN_NS, left_ns // 50)
        readable, _, _ = select.select([owner], [], [], pause_ns / 1e9)
        if readable:
            return


def _prefer() -> bool:
    kernel.lock_memory()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        return False
    return True


def _say(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # The owner is gone, which the next read tells as well.
        os.write(1, f"{text}\n".encode())


def main(argv: list[str]) -> None:
    """``argv`` is the mountpoint."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    handle = kernel.open_mountpoint(argv[0])
    thawer = Thawer.start(argv[0])
    gc.disable()
    _say(f"ready {int(_prefer())}")
    while line := os.read(0, 64):
        words = line.split()
        if len(words) != 2 or words[0] != b"freeze" or not words[1].isdigit():
            _say("error what is asked is not: freeze NANOSECONDS")
            continue
        thawer.expect(time.monotonic_ns() + int(words[1]) + _LATE_NS_MAX)
        try:
            answer = " ".join(map(str, freeze_for(handle, int(words[1]), owner=0)))
        except OSError as error:
            answer = f"error {error}"
        thawer.expect(0)
        _say(answer)


if __name__ == "__main__":
    main(sys.argv[1:])
