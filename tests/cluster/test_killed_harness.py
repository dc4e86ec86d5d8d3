from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.pipeline import analyze_in
from harness.host.abilities import Abilities
from harness.leases.store import leases_in
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.run.trial_phases import PHASES
from harness.rundir.reading import read_run_directory
from harness.wait import wait_until
from scenarios import find

GONE_S_MAX = 10.0
STARTED_AND_ENDED_S_MAX = 480
CLAIMS = 4


def _processes_of(state: Path) -> list[int]:
    """Processes whose environment names a lease of this state folder, whoever their parent is now."""
    tokens = [path.stem.encode() for path in state.glob("**/*.json")]
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if any(token in environment for token in tokens):
                found.append(int(entry.name))
    return found


def _images_of(state: Path) -> list[Path]:
    """Images of stores that leases of this state folder name."""
    values = [value for record in leases_in(state) for value in record.data.values()]
    return [Path(value) for value in values if isinstance(value, str) and value.endswith(".img")]


KILLED_IN = PHASES if "KILLS" in os.environ else PHASES[::2]
"""Every other phase; ``make campaign`` has them all."""


@pytest.mark.parametrize(
    ("phase", "injection"),
    [
        *((phase, "byteman") for phase in KILLED_IN),
        pytest.param("inject", "freeze", marks=pytest.mark.root),
    ],
)
def test_killing_the_harness_in_a_phase_leaves_no_process_and_a_run_that_can_be_judged(
    phase: str, injection: str, tmp_path: Path, spark: SparkSession
) -> None:
    if injection == "freeze" and (reason := Abilities.of_this_host().why_no_loop_mount()) is not None:
        pytest.skip(reason)
    images: set[Path] = set()
    script = Path(__file__).with_name("killed_harness.py")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    with (tmp_path / "stderr.log").open("wb") as stderr:
        harness = subprocess.Popen([sys.executable, script, phase, tmp_path, injection], env=environment, stderr=stderr)
        seen: set[int] = set()

        def has_ended() -> bool:
            seen.update(_processes_of(tmp_path / "state"))
            images.update(_images_of(tmp_path / "state"))
            return harness.poll() is not None

        try:
            wait_until("the harness to kill itself", has_ended, timeout_s=STARTED_AND_ENDED_S_MAX, poll_s=0.2)
        finally:
            harness.kill()
    assert harness.returncode == -signal.SIGKILL, (tmp_path / "stderr.log").read_text()
    # At least a name server, a broker, a client and the probe were there to be left behind.
    assert len(seen) >= 4

    def all_gone() -> bool:
        return not any(Path(f"/proc/{pid}/stat").exists() and _is_running(pid) for pid in seen)

    wait_until("every process of ours to be gone", all_gone, timeout_s=GONE_S_MAX)
    # The healer strikes a lease off once it has seen its process gone, which is a moment later.
    wait_until("every lease to be struck off", lambda: not leases_in(tmp_path / "state"), timeout_s=GONE_S_MAX)
    assert not _processes_of(tmp_path / "state")
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    # Those of other tests, which run beside this one, are theirs.
    assert bool(images) == (injection == "freeze")
    assert not [image for image in images if image.exists()]
    assert not list(tmp_path.glob("**/*.img"))

    trial = next((tmp_path / "run" / "trials").iterdir())
    events = [json.loads(line) for line in (trial / "events.jsonl").read_text().splitlines()]
    begun = [event["phase"] for event in events if event["type"] == "phase" and event["event"] == "begin"]
    assert begun == list(PHASES[: len(begun)])
    stall = find("append-stall")
    # Of twenty claims some are enough: to plan what all of them ask for is half of what a case costs.
    judged = dataclasses.replace(stall, claims=stall.claims[:CLAIMS])
    findings = analyze_in(spark, read_run_directory(tmp_path / "run"), [judged]).findings
    assert len(findings) == CLAIMS
    assert {finding.verdict for finding in findings} == {VerdictKind.UNDECIDED}


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
