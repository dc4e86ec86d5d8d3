"""Records of trials that never ran."""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.rundir.manifest import DeploymentRecord, TrialRecord
from harness.rundir.writing import RunWriter


def make_closed_deployment(run: RunWriter, name: str) -> None:
    """A deployment whose nodes have ended."""
    record = DeploymentRecord(
        deployment=name, incident="append-stall", release="4.6.0", index=1, topology={}, logging="lab", log_zone="UTC",
        run=run.manifest.run,
    )  # fmt: skip
    run.make_deployment(record).seal(record)


_RECORD = TrialRecord(
    trial="append-stall-4.6.0-incident-r1",
    incident="append-stall",
    arm="incident",
    params={},
    release="4.6.0",
    client="java 4.6.0",
    backend="local",
    injection="",
    deployment="append-stall-4.6.0-1",
    repetition=1,
    seed=1,
    topic="T1",
    groups=("g0",),
    live_conf={},
    status="complete",
)


def trial_record(trial: str, **changes: Any) -> TrialRecord:
    """A complete trial, but for what is changed."""
    return dataclasses.replace(_RECORD, trial=trial, **changes)
