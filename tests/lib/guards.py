"""A healer and its understudy, killed together: each would replace the other."""

from __future__ import annotations

import os
import signal

from harness.leases import proc


def kill_both(healer: int, understudy: int) -> None:
    """Neither has time to notice the other's end."""
    guards = [one for one in map(proc.identify, (healer, understudy)) if one is not None]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for guard in guards:
            os.kill(guard.pid, number)
    assert proc.wait_gone(guards, timeout_s=5) == []
