"""A run whose files are what their trials' last records say, or that says which are not."""

from __future__ import annotations

import dataclasses
import os
from fnmatch import fnmatch
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.hadoop import HISTORIES, is_elsewhere, sums_elsewhere
from harness.rundir.integrity import CHANGED, Damage
from harness.rundir.manifest import ENDED
from harness.rundir.reading import RunDirectory, read_run_directory, verified

THREADS_MAX = 4


def trusted_run(path: Path) -> RunDirectory:
    """Read a run directory and all of its evidence but for histories that lie in a Hadoop file system.

    Raises :class:`harness.errors.RunDirectoryError` as ``read_run_directory``.
    """
    threads = min(THREADS_MAX, len(os.sched_getaffinity(0)))
    leaving_out = HISTORIES if is_elsewhere(path.resolve()) else ""
    return verified(read_run_directory(path), threads=threads, leaving_out=leaving_out)


def trusted_elsewhere(spark: SparkSession, run: RunDirectory) -> RunDirectory:
    """The same run, once the histories that lie in a Hadoop file system have been summed where they are."""
    if not is_elsewhere(run.path) or not run.is_sealed:
        return run
    sealed = {
        f"trials/{trial.trial}/{name}": (trial.trial, file.sha256)
        for trial in run.trials
        if trial.status in ENDED and not run.damage_of(trial.trial)
        for name, file in trial.files.items()
    }
    histories = [name for name in sealed if fnmatch(name, HISTORIES)]
    damage = [
        Damage(file=name, what=CHANGED, trials=frozenset({sealed[name][0]}))
        for name, sha256 in sums_elsewhere(spark, run.path, histories).items()
        if sha256 != sealed[name][1]
    ]
    return dataclasses.replace(run, damage=(*run.damage, *damage))
