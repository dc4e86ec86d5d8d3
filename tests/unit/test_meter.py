from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from harness.host.meter import Meter, run_delay_s
from harness.wait import wait_until

SPIN = "while True: pass"


@pytest.fixture
def rivals() -> Iterator[list[int]]:
    """Two processes that want the same core all the time."""
    core = min(os.sched_getaffinity(0))
    processes = [subprocess.Popen([sys.executable, "-S", "-c", SPIN]) for _ in range(2)]
    try:
        for one in processes:
            os.sched_setaffinity(one.pid, {core})
        yield [one.pid for one in processes]
    finally:
        for one in processes:
            one.kill()
            one.wait()


def test_who_waits_for_a_core_is_seen_to_wait(rivals: list[int]) -> None:
    meter = Meter(rivals)
    began = time.monotonic()

    def one_has_waited() -> bool:
        meter.read(rivals)
        return meter.wait_s > 0.3

    wait_until("a wait for the core", one_has_waited, timeout_s=60, poll_s=0.05)
    elapsed_s = time.monotonic() - began
    assert meter.wait_s <= 2 * elapsed_s + 0.1
    # Two that share one core either run or wait, all the time.
    assert meter.cpu_s + meter.wait_s == pytest.approx(2 * elapsed_s, rel=0.5, abs=0.5)


def test_a_process_that_is_gone_keeps_its_last_reading(rivals: list[int]) -> None:
    meter = Meter()
    wait_until("a wait for the core", lambda: run_delay_s(rivals[0]) > 0.05, timeout_s=60, poll_s=0.05)
    meter.read(rivals)
    before_s = meter.wait_s
    assert before_s > 0
    meter.read([2**22 + 1])
    assert meter.wait_s == before_s
    assert run_delay_s(2**22 + 1) == 0
