"""One trial that is held at its moment on a real broker, and ended: nothing of it stays up."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from harness.errors import EXIT_OK
from harness.leases.store import leases_in
from harness.paths import PACKAGES
from harness.wait import wait_until

COMMAND = ("reproduce", "append-stall", "--release", "4.6.0", "--param", "stall_ms=250", "--hold", "5")


def test_a_trial_is_held_with_its_load_going_on_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(tmp_path / "state")}
    run, log = tmp_path / "run", tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "mqlab", *COMMAND, "--out", str(run)], env=environment, stdout=out, stderr=out
        )
        try:
            wait_until(
                "the moment", lambda: "what clients and faults did" in log.read_text(), timeout_s=400, poll_s=0.1
            )
            said = log.read_text()
            assert "held just after append-stall is over" in said
            asked = subprocess.run(
                [run / "look" / "mqadmin", "clusterList"], capture_output=True, text=True, timeout=100, check=True
            ).stdout
            (broker,) = re.findall(r"broker-a (127\.0\.0\.1:\d+): ", said)
            assert broker in asked
            assert "V4_6_0" in asked
            process.send_signal(signal.SIGINT)
            assert process.wait(100) == EXIT_OK, log.read_text()
        finally:
            process.kill()
    assert f"nothing is left up; what was recorded is in {run}" in log.read_text()
    assert not leases_in(tmp_path / "state" / "rocketmq-incident-lab")
    for pid in re.findall(r"(?:jstack|QUIT) (\d+)", said):
        assert not Path(f"/proc/{pid}").exists()
