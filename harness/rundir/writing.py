"""The run directory, written: manifest, deployments, trials, and logs of records.

``layout.py`` says where each file lies, ``manifest.py``, ``events.py`` and ``records.py`` what it has;
docs/run-directory.md is made from them.
"""

import contextlib
import dataclasses
import fcntl
import glob
import os
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness.errors import RunDirectoryError
from harness.rundir.decode import read_document
from harness.rundir.documents import write_document
from harness.rundir.events import EventLog
from harness.rundir.manifest import BegunTrial, DeploymentRecord, Manifest, RunStatus, TrialRecord, read_manifest
from harness.rundir.own_files import require_own_files
from harness.rundir.sealing import DEPLOYMENT_FILE, TRIAL_FILE, read_sum, seal


@dataclass(frozen=True, kw_only=True)
class TrialDirectory:
    """Where a trial's files go. The folders exist."""

    path: Path

    def open_events(self) -> EventLog:
        """Open events.jsonl for appending."""
        return EventLog(self.path / "events.jsonl")

    @contextlib.contextmanager
    def recording(self) -> Iterator[EventLog]:
        """The trial's events.jsonl, which gets its end mark however the block ends. Raises DiskFullError."""
        with self.open_events() as events:
            try:
                yield events
            finally:
                events.end()

    def history_path(self, process: str) -> Path:
        """The history of one client process."""
        return self.path / "history" / f"{process}.jsonl"

    def client_folder(self, process: str) -> Path:
        """The logs of one client process; made when it is not there."""
        folder = self.path / "clients" / process
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def read(self) -> TrialRecord:
        """Raises RunDirectoryError."""
        return read_document(TrialRecord, self.path / "trial.json")

    def write(self, record: TrialRecord) -> None:
        """Replace trial.json. Raises DiskFullError."""
        write_document(self.path / TRIAL_FILE, record)

    def seal(self, record: TrialRecord) -> TrialRecord:
        """Flush and sum the trial's evidence, then write its last record, which names each file; returns that record.

        Whoever wrote the evidence has ended. Raises DiskFullError or LabError; the record that was there stays then.
        """
        sealed = dataclasses.replace(record, files=seal(self.path))
        self.write(sealed)
        return sealed


@dataclass(frozen=True, kw_only=True)
class DeploymentDirectory:
    """Where a deployment's files go. The folder exists."""

    path: Path

    def read(self) -> DeploymentRecord:
        """Raises RunDirectoryError."""
        return read_document(DeploymentRecord, self.path / "deployment.json")

    def write(self, record: DeploymentRecord) -> None:
        """Replace deployment.json. Raises DiskFullError."""
        write_document(self.path / DEPLOYMENT_FILE, record)

    def seal(self, record: DeploymentRecord) -> DeploymentRecord:
        """As a trial's, once all nodes have ended."""
        sealed = dataclasses.replace(record, ended=True, files=seal(self.path))
        self.write(sealed)
        return sealed


class RunWriter:
    """A run directory that this process writes. Nobody else can open it for writing until ``close``.

    ::

        with RunWriter.create(Path("runs") / manifest.run, manifest) as run:
            trial = run.make_trial(TrialRecord(...))
            with trial.open_events() as events, events.phase("up"):
                ...
            run.set_status("complete")
    """

    def __init__(self, path: Path, lock: int, manifest: Manifest) -> None:
        self.path = path.absolute()
        self._lock_handle = lock
        self._manifest = manifest
        self._lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> Self:
        """Make a new run directory, in an empty or a new folder. Raises RunDirectoryError, DiskFullError."""
        with contextlib.ExitStack() as on_error:
            lock = _lock(path)
            on_error.callback(os.close, lock)
            if (path / "manifest.json").exists():
                raise RunDirectoryError(
                    f"{path} holds a run already", advice=f"Go on with it by --resume {path}, or choose another --out."
                )
            others = sorted(entry.name for entry in path.iterdir() if entry.name != _LOCK_NAME)
            if others:
                raise RunDirectoryError(
                    f"{path} is not empty ({', '.join(others[:3])})", advice="Choose a new folder with --out."
                )
            for name in ("deployments", "trials"):
                (path / name).mkdir()
            run = cls(path, lock, manifest)
            run._replace(dataclasses.replace(manifest, sealed=True))
            on_error.pop_all()
            return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing run directory to go on with it. Raises RunDirectoryError."""
        read_manifest(path)
        require_own_files(path)
        lock = _lock(path)
        try:
            # Read again under the lock: another run may have written in between.
            return cls(path, lock, read_manifest(path))
        except BaseException:
            os.close(lock)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others open it."""
        with self._lock:
            if self._lock_handle >= 0:
                os.close(self._lock_handle)
                self._lock_handle = -1

    @property
    def manifest(self) -> Manifest:
        """As it is on the disk."""
        return self._manifest

    @property
    def hiccups_path(self) -> Path:
        """The hiccup probe's records of the whole run."""
        return self.path / "hiccups.jsonl"

    def set_status(self, status: RunStatus) -> None:
        """Say how the run stands. One that has ended names each document with its sum."""
        documents = {} if status == "running" else documents_of(self.path)
        with self._lock:
            self._replace(dataclasses.replace(self._manifest, status=status, documents=documents))

    def set_trials(self, trials: tuple[str, ...]) -> None:
        """Write down the planned trials in their order."""
        with self._lock:
            self._replace(dataclasses.replace(self._manifest, trials=trials))

    def add_note(self, note: str) -> None:
        """Say something that a reader of the report has to know; once, however often it is said."""
        with self._lock:
            if note not in self._manifest.notes:
                self._replace(dataclasses.replace(self._manifest, notes=(*self._manifest.notes, note)))

    def make_trial(self, record: TrialRecord) -> TrialDirectory:
        """Make a trial's folders and write its trial.json. Raises DiskFullError.

        What an earlier attempt of the same name left, before the run was interrupted, goes to ``earlier/``: two attempts
        must not be read as one.
        """
        directory = self.trial(record.trial)
        record = dataclasses.replace(record, run=self._manifest.run)
        begun = BegunTrial(
            incident=record.incident, arm=record.arm, params=record.params, release=record.release,
            deployment=record.deployment, chosen_injection=record.chosen_injection,
        )  # fmt: skip
        with self._lock:
            self._replace(dataclasses.replace(self._manifest, begun={**self._manifest.begun, record.trial: begun}))
        self._keep_apart(record.trial)
        (directory.path / "history").mkdir(parents=True, exist_ok=True)
        (directory.path / "clients").mkdir(exist_ok=True)
        directory.write(record)
        return directory

    def set_aside(self, trials: Collection[str]) -> None:
        """Let trials that will be made again, and repetitions of such, belong to the run no more; their folders are kept apart."""
        with self._lock:
            begun = {name: of for name, of in self._manifest.begun.items() if name not in trials}
            self._replace(dataclasses.replace(self._manifest, begun=begun, status="running", documents={}))
        for name in trials:
            self._keep_apart(name)

    def _keep_apart(self, trial: str) -> None:
        directory = self.trial(trial).path
        if directory.exists():
            earlier = self.path / "earlier"
            earlier.mkdir(exist_ok=True)
            number = 1 + sum(1 for _ in earlier.glob(f"{glob.escape(trial)}~*"))
            directory.rename(earlier / f"{trial}~{number}")

    def trial(self, trial: str) -> TrialDirectory:
        """The folder of a trial, whether it exists or not."""
        return TrialDirectory(path=self.path / "trials" / _checked_name(trial))

    def trials(self) -> dict[str, TrialRecord]:
        """All trials that have a trial.json, in the order of their names."""
        paths = sorted((self.path / "trials").glob("*/trial.json"))
        return {path.parent.name: read_document(TrialRecord, path) for path in paths}

    def make_deployment(self, record: DeploymentRecord) -> DeploymentDirectory:
        """Make a deployment's folder and write its deployment.json. Raises DiskFullError."""
        directory = self.deployment(record.deployment)
        directory.path.mkdir(parents=True, exist_ok=True)
        directory.write(dataclasses.replace(record, run=self._manifest.run))
        return directory

    def deployment(self, deployment: str) -> DeploymentDirectory:
        """The folder of a deployment, whether it exists or not."""
        return DeploymentDirectory(path=self.path / "deployments" / _checked_name(deployment))

    def _replace(self, manifest: Manifest) -> None:
        self._manifest = manifest
        write_document(self.path / "manifest.json", self._manifest)


def documents_of(run: Path) -> dict[str, str]:
    """The SHA-256 of each document of a run and of the user's own files, by their places. Raises RunDirectoryError."""
    patterns = (f"trials/*/{TRIAL_FILE}", f"deployments/*/{DEPLOYMENT_FILE}", "incidents/*.py", "broker.conf")
    files = sorted(path for pattern in patterns for path in run.glob(pattern))
    return {str(path.relative_to(run)): read_sum(path).sha256 for path in files}


_LOCK_NAME = ".lock"


def _lock(path: Path) -> int:
    # A lock of the kernel goes with the process that holds it, so a killed run leaves none behind.
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RunDirectoryError(f"cannot use {path} as a run directory: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise RunDirectoryError(
            f"{path} is in use by another run (process {holder})",
            advice="Wait for it, or choose another folder with --out.",
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


def _checked_name(name: str) -> str:
    if not name or name in {".", ".."} or "/" in name or "\0" in name:
        raise RunDirectoryError(f"{name!r} cannot be the name of a folder")
    return name
