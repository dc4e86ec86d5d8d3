"""manifest.json, trial.json and deployment.json."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, cast

from harness.errors import RunDirectoryError
from harness.model.cells import ParameterValue
from harness.rundir.files import JsonValue
from harness.rundir.layout import RUN_SCHEMA

RunStatus = Literal["running", "complete", "interrupted", "failed"]

TrialStatus = Literal["planned", "running", "complete", "failed", "interrupted"]


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
    host: Mapping[str, JsonValue]
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
    topology: Mapping[str, JsonValue]
    logging: Literal["lab", "stock"]
    log_zone: str
    nodes: tuple[NodeRecord, ...] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    store: str = "folder"
    jvm: tuple[str, ...] = ()
    timer_slack_ms: float = 0.0


def read_manifest(run_path: Path) -> Manifest:
    """Raises RunDirectoryError when this is not a run directory, or one of another schema."""
    if not (run_path / "manifest.json").is_file():
        raise RunDirectoryError(
            f"{run_path} is not a run directory: it has no manifest.json",
            advice="Give the folder that `mqlab verify` named when it started.",
        )
    return _read(Manifest, run_path / "manifest.json")


def read_trial(path: Path) -> TrialRecord:
    """Read a trial.json. Raises RunDirectoryError."""
    return _read(TrialRecord, path)


def read_deployment(path: Path) -> DeploymentRecord:
    """Read a deployment.json. Raises RunDirectoryError."""
    record = _read(DeploymentRecord, path)
    nodes = cast(tuple[Mapping[str, object], ...], record.nodes)
    return dataclasses.replace(record, nodes=tuple(_build(NodeRecord, node, path) for node in nodes))


_Value = TypeVar("_Value", Manifest, TrialRecord, DeploymentRecord, NodeRecord)


def _read(kind: type[_Value], path: Path) -> _Value:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirectoryError(f"{path} cannot be read: {error}") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != RUN_SCHEMA:
        raise RunDirectoryError(
            f"{path} has schema {schema!r}, and this version reads {RUN_SCHEMA}",
            advice="Read it with the version of the lab that wrote it; the manifest names the commit.",
        )
    return _build(kind, value, path)


def _build(kind: type[_Value], value: Mapping[str, object], path: Path) -> _Value:
    known = {item.name for item in dataclasses.fields(kind)}
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in value.items() if name in known}
    try:
        return kind(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise RunDirectoryError(f"{path} is not a whole {kind.__name__}: {error}") from error
