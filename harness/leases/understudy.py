"""The understudy: a healer's second, which takes its place when it is killed, also together with the harness.

It is a fork of its healer, so that it is there within milliseconds and needs nothing of a disk that may be full by then. It
has a session of its own and is no descendant of the healer: whoever ends one with all that belongs to it leaves the other.
Standard library only.
"""

import contextlib
import os
import select
import signal
from io import FileIO
from pathlib import Path
from typing import Self

START_S_MAX = 10.0
END_S_MAX = 5.0


class Understudy:
    """Its healer's end of it. ``handle`` is readable once it has ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.handle = os.pidfd_open(pid)

    @classmethod
    def start(cls) -> Self | None:
        """Fork it, and wait until it stands by. Raises OSError.

        This returns in the understudy as well, with None: as soon as the healer that started it has ended.
        """
        with contextlib.ExitStack() as opened:
            healer = opened.enter_context(FileIO(os.pidfd_open(os.getpid())))
            heard, said = (opened.enter_context(FileIO(end, mode)) for end, mode in zip(os.pipe(), "rw", strict=True))
            if (middle := os.fork()) == 0:
                if _is_forked_off():
                    _stand_by(healer, said)
                    return None
                os._exit(0)
            said.close()
            os.waitpid(middle, 0)
            readable, _, _ = select.select([heard], [], [], START_S_MAX)
            pid = heard.read(16) if readable else b""
            if not pid:
                raise OSError("it did not stand by")
            return cls(int(pid))

    def has_ended(self) -> bool:
        """Whether somebody has killed it."""
        return bool(select.select([self.handle], [], [], 0)[0])

    def forget(self) -> None:
        """Let go of what is known of one that has ended."""
        os.close(self.handle)

    def end(self) -> None:
        """Kill it and see it gone: there is nothing left to guard."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        select.select([self.handle], [], [], END_S_MAX)
        self.forget()


def be_prompt(name: str) -> None:
    """Call this process so, and have it not queue behind what it has to end, where it may. What it starts is as others are."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(name)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _is_forked_off() -> bool:
    """Whether this is the child, whose parent ends at once. What the healer does must not go on in both."""
    try:
        return os.fork() == 0
    except OSError:
        return False


def _stand_by(healer: FileIO, said: FileIO) -> None:
    os.setsid()
    be_prompt("mqlab-understudy")
    # The healer may have been killed before anybody reads this.
    with contextlib.suppress(OSError):
        said.write(str(os.getpid()).encode())
    said.close()
    select.select([healer], [], [])
