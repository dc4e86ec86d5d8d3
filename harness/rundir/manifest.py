"""manifest.json, trial.json and deployment.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.errors import RunDirectoryError
from harness.model.cells import ParameterValue
from harness.rundir.decode import read_document

RunStatus = Literal["running", "complete", "interrupted", "failed"]

TrialStatus = Literal["planned", "running", "complete", "failed", "interrupted"]

FREEZE = "freeze"
"""The injection that freezes the store's file system."""


@dataclass(frozen=True, kw_only=True)
class HostRecord:
    """The machine that a run was made on, as far as a reader needs it to judge how far figures carry."""

    cores: int | None = None
    memory_bytes: int | None = None
    kernel: str = ""
    system: str = ""
    python: str = ""
    java: str = ""
    java_source: str = ""
    cgroup: str = ""
    load_before: float | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What the run is: what was asked, by which code, on which machine. ``trials`` is the planned order."""

    run: str
    created: str
    command: str
    commit: str
    dirty: bool
    seed: int
    incidents: tuple[str, ...]
    releases: tuple[str, ...]
    client_releases: Mapping[str, str]
    backend: str
    effort: Literal["quick", "full"]
    rules: Mapping[str, str]
    host: HostRecord
    trials: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    status: RunStatus = "running"


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One cell, one release, one repetition, one seed. A noisy trial that was repeated names its repetition.

    ``injection`` is how its fault was made, ``none`` where it has none. ``way`` is how those of its deployment are, where
    its incident offers several ways: a baseline belongs to the trials of its own way.
    """

    trial: str
    incident: str
    arm: str
    params: Mapping[str, ParameterValue]
    release: str
    client: str
    backend: str
    injection: str
    deployment: str
    repetition: int
    seed: int
    topic: str
    groups: tuple[str, ...] = ()
    live_conf: Mapping[str, str] = field(default_factory=dict)
    status: TrialStatus = "planned"
    error: str = ""
    attempt: int = 1
    superseded_by: str = ""
    way: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """One name server or broker of a deployment. ``role`` is MASTER, SLAVE or empty."""

    name: str
    kind: Literal["broker", "namesrv"]
    role: str
    address: str
    pid: int | None


@dataclass(frozen=True, kw_only=True)
class DeploymentRecord:
    """One cluster that was up. ``settings`` has the maps conf, properties and environment; see ``BrokerSettings``."""

    deployment: str
    incident: str
    release: str
    index: int
    topology: Mapping[str, str | int]
    logging: Literal["lab", "stock"]
    log_zone: str
    nodes: tuple[NodeRecord, ...] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    store: str = "folder"
    jvm: tuple[str, ...] = ()
    timer_slack_ms: float = 0.0

    @property
    def conf(self) -> Mapping[str, str]:
        """What its brokers read from their broker.conf."""
        return self.settings.get("conf", {})

    @property
    def properties(self) -> Mapping[str, str]:
        """The system properties of its brokers' JVMs."""
        return self.settings.get("properties", {})


def read_manifest(run_path: Path) -> Manifest:
    """Raises RunDirectoryError when this is not a run directory, or one of another schema."""
    if not (run_path / "manifest.json").is_file():
        why = "it has no manifest.json" if run_path.is_dir() else "there is no such folder"
        raise RunDirectoryError(
            f"{run_path} is not a run directory: {why}",
            advice="Give the folder that `mqlab verify` named when it started.",
        )
    return read_document(Manifest, run_path / "manifest.json")


def read_trial(path: Path) -> TrialRecord:
    """Read a trial.json. Raises RunDirectoryError."""
    return read_document(TrialRecord, path)


def read_deployment(path: Path) -> DeploymentRecord:
    """Read a deployment.json. Raises RunDirectoryError."""
    return read_document(DeploymentRecord, path)
