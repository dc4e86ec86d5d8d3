"""Records of trials that never ran."""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.rundir.manifest import TrialRecord

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
