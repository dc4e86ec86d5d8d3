"""What a lease is, and the folder that leases are written down in.

A lease says what exists (or is about to), whose it is, and when it has to be gone at the latest. It is one JSON file, on
disk before the thing itself; ``harness.leases.leases`` takes them, ``harness.leases.healing`` undoes them. Standard library only.

State folder::

    leases/<id>.json    {"schema": 1, "id", "kind", "data": {flat}, "owner": {"id", "pid", "start_ticks", "boot_id",
                         "namespace"}, "kept", "created", "created_mono_ns", "until_mono_ns"}
    damaged/            lease files that could not be read, set aside
    scratch/            folders of commands that run (harness/scratch.py)
    healer.log          what healers did
"""

import contextlib
import dataclasses
import json
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from harness.errors import LeaseError
from harness.leases import proc
from harness.leases.proc import ProcessId

LEASE_SCHEMA = 1

LeaseValue = str | int | float | bool | None
LeaseData = Mapping[str, LeaseValue]
"""What a kind needs to know to heal; flat, so that a lease stays readable to a person with a pager."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who answers for a lease: one opening of the state folder by one process of one boot."""

    id: str
    pid: int
    start_ticks: int
    boot_id: str
    namespace: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """The owner that process ``pid`` is from now on."""
        process = proc.identify(pid)
        if process is None:
            raise LeaseError(f"there is no process {pid} that could own leases")
        return cls(
            id=secrets.token_hex(8),
            pid=pid,
            start_ticks=process.start_ticks,
            boot_id=proc.boot_id(),
            namespace=proc.pid_namespace(),
        )

    def is_of_this_boot(self) -> bool:
        """False when the machine was started anew since: processes of that boot are gone."""
        return self.boot_id == proc.boot_id()

    def is_visible(self) -> bool:
        """False in another container than the owner's, where its pid names nothing or somebody else."""
        return self.namespace == proc.pid_namespace()

    def is_alive(self) -> bool:
        """True while the very process runs, not another one that got its pid."""
        return self.is_of_this_boot() and ProcessId(pid=self.pid, start_ticks=self.start_ticks).is_alive()


@dataclass(frozen=True, kw_only=True)
class LeaseRecord:
    """What is written down. ``id`` is random and, for a process, the token in its environment."""

    id: str
    kind: str
    data: LeaseData
    owner: Owner
    kept: bool
    created: str
    created_mono_ns: int
    until_mono_ns: int

    def is_over(self) -> bool:
        """True when the lease's time has passed, or the boot that its clock belongs to."""
        return not self.owner.is_of_this_boot() or time.monotonic_ns() >= self.until_mono_ns

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps({"schema": LEASE_SCHEMA, **dataclasses.asdict(self)}, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError when the text is not a whole lease of this schema."""
        value = json.loads(text)
        if not isinstance(value, dict) or value.pop("schema", None) != LEASE_SCHEMA:
            raise ValueError(f"not a lease of schema {LEASE_SCHEMA}")
        try:
            record = cls(**{**value, "owner": Owner(**value["owner"])})
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a lease: {error}") from error
        numbers = (record.created_mono_ns, record.until_mono_ns, record.owner.pid, record.owner.start_ticks)
        if not all(isinstance(number, int) for number in numbers) or not isinstance(record.data, dict):
            raise ValueError("not a lease: wrong types")
        return record


@dataclass(frozen=True, kw_only=True)
class Healed:
    """What was done about one lease. ``complete`` is False when something of it is still there."""

    lease: str
    kind: str
    what: str
    action: str
    complete: bool

    def __str__(self) -> str:
        return f"{self.what}: {self.action}" + ("" if self.complete else " (NOT healed)")


class Healable(Protocol):
    """One kind of thing that a lease can stand for. ``survives_boot`` is True for what a restart does not undo."""

    survives_boot: bool

    def describe(self, lease: LeaseRecord) -> str:
        """A few words that tell the user what it is."""

    def is_ours(self, lease: LeaseRecord) -> bool:
        """True when the thing exists now, and is shown to be the one that the lease is about."""

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        """Undo all of them, wait until that is done, and say for each lease's id what was done and if it is complete.

        It must be safe to call again and from several processes at once, and must not touch what is not ours.
        """


class OneByOne(ABC):
    """Base of a kind whose leases are healed one after another."""

    survives_boot: bool = False

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        """As ``Healable`` says."""
        deadline_s = time.monotonic() + timeout_s
        return {lease.id: self.undo(lease, deadline_s) for lease in leases}

    @abstractmethod
    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        """What was done, and whether nothing is left."""


class LeaseStore:
    """The lease files of a state folder."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self._leases = state_dir / "leases"
        self._damaged = state_dir / "damaged"
        self._cache: dict[str, tuple[tuple[int, int], LeaseRecord]] = {}
        try:
            self._leases.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise LeaseError(
                f"cannot make the state folder {state_dir}: {error.strerror}",
                advice="Set MQLAB_HOME to a folder that you can write to.",
            ) from error

    @property
    def files(self) -> Path:
        """The folder of the lease files, ``ID.json``."""
        return self._leases

    @property
    def log_path(self) -> Path:
        """What healers did, one line each."""
        return self.state_dir / "healer.log"

    def write(self, record: LeaseRecord) -> None:
        """Whole or not at all, and on the disk when this returns. Raises LeaseError."""
        path = self._leases / f"{record.id}.json"
        draft = path.with_suffix(".tmp")
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(record.to_json())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            self._sync_folder()
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise LeaseError(
                f"cannot write down a lease in {self._leases}: {error.strerror}",
                advice="Nothing is started that could not be ended: make room or set MQLAB_HOME to another folder.",
            ) from error

    def remove(self, lease_id: str) -> None:
        """Nothing happens when it is gone already: owner, healer and ``clean`` may all heal the same lease."""
        (self._leases / f"{lease_id}.json").unlink(missing_ok=True)

    def exists(self, lease_id: str) -> bool:
        """False once anybody has healed or released it."""
        return (self._leases / f"{lease_id}.json").exists()

    def read_all(self) -> tuple[list[LeaseRecord], list[Path]]:
        """The leases, oldest first, and the files that are not one. Files that have not changed are not read again."""
        records: list[LeaseRecord] = []
        damaged: list[Path] = []
        cache: dict[str, tuple[tuple[int, int], LeaseRecord]] = {}
        for path in self._leases.glob("*.json"):
            try:
                status = path.stat()
                version = (status.st_mtime_ns, status.st_ino)
                known = self._cache.get(path.name)
                record = known[1] if known and known[0] == version else LeaseRecord.from_json(path.read_text("utf-8"))
                if record.id != path.stem:
                    raise ValueError("the file's name is not the lease's id")
            except OSError:
                continue  # Somebody released it just now.
            except ValueError:
                damaged.append(path)
                continue
            cache[path.name] = (version, record)
            records.append(record)
        self._cache = cache
        return sorted(records, key=lambda record: record.created_mono_ns), damaged

    def set_aside(self, path: Path) -> Healed:
        """Move a damaged lease file away and say which processes carry its token; they are not touched.

        Without the file nobody knows whether they are kept, or whose they are.
        """
        self._damaged.mkdir(exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            path.replace(self._damaged / path.name)
        carriers = [str(process.pid) for process in proc.with_tokens({path.stem}).get(path.stem, [])]
        left = f"; processes that may belong to it: {', '.join(carriers)}" if carriers else ""
        return Healed(
            lease=path.stem,
            kind="damaged",
            what=f"damaged lease {path.name}",
            action=f"set aside in {self._damaged}{left}",
            complete=not carriers,
        )

    def remove_drafts(self) -> None:
        """Remove what was being written when a process died a good while ago. Nothing was started for it."""
        for draft in self._leases.glob("*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - draft.stat().st_mtime > 60:
                    draft.unlink()

    def _sync_folder(self) -> None:
        folder = os.open(self._leases, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def leases_in(state_dir: Path) -> list[LeaseRecord]:
    """All leases that are written down, oldest first; damaged files are left out."""
    return LeaseStore(state_dir).read_all()[0]


def until_mono_ns(until_s: float) -> int:
    """The end of a lease that lasts so many seconds from now."""
    return time.monotonic_ns() + int(until_s * 1e9)
