"""Every process and every fault is written down before it exists, and ends even if this program dies.

A *lease* says what exists (or is about to), whose it is, and when it has to be gone at the latest. It is one JSON file
in the state folder, on disk before the thing itself. Three parties heal what a lease describes:

* its *owner* (the harness process), in the ordinary course of a run;
* the *healer*, a detached process (harness/healer.py) that notices the owner's death at once, since it holds the other
  end of a pipe, and that ends single leases whose time is over;
* ``clean``, called by the next run and by ``mqlab clean``, for what a crashed machine or a killed healer left.

A lease that is *kept* outlives its owner (``mqlab up``) until it is cleaned with ``include_kept`` or its time is over.
Nothing is touched that cannot be shown to be ours: see harness/proc.py for processes. Standard library only.

State folder::

    leases/<id>.json    {"schema": 1, "id", "kind", "data": {flat}, "owner": {"id", "pid", "start_ticks", "boot_id",
                         "namespace"}, "kept", "created", "created_mono_ns", "until_mono_ns"}
    damaged/            lease files that could not be read, set aside
    healer.log          what healers did
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Protocol

from harness import proc
from harness.container_leases import CONTAINER_KINDS
from harness.errors import LeaseError
from harness.kernel_leases import KERNEL_KINDS
from harness.proc import TOKEN_VARIABLE, ProcessId

LEASE_SCHEMA = 1

LeaseValue = str | int | float | bool | None
LeaseData = Mapping[str, LeaseValue]
"""What a kind needs to know to heal; flat, so that a lease stays readable to a person with a pager."""

PROCESS = "process"
STOPPED_PROCESS = "stopped-process"

_HEAL_TIMEOUT_S = 5.0
_SETTLE_S = 2.0
"""A process may still be between fork and exec, or, on a busy machine, in exec but without its environment yet (the
kernel lets the parent go on before that is set up), where it does not show its token. It is waited for this long."""
_FRESH_NS = 30_000_000_000
"""Nothing is waited for when the lease is older than this; fork and exec take milliseconds."""


def state_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Where leases are written: MQLAB_HOME/state, else XDG_STATE_HOME/rocketmq-incident-lab, else ~/.local/state/..."""
    if home := environment.get("MQLAB_HOME"):
        return Path(home) / "state"
    if state := environment.get("XDG_STATE_HOME"):
        return Path(state) / "rocketmq-incident-lab"
    return Path.home() / ".local" / "state" / "rocketmq-incident-lab"


# --- values ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who answers for a lease: one opening of the state folder by one process of one boot."""

    id: str
    pid: int
    start_ticks: int
    boot_id: str
    namespace: str

    @classmethod
    def of(cls, pid: int) -> Owner:
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
    def from_json(cls, text: str) -> LeaseRecord:
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


# --- how each kind is healed ------------------------------------------------------------------------------------------


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


class _Process:
    """A process and its descendants. data: name, argv (for people), pid, start_ticks (null until it is started)."""

    survives_boot: bool = False

    def describe(self, lease: LeaseRecord) -> str:
        pid = lease.data.get("pid")
        return f"process {lease.data.get('name')}" + (f" (pid {pid})" if pid is not None else " (being started)")

    def is_ours(self, lease: LeaseRecord) -> bool:
        process = _process_of(lease)
        if process is not None and process.has_token(lease.id):
            return True
        return bool(proc.with_tokens({lease.id}))

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        tokens = {lease.id for lease in leases}
        killed: dict[str, set[ProcessId]] = {token: set() for token in tokens}
        started_s = time.monotonic()
        while True:
            # Everything that carries the token is killed, not the recorded pid alone: that finds the process whose
            # pid was never written down, and what it started itself. The scan is repeated until it finds nothing,
            # since a process may fork between the scan and the signal.
            found = proc.with_tokens(tokens)
            for token, processes in found.items():
                killed[token] |= {process for process in processes if proc.send_signal(process, token, signal.SIGKILL)}
            left = set(proc.wait_gone(set().union(*killed.values()), timeout_s=0.2))
            elapsed_s = time.monotonic() - started_s
            awaited = any(_may_yet_appear(lease) for lease in leases if not killed[lease.id])
            if not found and not left and (elapsed_s >= _SETTLE_S or not awaited):
                break
            if elapsed_s >= timeout_s:
                break
            if not found:
                time.sleep(0.02)
        return {
            token: (_killed_in_words(processes), token not in found and not processes & left)
            for token, processes in killed.items()
        }


class _StoppedProcess:
    """A process of ours that was stopped with SIGSTOP. data: name, pid, start_ticks, token (of its own lease)."""

    survives_boot: bool = False

    def describe(self, lease: LeaseRecord) -> str:
        return f"stop signal of {lease.data.get('name')} (pid {lease.data.get('pid')})"

    def is_ours(self, lease: LeaseRecord) -> bool:
        process = _process_of(lease)
        return process is not None and process.has_token(str(lease.data.get("token")))

    def heal(self, leases: Sequence[LeaseRecord], *, timeout_s: float) -> Mapping[str, tuple[str, bool]]:
        return {lease.id: self._continue(lease, timeout_s=timeout_s) for lease in leases}

    def _continue(self, lease: LeaseRecord, *, timeout_s: float) -> tuple[str, bool]:
        process = _process_of(lease)
        deadline_s = time.monotonic() + timeout_s
        settled_s = time.monotonic() + _SETTLE_S
        while process is None or not proc.send_signal(process, str(lease.data.get("token")), signal.SIGCONT):
            if process is None or time.monotonic() >= settled_s or not _may_yet_appear(lease):
                return "it is gone", True
            time.sleep(0.02)
        while process.is_stopped():
            if time.monotonic() >= deadline_s:
                return "sent SIGCONT, and it is still stopped", False
            time.sleep(0.005)
        return "continued", True


HEALABLE: Mapping[str, Healable] = {
    PROCESS: _Process(),
    STOPPED_PROCESS: _StoppedProcess(),
    **KERNEL_KINDS,
    **CONTAINER_KINDS,
}
"""Kind to implementation; the one place to add a kind. The healer runs without site-packages: standard library only."""


def heal(store: LeaseStore, records: Iterable[LeaseRecord], *, timeout_s: float = _HEAL_TIMEOUT_S) -> list[Healed]:
    """Undo what the leases describe, newest first, and remove those that are healed.

    Newest first, since later things stand on earlier ones: a fault on the process that it is injected into, a process
    on the file system that was mounted for it. Neighbours of one kind are healed together.
    """
    healed: list[Healed] = []
    newest_first = sorted(records, key=lambda record: record.created_mono_ns, reverse=True)
    for kind, group in groupby(newest_first, key=lambda record: record.kind):
        healed += _heal_kind(kind, list(group), timeout_s=timeout_s)
    for result in healed:
        if result.complete:
            store.remove(result.lease)
    return healed


def _heal_kind(kind: str, records: list[LeaseRecord], *, timeout_s: float) -> list[Healed]:
    healable = HEALABLE.get(kind)
    if healable is None:
        action = "this version does not know how to heal it"
        return [Healed(lease=r.id, kind=kind, what=f"{kind} lease", action=action, complete=False) for r in records]
    gone = [r for r in records if not healable.survives_boot and not r.owner.is_of_this_boot()]
    hidden = [r for r in records if r not in gone and not r.owner.is_visible()]
    present = [r for r in records if r not in gone and r not in hidden]
    outcomes: dict[str, tuple[str, bool]] = {record.id: ("gone with an earlier boot", True) for record in gone}
    outcomes |= {record.id: ("it belongs to another container", True) for record in hidden}
    try:
        if present:
            outcomes |= healable.heal(present, timeout_s=timeout_s)
    except (OSError, LeaseError) as error:
        # What one kind cannot do must not keep the others from being healed.
        outcomes |= {record.id: (f"failed: {error}", False) for record in present}
    return [
        Healed(lease=r.id, kind=kind, what=healable.describe(r), action=outcomes[r.id][0], complete=outcomes[r.id][1])
        for r in records
    ]


def _process_of(lease: LeaseRecord) -> ProcessId | None:
    pid, start_ticks = lease.data.get("pid"), lease.data.get("start_ticks")
    if isinstance(pid, int) and isinstance(start_ticks, int):
        return ProcessId(pid=pid, start_ticks=start_ticks)
    return None


def _may_yet_appear(lease: LeaseRecord) -> bool:
    process = _process_of(lease)
    is_fresh = time.monotonic_ns() - lease.created_mono_ns < _FRESH_NS
    return is_fresh and (process is None or process.is_alive())


def _killed_in_words(processes: set[ProcessId]) -> str:
    pids = sorted(process.pid for process in processes)
    return f"killed {', '.join(map(str, pids))}" if pids else "it is gone"


# --- the state folder -------------------------------------------------------------------------------------------------


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


def clean(
    state_dir: Path,
    *,
    dry_run: bool = False,
    include_kept: bool = False,
    only: Callable[[LeaseRecord], bool] = lambda _: True,
) -> list[Healed]:
    """Heal what earlier owners left: those that died, those of an earlier boot, and kept leases whose time is over.

    Leases of owners that are alive are never touched. ``include_kept`` heals kept leases of dead owners as well,
    ``only`` narrows down which leases are considered. A dry run says what would be done.
    """
    store = LeaseStore(state_dir)
    records, damaged = store.read_all()
    leftovers = [record for record in records if only(record) and _is_leftover(record, include_kept=include_kept)]
    if dry_run:
        return [_would_heal(record) for record in reversed(leftovers)] + [_would_set_aside(path) for path in damaged]
    store.remove_drafts()
    return heal(store, leftovers) + [store.set_aside(path) for path in damaged]


def _is_leftover(record: LeaseRecord, *, include_kept: bool) -> bool:
    if record.owner.is_of_this_boot() and not record.owner.is_visible():
        return record.is_over()
    if record.owner.is_alive():
        return False
    return include_kept or not record.kept or record.is_over()


def _would_heal(record: LeaseRecord) -> Healed:
    healable = HEALABLE.get(record.kind)
    what = healable.describe(record) if healable else f"{record.kind} lease"
    present = healable is not None and record.owner.is_visible() and healable.is_ours(record)
    action = "would be healed" if present else "nothing is left of it; the lease would be removed"
    return Healed(lease=record.id, kind=record.kind, what=what, action=action, complete=not present)


def _would_set_aside(path: Path) -> Healed:
    what = f"damaged lease {path.name}"
    return Healed(lease=path.stem, kind="damaged", what=what, action="would be set aside", complete=False)


# --- what the harness holds -------------------------------------------------------------------------------------------


class Lease:
    """A lease that this process holds. Whoever undoes the thing calls ``release``, or lets ``heal`` do both."""

    def __init__(self, store: LeaseStore, record: LeaseRecord) -> None:
        self._store = store
        self._record = record
        self._lock = threading.Lock()

    @property
    def record(self) -> LeaseRecord:
        """What is written down now."""
        return self._record

    @property
    def is_held(self) -> bool:
        """False once it was released or healed, by whomever."""
        return self._store.exists(self._record.id)

    def update(self, data: LeaseData) -> None:
        """Write down more of what was learned about the thing."""
        self._rewrite(dataclasses.replace(self._record, data={**self._record.data, **data}))

    def renew(self, until_s: float) -> None:
        """Move the end to ``until_s`` seconds from now."""
        self._rewrite(dataclasses.replace(self._record, until_mono_ns=_until_mono_ns(until_s)))

    def keep(self) -> None:
        """Let it outlive this process from now on."""
        self._rewrite(dataclasses.replace(self._record, kept=True))

    def release(self) -> None:
        """The thing does not exist any more; the lease goes."""
        self._store.remove(self._record.id)

    def heal(self) -> Healed:
        """Undo the thing the way the healer would, now."""
        return heal(self._store, [self._record])[0]

    def _rewrite(self, record: LeaseRecord) -> None:
        with self._lock:
            if self.is_held:
                self._store.write(record)
            self._record = record


class LeasedProcess:
    """A child process under a lease: it ends when the lease ends or its owner dies."""

    def __init__(self, popen: subprocess.Popen[bytes], lease: Lease, process: ProcessId, name: str) -> None:
        self._popen = popen
        self._process = process
        self.lease = lease
        self.name = name

    @property
    def pid(self) -> int:
        """The pid, also after the process is gone."""
        return self._popen.pid

    @property
    def token(self) -> str:
        """The token in its environment."""
        return self.lease.record.id

    @property
    def returncode(self) -> int | None:
        """Its exit code as of the last ``poll`` or ``wait``; minus the signal's number when a signal ended it."""
        return self._popen.returncode

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input when that was asked for as a pipe."""
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its standard output when that was asked for as a pipe."""
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """Its standard error when that was asked for as a pipe."""
        return self._popen.stderr

    def identity(self) -> dict[str, LeaseValue]:
        """The data of a lease about something that is done to this process (``stopped-process``)."""
        return {"name": self.name, "pid": self.pid, "start_ticks": self._process.start_ticks, "token": self.token}

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._popen.poll()

    def pause(self, leases: Leases, *, until_s: float) -> Lease:
        """SIGSTOP, under a lease that lets it go on in ``until_s`` seconds at the latest; heal that to resume.

        Returns once every thread stands still. Raises LeaseError when that does not come.
        """
        lease = leases.hold(STOPPED_PROCESS, self.identity(), until_s=until_s)
        self.send_signal(signal.SIGSTOP)
        deadline_s = time.monotonic() + _HEAL_TIMEOUT_S
        while not self._process.is_stopped():
            if time.monotonic() >= deadline_s or self.poll() is not None:
                lease.heal()
                raise LeaseError(f"{self.name} (pid {self.pid}) did not stop")
            time.sleep(0.001)
        return lease

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code. Raises subprocess.TimeoutExpired."""
        if self._popen.returncode is None and timeout is not None:
            # Popen's own wait with a timeout polls in steps of up to 50 ms; a kill is stamped more exactly than that.
            still_there = proc.wait_gone([self._process], timeout_s=timeout)
            # A leader that is a zombie may have threads that are still ending; its exit code comes a moment later.
            return self._popen.wait(0 if still_there else 5.0)
        return self._popen.wait()

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; False when it is gone."""
        # Its token is not asked for: as long as its exit code is not taken, its pid is nobody else's.
        return self._popen.poll() is None and proc.send_signal(self._process, None, number)

    def kill(self, timeout_s: float = 5.0) -> int:
        """SIGKILL, wait until it and what it started are gone, release the lease.

        Returns the monotonic nanoseconds at which the process was seen gone. Raises LeaseError when it stays.
        """
        self.send_signal(signal.SIGKILL)
        try:
            self.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise LeaseError(f"{self.name} (pid {self.pid}) is still there {timeout_s} s after SIGKILL") from error
        gone_ns = time.monotonic_ns()
        self.release()
        return gone_ns

    def terminate(self, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL when it has not ended after ``grace_s``; True when it ended by itself."""
        self.send_signal(signal.SIGTERM)
        try:
            self.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        self.release()
        return True

    def keep(self) -> None:
        """Let it outlive this program from now on, until ``mqlab down`` or the lease's end."""
        self.lease.keep()

    def release(self) -> None:
        """End what is left of it and of what it started, and remove the lease."""
        healed = self.lease.heal()
        self._popen.poll()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be ended: {healed.action}")


# The write ends of the pipes to our healers. A forked child that never calls exec would hold them open, and its healer
# would not notice this process's death.
_doorbells: set[int] = set()


def _close_doorbells_in_child() -> None:
    for handle in _doorbells:
        with contextlib.suppress(OSError):
            os.close(handle)
    _doorbells.clear()


os.register_at_fork(after_in_child=_close_doorbells_in_child)


class Leases:
    """The leases of one owner, and the healer that guards them. Safe to use from several threads.

    ::

        with Leases.open(state_home()) as leases:
            broker = leases.spawn(["java", ...], name="broker-a", until_s=3600)
            stop = broker.pause(leases, until_s=30)

    Leaving the block heals everything that is not kept.
    """

    HEALER_START_TIMEOUT_S: ClassVar[float] = 20.0

    def __init__(self, store: LeaseStore, owner: Owner) -> None:
        self._store = store
        self.owner = owner
        self._opened_by = os.getpid()
        # Held while something is written down and started, so that nothing is started behind ``close``.
        self._lock = threading.RLock()
        self._processes: list[LeasedProcess] = []
        self._healer: _HealerHandle | None = None
        self._closed = False

    @classmethod
    def open(cls, state_dir: Path | None = None, owner_pid: int | None = None) -> Leases:
        """Open the state folder for this process (or ``owner_pid``) and start the healer. Raises LeaseError."""
        if not Path("/proc/self/environ").exists():
            raise LeaseError("leases need Linux's /proc", advice="Run the lab on Linux, or in a container.")
        store = LeaseStore((state_dir or state_home()).absolute())
        leases = cls(store, Owner.of(owner_pid or os.getpid()))
        leases.ensure_healer()
        return leases

    def __enter__(self) -> Leases:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def state_dir(self) -> Path:
        """The folder of the lease files."""
        return self._store.state_dir

    @property
    def healer_pid(self) -> int:
        """The pid of the healer that was started last."""
        return self._healer.pid if self._healer else 0

    def ensure_healer(self) -> None:
        """Start the healer if it is not running. Every new lease does this first."""
        with self._lock:
            if self._closed:
                raise LeaseError("these leases are closed already")
            if self._healer is not None and self._healer.is_running():
                self._healer.ring()
                return
            if self._healer is not None:
                self._healer.close()
            self._healer = _HealerHandle.start(self._store, self.owner, timeout_s=self.HEALER_START_TIMEOUT_S)

    def hold(self, kind: str, data: LeaseData, until_s: float, *, kept: bool = False) -> Lease:
        """Write down something that is about to be done; it is healed in ``until_s`` seconds at the latest.

        When this returns, do it; when it is undone, ``release`` the lease.
        """
        if kind not in HEALABLE:
            raise LeaseError(f"nobody knows how to heal {kind!r}; known kinds: {', '.join(HEALABLE)}")
        with self._lock:
            self.ensure_healer()
            record = self._record(kind, data, until_s=until_s, kept=kept)
            self._store.write(record)
            self._ring()
        return Lease(self._store, record)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        name: str,
        until_s: float,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | IO[bytes] | None = subprocess.DEVNULL,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
        kept: bool = False,
    ) -> LeasedProcess:
        """Start a process in a session of its own, with its lease written down first.

        ``env`` is its whole environment (None: ours), to which the lease's token is added. It is killed in ``until_s``
        seconds at the latest, when this process dies (unless ``kept``), and when the leases are closed. Raises
        LeaseError when it cannot be started.
        """
        data: dict[str, LeaseValue] = {"name": name, "argv": shlex.join(argv)[:500], "pid": None, "start_ticks": None}
        with self._lock:
            self.ensure_healer()
            record = self._record(PROCESS, data, until_s=until_s, kept=kept)
            lease = Lease(self._store, record)
            self._store.write(record)
            environment = {**(os.environ if env is None else env), TOKEN_VARIABLE: record.id}
            try:
                popen = subprocess.Popen(
                    list(argv),
                    env=environment,
                    cwd=cwd,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                lease.release()
                raise LeaseError(f"cannot start {name} ({argv[0]}): {error}") from error
            # A child that has ended already is still identified, as a zombie; gone only where zombies are not kept.
            process = proc.identify(popen.pid) or ProcessId(pid=popen.pid, start_ticks=-1)
            leased = LeasedProcess(popen, lease, process, name)
            self._processes.append(leased)
        try:
            lease.update({"pid": process.pid, "start_ticks": process.start_ticks})
        except LeaseError:
            leased.kill()
            raise
        self._ring()
        return leased

    def close(self) -> list[Healed]:
        """Heal everything that is not kept, and let the healer go. Raises LeaseError when something stays.

        In a forked child this does nothing: it owns nothing.
        """
        with self._lock:
            if self._closed or os.getpid() != self._opened_by:
                return []
            self._closed = True
        records, _ = self._store.read_all()
        mine = [record for record in records if record.owner == self.owner]
        healed = heal(self._store, [record for record in mine if not record.kept])
        for process in self._processes:
            _reap(process)
        if self._healer is not None:
            self._healer.close()
            if not any(record.kept for record in mine) and all(result.complete for result in healed):
                self._healer.wait_gone(timeout_s=3.0)
        left = [result for result in healed if not result.complete]
        if left:
            raise LeaseError(
                f"could not heal {'; '.join(map(str, left))}",
                advice=f"`mqlab clean` tries again; the leases are in {self._store.state_dir}.",
            )
        return healed

    def _record(self, kind: str, data: LeaseData, *, until_s: float, kept: bool) -> LeaseRecord:
        return LeaseRecord(
            id=secrets.token_hex(16),
            kind=kind,
            data=dict(data),
            owner=self.owner,
            kept=kept,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            created_mono_ns=time.monotonic_ns(),
            until_mono_ns=_until_mono_ns(until_s),
        )

    def _ring(self) -> None:
        healer = self._healer
        if healer is not None:
            healer.ring()


def _until_mono_ns(until_s: float) -> int:
    return time.monotonic_ns() + int(until_s * 1e9)


def _reap(process: LeasedProcess) -> None:
    if process.poll() is None and process.lease.record.kept:
        # The process outlives us on purpose; without a code, Popen would warn about that when it is collected.
        process._popen.returncode = 0
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


class _HealerHandle:
    """Our end of the pipe to a healer process."""

    def __init__(self, process: ProcessId, doorbell: int) -> None:
        self.pid = process.pid
        self._process = process
        self._doorbell = doorbell
        self._reaped = False

    @classmethod
    def start(cls, store: LeaseStore, owner: Owner, *, timeout_s: float) -> _HealerHandle:
        """Start it and wait until it says that it stands guard."""
        bell_read, bell_write = (_above_stdio(handle) for handle in os.pipe2(os.O_CLOEXEC))
        ready_read, ready_write = (_above_stdio(handle) for handle in os.pipe2(os.O_CLOEXEC))
        _doorbells.add(bell_write)
        os.set_blocking(bell_write, False)
        try:
            pid = _spawn_healer(store, owner, stdin=bell_read, stdout=ready_write)
            os.close(ready_write)
            ready_write = -1
            readable, _, _ = select.select([ready_read], [], [], timeout_s)
            process = proc.identify(pid)
            if not readable or os.read(ready_read, 16) != b"ready\n" or process is None:
                raise LeaseError(
                    "the healer process did not start, and without it nothing is started",
                    advice=f"See the end of {store.log_path}.",
                )
            return cls(process, bell_write)
        except OSError as error:
            raise LeaseError(f"cannot start the healer process: {error}") from error
        finally:
            for handle in (bell_read, ready_read, ready_write):
                if handle >= 0:
                    os.close(handle)

    def is_running(self) -> bool:
        """Also reaps it when it has died."""
        if not self._reaped:
            try:
                self._reaped = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
            except ChildProcessError:
                self._reaped = True
        return not self._reaped

    def ring(self) -> None:
        """Ask it to look at the leases again. A full pipe has rung already; a broken one is noticed elsewhere."""
        with contextlib.suppress(OSError):
            os.write(self._doorbell, b".")

    def close(self) -> None:
        """Let go of the pipe: the healer heals what is not kept, and leaves when nothing is left."""
        if self._doorbell in _doorbells:
            _doorbells.discard(self._doorbell)
            os.close(self._doorbell)

    def wait_gone(self, *, timeout_s: float) -> None:
        """Wait for its end, and take its exit code so that no zombie stays."""
        proc.wait_gone([self._process], timeout_s=timeout_s)
        self.is_running()


_HEALER_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from harness.healer import main; main(sys.argv[2:])"


def _spawn_healer(store: LeaseStore, owner: Owner, *, stdin: int, stdout: int) -> int:
    # Isolated and without site-packages: it starts in some 30 ms whatever the working folder and the user's settings
    # are, and cannot be broken by a package. Its environment is nearly empty, so that it carries no lease's token: it
    # would be killed as a descendant when the harness itself runs under a lease.
    root = str(Path(__file__).resolve().parent.parent)
    owner_json = json.dumps(dataclasses.asdict(owner))
    argv = [sys.executable, "-I", "-S", "-c", _HEALER_BOOT, root, str(store.state_dir), owner_json]
    log_flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    return os.posix_spawn(
        sys.executable,
        argv,
        {"LC_ALL": "C.UTF-8"},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin, 0),
            (os.POSIX_SPAWN_DUP2, stdout, 1),
            (os.POSIX_SPAWN_OPEN, 2, str(store.log_path), log_flags, 0o600),
        ],
        setsid=True,
        setsigdef=[signal.SIGCHLD],
    )


def _above_stdio(handle: int) -> int:
    """The same file above 2: a program that was started with its standard files closed gets those numbers first."""
    if handle > 2:
        return handle
    import fcntl

    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(handle)
    return moved
