"""The command, from end to end, on a real broker of 4.6.0, with an incident of the user's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from harness.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNDECIDED
from harness.leases.store import leases_in
from harness.paths import PACKAGES
from harness.protocol.broker import Broker
from harness.protocol.connection import Connection
from harness.protocol.name_server import NameServer
from harness.rundir.lines import read_records
from harness.wait import wait_until

COMMAND_S_MAX = 300
SLACK_MS = 300
REFUSED_MIN = 120 - SLACK_MS * 300 // 1000
"""What the template's first claim allows the host; and so many of 120 refusals are left, at 300 sends a second."""
TWO_ARMS = ("--quick", "--release", "4.6.0", "--trials", "3", "--arm", "baseline,incident")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "200"}


def _mqlab(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mqlab", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False)


def _statuses(run: Path) -> dict[str, str]:
    trials = (json.loads(path.read_text()) for path in (run / "trials").glob("*/trial.json"))
    return {trial["trial"]: trial["status"] for trial in trials if not trial["superseded_by"]}


def _worst_hiccup_ms(run: Path) -> float:
    records = read_records(run / "hiccups.jsonl").records
    return max(float(str(record["late_ms_max"])) for record in records if record["type"] == "hiccup")


def _refused(run: Path, arm: str) -> list[int]:
    """Sends of each trial that counts which the broker refused, by the histories themselves."""
    counts = []
    for path in sorted((run / "trials").glob("*/trial.json")):
        trial = json.loads(path.read_text())
        if trial["arm"] == arm and trial["status"] == "complete" and not trial["superseded_by"]:
            records = [one for file in path.parent.glob("history/*.jsonl") for one in read_records(file).records]
            counts.append(sum(one["type"] == "send" and one["outcome"] == "failed" for one in records))
    return counts


def _pauses(run: Path) -> str:
    """What the brokers say themselves of slow appends and of Java's pauses."""
    files = [*run.glob("deployments/*/nodes/broker-a/logs/store.log"), *run.glob("deployments/*/nodes/broker-a/gc.log")]
    lines = [line for file in files for line in file.read_text(errors="replace").splitlines()]
    return "\n".join(line for line in lines if " WARN " in line or "Pause" in line)


@pytest.mark.alone
def test_an_interrupted_run_keeps_its_evidence_and_is_finished_by_resume(
    environment: dict[str, str], tmp_path: Path
) -> None:
    own, run = tmp_path / "slow_disk.py", tmp_path / "run"
    assert _mqlab(environment, "new", str(own)).returncode == EXIT_OK
    command = [sys.executable, "-m", "mqlab", "verify", str(own), *TWO_ARMS, "--out", str(run)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            wait_until(
                "two complete trials",
                lambda: run.exists() and list(_statuses(run).values()).count("complete") >= 2,
                timeout_s=400,
                poll_s=0.05,
            )
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == EXIT_INTERRUPTED, (tmp_path / "log").read_text()
        finally:
            process.kill()
    said = (tmp_path / "log").read_text()
    assert f"--resume {run}" in said
    assert "Traceback" not in said
    assert json.loads((run / "manifest.json").read_text())["status"] == "interrupted"
    interrupted = _statuses(run)
    assert "running" not in interrupted.values()
    assert not leases_in(tmp_path / "state" / "rocketmq-incident-lab")

    # It goes on with what it was started with, whatever became of the file.
    own.unlink()
    resumed = _mqlab(environment, "verify", "--resume", str(run))
    assert resumed.returncode == EXIT_OK, resumed.stderr
    assert resumed.stdout.splitlines()[-1] == str(run / "report.html")
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    complete = _statuses(run)
    # A noisy trial is replaced by its repetition, whose name begins with the trial's.
    for planned in manifest["trials"]:
        assert "complete" in {status for trial, status in complete.items() if trial.startswith(planned)}, planned
    for name in ("report.html", "ledger.md", "junit.xml", "analysis/findings.jsonl"):
        assert (run / name).stat().st_size > 0

    # One trial a cell decides little: that is said, and is not green where it is asked to be strict.
    strict = _mqlab(environment, "runs", "analyze", str(run), "--strict", "--json")
    assert strict.returncode == EXIT_UNDECIDED, strict.stderr
    verdicts = {finding["claim"]: finding["verdict"] for finding in json.loads(strict.stdout)}
    stalls, calm = _refused(run, "incident"), _refused(run, "baseline")
    assert len(stalls) == len(calm) == 3
    assert min(stalls) >= REFUSED_MIN
    if max(calm) > 0:
        # A shared host can hold a broker up where its probe, which sleeps, is served at once.
        warnings.warn(f"without a stall {calm} sends were refused\n{_pauses(run)}", stacklevel=1)
    # A host that stood still for longer than the template's claim allows has its trials not count.
    spoiled = _worst_hiccup_ms(run) > SLACK_MS
    decided = "undecided" if max(calm) > 0 else "confirmed"
    assert verdicts["MINE-01"] in {decided, *({"undecided"} if spoiled else ())}, strict.stdout
    assert verdicts["MINE-02"] == "undecided"


def test_a_cluster_stays_up_until_down(environment: dict[str, str]) -> None:
    up = _mqlab(
        environment, "cluster", "up", "--release", "4.6.0", "--json", "--set", "broker.flushDiskType=SYNC_FLUSH"
    )
    assert up.returncode == EXIT_OK, up.stderr
    cluster = json.loads(up.stdout)
    time.sleep(1.0)  # what would end it with its command would have done so by now
    broker = next(node for node in cluster["nodes"] if node["kind"] == "broker")
    with NameServer(cluster["namesrv"]) as namesrv, Broker(broker["address"]) as connection:
        assert namesrv.cluster_brokers() == {"broker-a": {0: broker["address"]}}
        assert connection.broker_config()["flushDiskType"] == "SYNC_FLUSH"
    kept = _mqlab(environment, "runs", "clean")
    assert "are kept" in kept.stdout
    down = _mqlab(environment, "cluster", "down")
    assert down.returncode == EXIT_OK, down.stdout
    assert "broker-a" in down.stdout
    for node in cluster["nodes"]:
        with pytest.raises(Exception, match="cannot connect"):
            Connection(node["address"])
    assert "no cluster is up" in _mqlab(environment, "cluster", "down").stdout
