from __future__ import annotations

import os
import subprocess

from harness.backends.local import memlock_prefix

IPC_LOCK = 1 << 14
"""CAP_IPC_LOCK of capability.h: it lets a process lock more memory than its limit."""


def test_a_process_may_lock_as_much_as_its_setting_says_and_root_no_more() -> None:
    told = subprocess.run(
        [*memlock_prefix(64), "sh", "-c", "ulimit -l; ulimit -Hl; grep CapEff /proc/self/status"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert told[:2] == ["64", "64"]
    assert int(told[-1], 16) & IPC_LOCK == 0


def test_without_a_setting_nothing_is_put_in_front() -> None:
    assert memlock_prefix(None) == []
    assert (os.geteuid() == 0) == ("setpriv" in memlock_prefix(64))
