"""A run directory, read: its manifest, its trials and deployments, and which files have records."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from harness.errors import RunDirectoryError
from harness.rundir.decode import read_document
from harness.rundir.manifest import DeploymentRecord, Manifest, TrialRecord, read_manifest

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RunDirectory:
    """``path`` is absolute. ``problems`` says which files of an incomplete run could not be read, one sentence each."""

    path: Path
    manifest: Manifest
    trials: tuple[TrialRecord, ...]
    deployments: tuple[DeploymentRecord, ...]
    problems: tuple[str, ...] = ()

    def deployment(self, name: str) -> DeploymentRecord | None:
        """The deployment of that name, or None when its file could not be read."""
        return next((item for item in self.deployments if item.deployment == name), None)

    def history_files(self) -> tuple[Path, ...]:
        """Every client process's history that has at least one byte."""
        return self._files("trials/*/history/*.jsonl")

    def history_bytes(self) -> int:
        """How large all of them are."""
        return sum(path.stat().st_size for path in self.history_files())

    def event_files(self) -> tuple[Path, ...]:
        """Every trial's events that have at least one byte."""
        return self._files("trials/*/events.jsonl")

    def _files(self, pattern: str) -> tuple[Path, ...]:
        return tuple(path for path in sorted(self.path.glob(pattern)) if path.stat().st_size > 0)


def read_run_directory(path: Path) -> RunDirectory:
    """Read the run directory at ``path``. What an interrupted run lacks, or left half-written, becomes a problem.

    Raises :class:`harness.errors.RunDirectoryError` when there is no such folder, when it has no manifest, or when the
    manifest is of another schema or lacks a field.
    """
    manifest = read_manifest(path)
    root = path.resolve()
    problems: list[str] = []
    trials = _readable(sorted(root.glob("trials/*/trial.json")), TrialRecord, problems)
    deployments = _readable(sorted(root.glob("deployments/*/deployment.json")), DeploymentRecord, problems)
    absent = [name for name in manifest.trials if name not in {trial.trial for trial in trials}]
    if absent:
        some = ", ".join(absent[:3]) + (", ..." if len(absent) > 3 else "")
        problems.append(f"{len(absent)} of {len(manifest.trials)} planned trials left nothing: {some}")
    order = {name: index for index, name in enumerate(manifest.trials)}
    return RunDirectory(
        path=root,
        manifest=manifest,
        trials=tuple(sorted(trials, key=lambda trial: (order.get(trial.trial, len(order)), trial.trial))),
        deployments=tuple(deployments),
        problems=tuple(problems),
    )


def _readable(files: Sequence[Path], kind: type[T], problems: list[str]) -> list[T]:
    found = []
    for file in files:
        try:
            found.append(read_document(kind, file))
        except RunDirectoryError as error:
            problems.append(str(error))
    return found
