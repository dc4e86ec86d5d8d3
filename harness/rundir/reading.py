"""A run directory, read: its manifest, its trials and deployments, which files have records, and what of it is damaged.

A reading starts from the manifest, which names each trial that was begun, and from each trial's last record, which names its files.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path, PurePosixPath

from harness.errors import RunDirectoryError
from harness.printable import printable
from harness.rundir.integrity import TRIALS_MAX, Damage, Look, damage_of_content
from harness.rundir.manifest import ENDED, DeploymentRecord, Manifest, SealedFile, TrialRecord, read_manifest
from harness.rundir.own_files import require_own_files
from harness.rundir.sealing import EVENTS

DAMAGED = "evidence damaged: "
"""What is said of a run's damage begins so."""


@dataclass(frozen=True, kw_only=True)
class RunDirectory:
    """``path`` is absolute. ``problems`` says what an incomplete run lacks, one sentence each.

    ``trials`` are all that were begun, or planned in a run that is not sealed; one whose trial.json is damaged has what the
    manifest knows of it. ``damage`` is what is missing, cut, changed, doubled or foreign.
    """

    path: Path
    manifest: Manifest
    trials: tuple[TrialRecord, ...]
    deployments: tuple[DeploymentRecord, ...]
    problems: tuple[str, ...] = ()
    damage: tuple[Damage, ...] = ()

    @property
    def is_sealed(self) -> bool:
        """Whether its documents name its files with their sums."""
        return self.manifest.sealed

    def reservations(self) -> tuple[str, ...]:
        """What a reader has to know before anything that is said of the run: its damage by name, then what it lacks."""
        # What spoils something comes before what is only left out.
        ranked = sorted(self.damage, key=lambda damage: not damage.trials)
        return (*(f"{DAMAGED}{damage.words}" for damage in ranked), *map(printable, self.problems))

    def told(self) -> Manifest:
        """The manifest with the reservations before its own notes."""
        return dataclasses.replace(self.manifest, notes=(*self.reservations(), *self.manifest.notes))

    def damage_of(self, trial: str) -> tuple[Damage, ...]:
        """What spoils the evidence of a trial; nothing where it is as it was when the trial ended."""
        return self._damage_by_trial.get(trial, ())

    @cached_property
    def _damage_by_trial(self) -> Mapping[str, tuple[Damage, ...]]:
        found: dict[str, list[Damage]] = {}
        for damage in self.damage:
            for trial in damage.trials:
                found.setdefault(trial, []).append(damage)
        return {trial: tuple(of_it) for trial, of_it in found.items()}

    def deployment(self, name: str) -> DeploymentRecord | None:
        """The deployment of that name, or None when its file could not be read."""
        return next((item for item in self.deployments if item.deployment == name), None)

    @cached_property
    def history_files(self) -> tuple[Path, ...]:
        """Every client process's history that has at least one byte, of trials whose evidence is not damaged."""
        return _with_content(self.evidence("trials/*/history/*.jsonl"))

    @cached_property
    def history_bytes(self) -> int:
        """How large all of them are."""
        return sum(path.stat().st_size for path in self.history_files)

    def event_files(self) -> tuple[Path, ...]:
        """Every trial's events that have at least one byte, of trials whose evidence is not damaged."""
        return _with_content(self.evidence("trials/*/events.jsonl"))

    def evidence(self, pattern: str) -> tuple[Path, ...]:
        """The files of that pattern that may be read as evidence, in the order of their names.

        What the run does not name is none, nor is what belongs to a trial whose evidence is damaged, or to a deployment without
        any other trial.
        """
        whole = {trial.trial: trial for trial in self.trials if not self.damage_of(trial.trial)}
        used = {trial.deployment for trial in whole.values()}
        named: dict[tuple[str, str], Mapping[str, SealedFile] | None] = {
            ("trials", name): trial.files if self.is_sealed and trial.status in ENDED else None
            for name, trial in whole.items()
        }
        for deployment in self.deployments:
            if deployment.deployment in used:
                files = deployment.files if self.is_sealed and deployment.ended else None
                named["deployments", deployment.deployment] = files
        found = []
        for path in sorted(self.path.glob(pattern)):
            kind, name, *rest = path.relative_to(self.path).parts
            if (kind, name) not in named or not path.is_file():
                continue
            files = named[kind, name]
            if files is None or "/".join(rest) in files:
                found.append(path)
        return tuple(found)


def _with_content(files: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(path for path in files if path.stat().st_size > 0)


def read_run_directory(path: Path) -> RunDirectory:
    """Read the run directory at ``path``. What an interrupted run lacks, or left half-written, becomes a problem.

    What the documents say of the files' names and lengths is compared; ``verified`` compares their content, too.

    Raises :class:`harness.errors.RunDirectoryError` when there is no such folder, when it has no manifest, or when the
    manifest is of another schema, or of another run, lacks a field, or was changed.
    """
    manifest = read_manifest(path)
    if (count := len(manifest.begun)) > TRIALS_MAX:
        raise RunDirectoryError(
            f"{path / 'manifest.json'} names {count:,} trials, and no run has more than {TRIALS_MAX:,}",
            advice="Bring manifest.json again from where the run was made.",
        )
    require_own_files(path)
    looked = Look(path.resolve(), manifest)
    trials = looked.trials()
    deployments = looked.deployments(trials)
    looked.require_own_manifest()
    looked.documents()
    order = {name: index for index, name in enumerate((*manifest.trials, *manifest.begun))}
    return RunDirectory(
        path=looked.root,
        manifest=manifest,
        trials=tuple(sorted(trials, key=lambda trial: (order.get(trial.trial, len(order)), trial.trial))),
        deployments=tuple(deployments),
        problems=tuple(looked.problems),
        damage=tuple(looked.damage),
    )


def verified(run: RunDirectory, *, threads: int = 1, leaving_out: str = "") -> RunDirectory:
    """The run with what its files' content says: each file that a record names is read and summed.

    Of a run that is not sealed, files of records are asked whether their records' numbers have a gap or a repeat. A line that no
    reader of lines can hold is damage in either. Files of the pattern ``leaving_out`` are not looked at.
    """
    files: list[tuple[str, SealedFile | None, frozenset[str]]] = []
    for trial in run.trials:
        own, place = frozenset({trial.trial}), f"trials/{trial.trial}"
        if run.is_sealed and trial.status in ENDED:
            files += [(f"{place}/{name}", sealed, own) for name, sealed in trial.files.items()]
        else:
            logs = [(run.path / place).glob(pattern) for pattern in ("history/*.jsonl", EVENTS, "clients/*/**/*.log*")]
            files += [(str(path.relative_to(run.path)), None, own) for found in logs for path in sorted(found)]
    for deployment in run.deployments:
        of_it = frozenset(trial.trial for trial in run.trials if trial.deployment == deployment.deployment)
        if run.is_sealed and deployment.ended:
            place = f"deployments/{deployment.deployment}"
            files += [(f"{place}/{name}", sealed, of_it) for name, sealed in deployment.files.items()]
        else:
            of_nodes = sorted((run.path / "deployments" / deployment.deployment).glob("nodes/*/**/*.log*"))
            files += [(str(path.relative_to(run.path)), None, of_it) for path in of_nodes if path.is_file()]
    named = {damage.file for damage in run.damage}
    files = [one for one in files if named.isdisjoint((one[0], *map(str, PurePosixPath(one[0]).parents)))]
    files = [one for one in files if not fnmatch(one[0], leaving_out)]
    with ThreadPoolExecutor(max(1, threads)) as pool:
        said = pool.map(lambda one: damage_of_content(run.path / one[0], one[1]), files)
        damage = [
            Damage(file=file, what=what, trials=trials)
            for (file, _, trials), what in zip(files, said, strict=True)
            if what
        ]
    return dataclasses.replace(run, damage=(*run.damage, *damage))
