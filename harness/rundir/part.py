"""A part of a run as a run directory of its own, copied: what has ended can be judged while the rest goes on."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

from harness.errors import RunDirectoryError
from harness.rundir.documents import write_document
from harness.rundir.reading import read_run_directory


def part_of_run(run: Path, deployment: str, folder: Path) -> None:
    """Make of ``folder``, which is there and empty, the run of one deployment alone, and of its trials.

    Its manifest is the run's, of that incident, that release and those trials. Nothing is written into the run.

    Raises RunDirectoryError when the run has no such deployment, or when a trial of it has not ended.
    """
    whole = read_run_directory(run)
    record = whole.deployment(deployment)
    if record is None:
        raise RunDirectoryError(f"{run} has no deployment {deployment}")
    trials = tuple(trial for trial in whole.trials if trial.deployment == deployment)
    if running := [trial.trial for trial in trials if trial.status == "running"]:
        raise RunDirectoryError(f"{running[0]} has not ended")
    own = {trial.trial for trial in trials}
    manifest = dataclasses.replace(
        whole.manifest,
        begun={name: begun for name, begun in whole.manifest.begun.items() if name in own},
        documents={},
        incidents=(record.incident,),
        releases=(record.release,),
        trials=tuple(trial.trial for trial in trials if trial.trial in whole.manifest.trials),
        status="complete",
    )
    names = [("deployments", deployment), *(("trials", trial.trial) for trial in trials)]
    for kind, name in names:
        shutil.copytree(whole.path / kind / name, folder / kind / name)
    write_document(folder / "manifest.json", manifest)
