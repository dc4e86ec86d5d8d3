"""The examples of steps run on a real broker, and their readings are what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from harness.errors import EXIT_OK
from harness.paths import PACKAGES

OWN = PACKAGES / "docs" / "own"
RELEASE = "5.5.0"
COMMAND_S_MAX = 600


def _readings(folder: Path, *names: str) -> dict[str, float]:
    """Of one trial of each, by their names."""
    run = folder / "run"
    command = [
        sys.executable, "-m", "mqlab", "verify", *(str(OWN / f"{name}.py") for name in names),
        "--release", RELEASE, "--trials", "1", "--out", str(run),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False, cwd=folder
    )
    assert done.returncode == EXIT_OK, done.stdout + done.stderr
    lines = (run / "analysis" / "findings.jsonl").read_text(encoding="utf-8").splitlines()
    figures = [figure for line in lines for figure in json.loads(line).get("figures", ())]
    return {one["params"]["reading"]: one["p50"] for one in figures if one["name"] == "read_value"}


def test_the_examples_of_steps_read_what_happened(tmp_path: Path) -> None:
    root = ("disk_full_then_restart",) if os.geteuid() == 0 else ()
    found = _readings(tmp_path, "broker_that_does_not_start", "classes_of_ours", "readings_of_ours", *root)
    assert (found["with-taken-port"], found["with-free-port"]) == (0, 1)
    assert found["with-taken-port-lines"] >= 1
    assert found["up"] == 1
    assert 1000 < found["bytes"] < 2000
    assert found["topics"] == 300
    assert found["send-to-ours"] == 1
    assert (found["send-to-no-topic-lines"], found["odd-group-lines"]) == (1, 1)
    if root:  # a disk is filled by root alone
        assert found["stores"] == 1
