"""The power goes while a run is written: what counts afterwards is whole, and what is not is run again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.backends.store_mount import mount_store
from harness.faults.broker_crash import cut_power, restore_power
from harness.host.abilities import Abilities
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from harness.paths import PACKAGES
from harness.rundir.lines import read_records
from harness.rundir.reading import read_run_directory, verified
from harness.rundir.writing import RunWriter
from mqlab.run.resume import finished_trials
from tests.lib.written_runs import RECORDS, TRIALS, record_some
from tests.unit.test_resume import MANIFEST

POWER_CUTS = int(os.environ.get("POWER_CUTS", "8"))
"""``make campaign``: 20."""

WRITING_S = 0.6
"""About as long as the nine trials take to write."""

WRITER = """
import sys
from pathlib import Path
from harness.rundir.writing import RunWriter
from tests.lib.written_runs import record_some
with RunWriter.open(Path(sys.argv[1])) as run:
    print("open", flush=True)
    record_some(run, frozenset())
"""


@pytest.mark.parametrize("seed", range(POWER_CUTS))
def test_every_trial_that_counts_after_a_power_cut_is_whole(
    seed: int, leases: Leases, tmp_path: Path, host: Abilities
) -> None:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    folder, rng = tmp_path / "disk", random.Random(seed)
    stored = mount_store(leases, folder, BrokerSettings(store="loop-ext4", store_mb=64), until_s=120)
    assert stored is not None
    try:
        with RunWriter.create(folder / "run", MANIFEST) as run:
            run.set_trials(TRIALS)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder / "run")],
            cwd=PACKAGES,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"open\n"
        time.sleep(rng.uniform(0.0, WRITING_S))
        cut_power(stored.mount)
        writer.kill()
        writer.wait(10)
        writer.stdout.close()
        restore_power(stored.mount)

        with RunWriter.open(folder / "run") as run:
            whole = finished_trials(run)
            read = read_run_directory(run.path)
            closed = {one.deployment for one in read.deployments if one.ended}
            said = {one.trial for one in read.trials if one.status == "complete" and one.deployment in closed}
            assert whole == said, "what says that it is complete has its evidence on the disk"
            assert all(_content(run.path, trial) == RECORDS for trial in whole)
            record_some(run, whole)
            run.set_status("complete")
            assert finished_trials(run) == set(TRIALS)
        read = verified(read_run_directory(folder / "run"))
        assert [damage for damage in read.damage if damage.trials] == []
        assert all(_content(read.path, trial) == RECORDS for trial in TRIALS)
    finally:
        stored.unmount()


def _content(run: Path, trial: str) -> int:
    read = read_records(run / "trials" / trial / "history" / "producer.jsonl")
    assert (read.truncated, read.damaged_lines) == (False, ())
    return len(read.records)
