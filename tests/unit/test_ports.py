"""Ports that are given out: to nobody twice, whichever process asks."""

from __future__ import annotations

import subprocess
import sys

from harness.host.ports import BROKER_PORTS, free_port
from harness.paths import PACKAGES

ASKS_FOR_ONE = """
import sys
sys.path.insert(0, sys.argv[1])
from harness.host import ports
ports.PORTS_FIRST = ports.PORTS_LAST = int(sys.argv[2])
print(ports.free_port())
"""


def _asked_by_another_process(port: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ASKS_FOR_ONE, str(PACKAGES), str(port)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_port_that_was_given_out_is_not_given_to_another_process_before_somebody_listens() -> None:
    port = free_port(BROKER_PORTS)
    for offset in BROKER_PORTS:
        assert "no free port" in _asked_by_another_process(port + offset).stderr


def test_a_claim_ends_with_its_process() -> None:
    port = free_port(BROKER_PORTS) - 1  # between two that are claimed, claimed by nobody
    for _ in range(2):
        assert _asked_by_another_process(port).stdout == f"{port}\n"
