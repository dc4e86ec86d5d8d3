"""A run directory's JSON files, read and checked: manifest, trials, deployments.

The layout is written down in ``harness/rundir/run.py``. A reader ignores fields that it does not know and refuses another
schema. A run that was interrupted has trials without a file and perhaps a half-written one: those become problems in
words, never a crash; only a folder that is no run directory at all is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from harness.errors import RunDirectoryError
from harness.model.cells import Parameters, ParameterValue
from harness.rundir.layout import RUN_SCHEMA

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]

FREEZE = "freeze"
"""The way of injection that freezes the store's file system."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What was run, by which code, on which machine. ``document`` is the file as it stands, for the report."""

    run: str
    commit: str
    seed: int
    incidents: tuple[str, ...]
    releases: tuple[str, ...]
    backend: str
    effort: str
    status: str
    trials: tuple[str, ...]
    client_releases: Mapping[str, str]
    rules: Mapping[str, str]
    host: Mapping[str, ParameterValue]
    document: JsonObject


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One cell, one release, one repetition. ``superseded_by`` names the repetition of a trial that was too noisy."""

    trial: str
    incident: str
    arm: str
    params: Parameters
    release: str
    client: str
    backend: str
    injection: str
    deployment: str
    repetition: int
    topic: str
    groups: tuple[str, ...]
    live_conf: Mapping[str, str]
    status: str
    error: str
    superseded_by: str
    way: str = ""
    """In which way the faults of its deployment are made, where its incident offers several; else empty."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A name server or broker."""

    name: str
    kind: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One cluster that was up. ``log_zone`` is the zone of its log lines, such as ``UTC`` or ``GMT+8``."""

    deployment: str
    incident: str
    release: str
    logging: str
    log_zone: str
    nodes: tuple[Node, ...]
    conf: Mapping[str, str]
    properties: Mapping[str, str]
    store: str = "folder"
    jvm: tuple[str, ...] = ()
    timer_slack_ms: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunDirectory:
    """``path`` is absolute. ``problems`` says which files of an incomplete run could not be read, one sentence each."""

    path: Path
    manifest: Manifest
    trials: tuple[Trial, ...]
    deployments: tuple[Deployment, ...]
    problems: tuple[str, ...] = field(default=())

    def deployment(self, name: str) -> Deployment | None:
        """The deployment of that name, or None when its file could not be read."""
        return next((item for item in self.deployments if item.deployment == name), None)

    def history_files(self) -> tuple[Path, ...]:
        """Every client process's history that has at least one byte."""
        return self._files("trials/*/history/*.jsonl")

    def event_files(self) -> tuple[Path, ...]:
        """Every trial's events that have at least one byte."""
        return self._files("trials/*/events.jsonl")

    def _files(self, pattern: str) -> tuple[Path, ...]:
        return tuple(path for path in sorted(self.path.glob(pattern)) if path.stat().st_size > 0)


def read_run_directory(path: Path) -> RunDirectory:
    """Read the run directory at ``path``.

    Raises :class:`harness.errors.RunDirectoryError` when there is no such folder, when it has no manifest, or when the
    manifest is of another schema or lacks a field.
    """
    if not path.is_dir():
        raise RunDirectoryError(f"{path} is not a run directory: there is no such folder")
    if not (path / "manifest.json").is_file():
        raise RunDirectoryError(
            f"{path} is not a run directory: it has no manifest.json",
            advice="Give the folder that `mqlab verify` named when it started.",
        )
    root = path.resolve()
    manifest = _manifest(_Source.read(root / "manifest.json"))
    problems: list[str] = []
    trials: list[Trial] = []
    for file in sorted(root.glob("trials/*/trial.json")):
        try:
            trials.append(_trial(_Source.read(file)))
        except RunDirectoryError as error:
            problems.append(str(error))
    deployments: list[Deployment] = []
    for file in sorted(root.glob("deployments/*/deployment.json")):
        try:
            deployments.append(_deployment(_Source.read(file)))
        except RunDirectoryError as error:
            problems.append(str(error))
    known = {trial.trial for trial in trials}
    absent = [name for name in manifest.trials if name not in known]
    if absent:
        problems.append(f"{len(absent)} of {len(manifest.trials)} planned trials left nothing: {_some(absent)}")
    order = {name: index for index, name in enumerate(manifest.trials)}
    trials.sort(key=lambda trial: (order.get(trial.trial, len(order)), trial.trial))
    return RunDirectory(
        path=root,
        manifest=manifest,
        trials=tuple(trials),
        deployments=tuple(deployments),
        problems=tuple(problems),
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


@dataclass(frozen=True, kw_only=True)
class _Source:
    """One JSON object and the file that it comes from, for the words of an error."""

    file: Path
    values: JsonObject

    @classmethod
    def read(cls, file: Path) -> _Source:
        try:
            value = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise RunDirectoryError(f"{file} cannot be read: {error}") from error
        if not isinstance(value, dict):
            raise RunDirectoryError(f"{file} holds no JSON object")
        if value.get("schema") != RUN_SCHEMA:
            raise RunDirectoryError(
                f"{file} has schema {value.get('schema')!r}, and this version reads {RUN_SCHEMA}",
                advice="Read it with the version of the lab that wrote it; the manifest names the commit.",
            )
        return cls(file=file, values=value)

    def _need(self, name: str) -> JsonValue:
        if name not in self.values:
            raise RunDirectoryError(f"{self.file} lacks {name!r}")
        return self.values[name]

    def text(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name, default) if default is not None else self._need(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise RunDirectoryError(f"{self.file}: {name!r} is {value!r}, not a string")
        return value

    def whole(self, name: str) -> int:
        value = self._need(name)
        if not isinstance(value, int):
            raise RunDirectoryError(f"{self.file}: {name!r} is {value!r}, not a whole number")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RunDirectoryError(f"{self.file}: {name!r} is {value!r}, not a number")
        return float(value)

    def words(self, name: str) -> tuple[str, ...]:
        value = self._need(name)
        if not isinstance(value, list):
            raise RunDirectoryError(f"{self.file}: {name!r} is {value!r}, not a list")
        return tuple(str(item) for item in value)

    def mapping(self, name: str) -> JsonObject:
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise RunDirectoryError(f"{self.file}: {name!r} is {value!r}, not an object")
        return value


def _scalars(values: JsonObject) -> dict[str, ParameterValue]:
    return {key: value for key, value in values.items() if isinstance(value, int | float | str)}


def _strings(values: JsonObject) -> dict[str, str]:
    return {key: str(value) for key, value in values.items()}


def _manifest(source: _Source) -> Manifest:
    return Manifest(
        run=source.text("run"),
        commit=source.text("commit", ""),
        seed=source.whole("seed"),
        incidents=source.words("incidents"),
        releases=source.words("releases"),
        backend=source.text("backend", "local"),
        effort=source.text("effort", "full"),
        status=source.text("status", "running"),
        trials=source.words("trials"),
        client_releases=_strings(source.mapping("client_releases")),
        rules=_strings(source.mapping("rules")),
        host=_scalars(source.mapping("host")),
        document=source.values,
    )


def _trial(source: _Source) -> Trial:
    return Trial(
        trial=source.file.parent.name,
        incident=source.text("incident"),
        arm=source.text("arm"),
        params=_scalars(source.mapping("params")),
        release=source.text("release"),
        client=source.text("client", ""),
        backend=source.text("backend", ""),
        injection=source.text("injection", ""),
        deployment=source.text("deployment"),
        repetition=source.whole("repetition"),
        topic=source.text("topic", ""),
        groups=source.words("groups") if "groups" in source.values else (),
        live_conf=_strings(source.mapping("live_conf")),
        status=source.text("status"),
        error=source.text("error", ""),
        superseded_by=source.text("superseded_by", ""),
        way=source.text("way", ""),
    )


def _deployment(source: _Source) -> Deployment:
    listed = source.values.get("nodes")
    nodes = [node for node in listed if isinstance(node, dict)] if isinstance(listed, list) else []
    settings = _Source(file=source.file, values=source.mapping("settings"))
    return Deployment(
        deployment=source.file.parent.name,
        incident=source.text("incident", ""),
        release=source.text("release"),
        logging=source.text("logging", "lab"),
        log_zone=source.text("log_zone", "UTC"),
        nodes=tuple(
            Node(name=str(node.get("name", "")), kind=str(node.get("kind", "")), role=str(node.get("role", "")))
            for node in nodes
        ),
        conf=_strings(settings.mapping("conf")),
        properties=_strings(settings.mapping("properties")),
        store=source.text("store", "folder"),
        jvm=source.words("jvm") if "jvm" in source.values else (),
        timer_slack_ms=source.number("timer_slack_ms", 0.0),
    )
