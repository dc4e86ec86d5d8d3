"""What a trial's brokers were told, by its records alone."""

from __future__ import annotations

import math

from harness.model.rocketmq import LOCK_LIFE, LOCK_LIFE_MS
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory


def setting(run: RunDirectory, trial: TrialRecord, name: str, default: float) -> float:
    """The value that the broker was told last, else the one that it was started with, else its default."""
    deployment = run.deployment(trial.deployment)
    return _number(trial.live_conf.get(name) or (deployment.started_conf.get(name) if deployment else None), default)


def lock_life_ms(trial: TrialRecord, run: RunDirectory) -> float:
    """How long a queue's lock lives on the brokers without being renewed: what their JVM was told, else the default."""
    deployment = run.deployment(trial.deployment)
    return _number(deployment.started_properties.get(LOCK_LIFE) if deployment else None, LOCK_LIFE_MS)


def _number(told: str | None, default: float) -> float:
    """What was told; the default where that is no number, with which no broker starts."""
    try:
        found = float(told or default)
    except ValueError:
        return default
    return found if math.isfinite(found) else default
