"""A check of a release on real brokers: what differs is repeated until it is decided, the rest is left at one cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from harness.errors import EXIT_OK
from harness.paths import PACKAGES

COMMAND_S_MAX = 540
FIVE = 5
"""Deployments that the rule asks for."""


def test_a_verdict_that_differs_is_decided_and_what_does_not_is_left_at_one_cluster(tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = (
        "check",
        "last-offset-reads-history",
        "--release",
        "5.5.0",
        "--against",
        "4.9.7",
        "--minutes",
        "8",
        "--json",
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(tmp_path / "state")}
    ended = subprocess.run(
        [sys.executable, "-m", "mqlab", *words, "--out", str(run)],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False,
    )  # fmt: skip
    assert ended.returncode == EXIT_OK, ended.stderr
    found = {one["claim"].rpartition("-")[2]: one for one in json.loads(ended.stdout)["claims"]}
    # 5.3.3 and 5.5.0 read the history whatever the ratio is, 4.9.7 does not.
    assert found["03"]["outcome"] == "different", ended.stderr
    assert found["03"]["there"].startswith("confirmed")
    assert found["03"]["here"].startswith("refuted")
    assert {found[one]["outcome"] for one in ("01", "02", "04")} <= {"the same in one cluster", "the same"}, (
        ended.stderr
    )
    records = [json.loads(path.read_text()) for path in (run / "deployments").glob("*/deployment.json")]
    assert {one["index"] for one in records} == set(range(1, FIVE + 1))
    repeated = [json.loads(path.read_text()) for path in (run / "trials").glob("*.r[2-5]/trial.json")]
    assert {one["arm"] for one in repeated} == {"better-ratio-0"}
