"""The power of a run's file system is cut while trials run on a real cluster; the run is resumed, and each trial read.

Each round runs ``mqlab verify``, trials on several clusters, into an ext4 file system of its own, cuts its power at a random moment
after the first trial has begun, mounts it again, and resumes. Printed are how many trials were whole before and after that; a round
in which something that counts is not what its last record says ends the benchmark. Needs root and loop devices.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.backends.store_mount import mount_store
from harness.faults.broker_crash import cut_power, restore_power
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from harness.rundir.reading import RunDirectory, read_run_directory, verified
from harness.wait import wait_until

RUN_S_MAX = 420.0
WORDS = ("verify", "last-offset-reads-history", "--arm", "incident,baseline")
PROGRAM = "from mqlab.main import main; raise SystemExit(main())"


def start(environment: dict[str, str], *words: str, said: Path = Path(os.devnull)) -> subprocess.Popen[bytes]:
    """The command in a process group of its own; what it prints goes to a file."""
    with said.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words], env=environment, stdout=out, stderr=out, start_new_session=True
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """End what the cut has left of it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(20)


def whole_trials(run: RunDirectory) -> set[str]:
    """Complete trials of which nothing is damaged."""
    return {trial.trial for trial in run.trials if trial.status == "complete" and not run.damage_of(trial.trial)}


def cut_once(leases: Leases, folder: Path, state: Path, release: str, rng: random.Random) -> str:
    """One round; a line of what came of it. Raises SystemExit when something that counts is not whole."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    disk = folder / "disk"
    stored = mount_store(leases, disk, BrokerSettings(store="loop-ext4", store_mb=2048), until_s=1800)
    assert stored is not None
    run = disk / "run"
    try:
        process = start(environment, *WORDS, "--release", release, "--out", str(run))
        wait_until("the first trial", lambda: any(run.glob("trials/*/trial.json")), timeout_s=120)
        time.sleep(rng.uniform(0.0, 60.0))
        cut_power(stored.mount)
        stop(process)
        clean(state)
        restore_power(stored.mount)
        before = verified(read_run_directory(run))
        kept = whole_trials(before)
        said = folder / "said"
        resumed = start(environment, "verify", "--resume", str(run), said=said)
        code = resumed.wait(RUN_S_MAX)
        after = verified(read_run_directory(run))
        spoiled = [damage.words for damage in after.damage if damage.trials]
        planned = set(after.manifest.trials)
        if spoiled or after.manifest.status != "complete" or not planned <= whole_trials(after) | failed(after):
            last = said.read_text(errors="replace").splitlines()[-3:]
            raise SystemExit(f"not whole: exit code {code}, status {after.manifest.status}, {spoiled[:3]}, {last}")
        return (
            f"{len(before.trials)} begun, {len(kept)} whole at the cut; {len(planned)} of {len(planned)} whole after it"
        )
    finally:
        clean(state)
        stored.unmount()


def failed(run: RunDirectory) -> set[str]:
    """Trials that ended otherwise than complete: they do not count, and are whole all the same."""
    return {trial.trial for trial in run.trials if trial.status == "failed" and not run.damage_of(trial.trial)}


def main() -> None:
    """A line for each cut."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=3)
    parser.add_argument("--release", default="4.6.0")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, Leases.open(Path(scratch) / "own-state") as leases:
        for number in range(options.cuts):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            rng = random.Random(options.seed * 1000 + number)
            line = cut_once(leases, folder, Path(scratch) / "state", options.release, rng)
            print(f"  cut {number + 1} of {options.cuts}: {line}", flush=True)


if __name__ == "__main__":
    main()
