r"""The run directory, written: manifest, deployments, trials, and logs of records. The analysis reads it elsewhere.

Layout::

    RUN/
      manifest.json  hiccups.jsonl  .lock
      deployments/<deployment>/deployment.json
      deployments/<deployment>/nodes/<node>/logs/   gc.log  stdout.log
      trials/<trial>/trial.json  events.jsonl
      trials/<trial>/history/<process>.jsonl
      trials/<trial>/clients/<process>/
      earlier/<trial>~<n>/   attempts that a resumed run has replaced
      analysis/

manifest.json (``Manifest``), trial.json (``TrialRecord``) and deployment.json (``DeploymentRecord``) are one JSON
object each, ``"schema": 1`` and the fields of the dataclass of that name; they are replaced as a whole, so a reader
sees the old or the new one. A reader ignores fields that it does not know and refuses another schema.

A ``*.jsonl`` file holds one flat JSON object a line, appended by one process with one write a record. ``n`` is the
record's number in its file, from 1, which is its line number. A kill can damage the last line and nothing else; behind
it, a killed Java client leaves empty lines, which are no records. All ``*_ns`` are CLOCK_MONOTONIC of the host.
events.jsonl (``EventLog``)::

    {"type":"phase","n","phase":"up|steady|inject|hold|heal|recover|drain|collect|down","event":"begin|end","at_ns"}
    {"type":"fault","n","fault","state":"asked|injecting|injected|healing|healed","at_ns","target","asked_ms",
     "achieved_ms","detail","exercised"}
    {"type":"append","n","node","entry_ns","delay_end_ns","exit_ns"}
    {"type":"hiccup","n","from_ns","at_ns","late_ms_max","samples"}          from_ns to at_ns is the probe's window
    {"type":"lock_probe","n","at_ns","group","queue","asked_broker","granted"}
    {"type":"probe","n","at_ns","measure","value","of","params","detail"}     params is a JSON object as text
    {"type":"route","n","at_ns","node","topic","registered","routed"}         a name server's view, when it changes
    {"type":"drain","n","at_ns","complete","remaining"}
    {"type":"store_max","n","topic","broker","queue","min_offset","max_offset","group","consumer_offset"}
    {"type":"reading","n","at_ns","name","value","target","moment":"before|after","detail"}   see harness/load/readings.py
    {"type":"request","n","kind","started_ns","finished_ns","code"}              a request of another kind beside the load
    {"type":"anchor","n","process","mono_ns","wall_us"}

hiccups.jsonl has the probe's ``hiccup`` and ``anchor`` records of the whole run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import glob
import json
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar, cast

from harness.clock import Anchor, mono_ns, take_anchor
from harness.errors import DiskFullError, LabError, RunDirectoryError
from harness.model.cells import ParameterValue
from harness.rundir.layout import RUN_SCHEMA

JsonValue = str | int | float | bool | None
Record = Mapping[str, object]
"""One line of a ``*.jsonl`` file."""

RunStatus = Literal["running", "complete", "interrupted", "failed"]
TrialStatus = Literal["planned", "running", "complete", "failed", "interrupted"]
Phase = Literal["up", "steady", "inject", "hold", "heal", "recover", "drain", "collect", "down"]
FaultState = Literal["asked", "injecting", "injected", "healing", "healed"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SPACE_ADVICE = "Make room and resume the run with --resume; what was recorded so far is whole."


# --- one JSON object in one file --------------------------------------------------------------------------------------


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


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Replace the file as a whole, on the disk when this returns. Raises DiskFullError; the old file stays then."""
    draft = path.with_name(path.name + ".tmp")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=1, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise write_error(path, error) from error


def require_space(path: Path, needed_bytes: int) -> None:
    """Raise DiskFullError when the file system of ``path`` (which need not exist yet) has less than that to offer."""
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise DiskFullError(
            f"{path} needs {_mebibytes(needed_bytes)} and its file system has {_mebibytes(free_bytes)} left",
            advice="Make room, or choose another folder with --out.",
        )


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"


def write_error(path: Path, error: OSError) -> LabError:
    """The error to raise when ``path`` could not be written: a full disk is told apart, since it ends a run."""
    if error.errno in _FULL:
        return DiskFullError(f"no room left to write {path}: {error.strerror}", advice=_SPACE_ADVICE)
    return LabError(f"cannot write {path}: {error.strerror}")


# --- records, one a line ----------------------------------------------------------------------------------------------


class RecordLog:
    """An append-only file of JSON lines with one writing process. Safe to use from several threads.

    Opening an existing file goes on counting where it ended; a truncated last line, which a kill left, is cut off
    first. ``cut_bytes`` says how much that was.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = threading.Lock()
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise write_error(path, error) from error
        self._count, whole_bytes = _count_lines(self._handle)
        self.cut_bytes = max(0, os.fstat(self._handle).st_size - whole_bytes)
        if self.cut_bytes:
            os.ftruncate(self._handle, whole_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def count(self) -> int:
        """Records in the file."""
        return self._count

    def write(self, kind: str, values: Mapping[str, JsonValue]) -> int:
        """Append a record of type ``kind`` and return its ``n``.

        Raises DiskFullError; the file ends with the last whole record then, and the next write may succeed.
        """
        with self._lock:
            if self._handle < 0:
                raise LabError(f"{self.path} is closed already")
            number = self._count + 1
            record = {"type": kind, "n": number, **values}
            line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
            self._append(line.encode())
            self._count = number
            return number

    def close(self) -> None:
        """Nothing has to be flushed; every record is with the kernel already."""
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _append(self, data: bytes) -> None:
        size_before = os.fstat(self._handle).st_size
        written = 0
        try:
            # A nearly full disk takes a part of the record. The rest is tried, which gives the error if there is one.
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except OSError as error:
            if written:
                os.ftruncate(self._handle, size_before)
            raise write_error(self.path, error) from error


def _count_lines(handle: int) -> tuple[int, int]:
    """Number of whole lines, and the bytes that they take."""
    lines, whole_bytes, position = 0, 0, 0
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return 0, 0
    while block := os.pread(handle, 1 << 20, position):
        lines += block.count(b"\n")
        if (last := block.rfind(b"\n")) >= 0:
            whole_bytes = position + last + 1
        position += len(block)
    return lines, whole_bytes


def cut_padding(path: Path) -> None:
    """Cut off the empty lines that a killed Java client leaves behind its last record, a million of them at times.

    Nobody may have the file open for writing. One that is not there, or that ends otherwise, is left as it is.
    """
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            begin = max(0, end - (1 << 16))
            file.seek(begin)
            kept = len(file.read(end - begin).rstrip(b"\n"))
            if kept:
                # The last record keeps its own newline, where it has one.
                end = begin + kept + 1
                break
            end = begin
        if end < file.seek(0, os.SEEK_END):
            file.truncate(end)


Moment = Literal["begin", "held", "end"]
"""When the brokers were read: before what was done is undone, or after everything."""


class EventLog(RecordLog):
    """A trial's events.jsonl. ``at_ns`` is now when it is not given."""

    @contextlib.contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Stamp a phase's begin and, however it ends, its end."""
        self.phase_event(phase, "begin")
        try:
            yield
        finally:
            self.phase_event(phase, "end")

    def phase_event(self, phase: Phase, event: Literal["begin", "end"], *, at_ns: int | None = None) -> None:
        """Stamp one end of a phase."""
        self.write("phase", {"phase": phase, "event": event, "at_ns": _now(at_ns)})

    def fault(
        self,
        fault: str,
        state: FaultState,
        *,
        target: str = "",
        asked_ms: float | None = None,
        achieved_ms: float | None = None,
        detail: str = "",
        exercised: bool | None = None,
        at_ns: int | None = None,
    ) -> None:
        """Stamp a state of a fault: what was asked, and once it is known what was achieved.

        ``exercised`` is False when it turned out that the fault did not bite, for the reason in ``detail``.
        """
        values: dict[str, JsonValue] = {"fault": fault, "state": state, "at_ns": _now(at_ns), "target": target}
        lengths = {"asked_ms": asked_ms, "achieved_ms": achieved_ms}
        self.write("fault", {**values, **lengths, "detail": detail, "exercised": exercised})

    def append(self, *, node: str, entry_ns: int, delay_end_ns: int, exit_ns: int) -> None:
        """The stamps of one stalled append, taken in the broker."""
        self.write("append", {"node": node, "entry_ns": entry_ns, "delay_end_ns": delay_end_ns, "exit_ns": exit_ns})

    def hiccup(self, *, from_ns: int, at_ns: int, late_ms_max: float, samples: int) -> None:
        """The worst oversleep of the probe in one window."""
        values = {"from_ns": from_ns, "at_ns": at_ns, "late_ms_max": late_ms_max, "samples": samples}
        self.write("hiccup", values)

    def lock_probe(
        self, *, group: str, queue: str, asked_broker: str, granted: bool, as_group: str = "", at_ns: int | None = None
    ) -> None:
        """A lock request of ours for a ``queue`` ("broker-a:3") of ``group``'s owner, in its name or ``as_group``'s."""
        values: dict[str, JsonValue] = {
            "group": group,
            "as_group": as_group or group,
            "queue": queue,
            "asked_broker": asked_broker,
            "granted": granted,
        }
        self.write("lock_probe", {"at_ns": _now(at_ns), **values})

    def probe(
        self,
        measure: str,
        value: float,
        *,
        of: str,
        params: Mapping[str, ParameterValue] | None = None,
        detail: str = "",
        at_ns: int | None = None,
    ) -> None:
        """Something that was asked of the cluster and answered with a number; ``of`` names what was asked about."""
        given = json.dumps({name: str(one) for name, one in (params or {}).items()}, sort_keys=True)
        values: dict[str, JsonValue] = {"measure": measure, "value": float(value), "of": of, "params": given}
        self.write("probe", {"at_ns": _now(at_ns), **values, "detail": detail})

    def route(self, *, node: str, topic: str, registered: str, routed: str, at_ns: int | None = None) -> None:
        """What a name server lists, when it is not what it listed before.

        ``registered`` are the brokers ("broker-a:0,broker-a:1,broker-b:0"), ``routed`` those with queues of the topic.
        """
        values: dict[str, JsonValue] = {"node": node, "topic": topic, "registered": registered, "routed": routed}
        self.write("route", {"at_ns": _now(at_ns), **values})

    def drain(self, *, complete: bool, remaining: int, at_ns: int | None = None) -> None:
        """Whether everything was consumed at the end, and how many messages were not."""
        self.write("drain", {"at_ns": _now(at_ns), "complete": complete, "remaining": remaining})

    def store_max(
        self,
        *,
        topic: str,
        broker: str,
        queue: int,
        min_offset: int,
        max_offset: int,
        group: str | None = None,
        consumer_offset: int | None = None,
        moment: Moment = "end",
    ) -> None:
        """The broker's own counts of one queue, and of one group in it, at the end of the hold or of the trial."""
        values: dict[str, JsonValue] = {"topic": topic, "broker": broker, "queue": queue, "min_offset": min_offset}
        of_group: dict[str, JsonValue] = {"group": group, "consumer_offset": consumer_offset, "moment": moment}
        self.write("store_max", {**values, "max_offset": max_offset, **of_group})

    def topic_shape(
        self, *, topic: str, broker: str, write_queues: int, read_queues: int, folders: int, moment: Moment
    ) -> None:
        """A topic's numbers of queues on one broker, and how many of its queues have a folder in the store."""
        values: dict[str, JsonValue] = {"topic": topic, "broker": broker, "folders": folders, "moment": moment}
        self.write("topic_shape", {**values, "write_queues": write_queues, "read_queues": read_queues})

    def reading(
        self, name: str, value: float, *, target: str, moment: Literal["before", "after"] = "after", detail: str = ""
    ) -> None:
        """A number that was read off a node, or off its release's code, before the fault or after it."""
        values: dict[str, JsonValue] = {"name": name, "value": value, "target": target, "moment": moment}
        self.write("reading", {"at_ns": _now(None), **values, "detail": detail})

    def request(self, kind: str, *, started_ns: int, finished_ns: int, code: int) -> None:
        """One request of another kind than the load's, and its answer's code; -1 when there was none."""
        values: dict[str, JsonValue] = {"kind": kind, "started_ns": started_ns, "finished_ns": finished_ns}
        self.write("request", {**values, "code": code})

    def anchor(self, anchor: Anchor | None = None, *, process: str = "harness") -> None:
        """Tie the wall clock to the monotonic one, now."""
        taken = anchor or take_anchor()
        self.write("anchor", {"process": process, "mono_ns": taken.mono_ns, "wall_us": taken.wall_us})


def _now(at_ns: int | None) -> int:
    return mono_ns() if at_ns is None else at_ns


@dataclass(frozen=True, kw_only=True)
class Records:
    """What a file of JSON lines holds: the records, whether its last line is truncated, and other lines' numbers that
    are no record."""

    records: tuple[Record, ...]
    truncated: bool
    damaged_lines: tuple[int, ...]


def parse_records(data: bytes) -> Records:
    """Parse JSON lines; what a kill truncated is told apart from a line that is damaged for another reason."""
    lines = data.split(b"\n")
    truncated = bool(lines.pop())  # Whole lines end with a newline, so the last piece is empty.
    records: list[Record] = []
    damaged: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        else:
            damaged.append(number)
    return Records(records=tuple(records), truncated=truncated, damaged_lines=tuple(damaged))


def read_records(path: Path) -> Records:
    """Read a whole ``*.jsonl`` file. Raises RunDirectoryError when it cannot be read."""
    try:
        return parse_records(path.read_bytes())
    except OSError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error.strerror}") from error


# --- the folders ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TrialDirectory:
    """Where a trial's files go. The folders exist."""

    path: Path

    @property
    def events_path(self) -> Path:
        """The harness's own records."""
        return self.path / "events.jsonl"

    def open_events(self) -> EventLog:
        """Open events.jsonl for appending."""
        return EventLog(self.events_path)

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
        return read_trial(self.path / "trial.json")

    def write(self, record: TrialRecord) -> None:
        """Replace trial.json. Raises DiskFullError."""
        write_json(self.path / "trial.json", {"schema": RUN_SCHEMA, **dataclasses.asdict(record)})


@dataclass(frozen=True, kw_only=True)
class DeploymentDirectory:
    """Where a deployment's files go. The folder exists."""

    path: Path

    def node_folder(self, node: str) -> Path:
        """For a node's logs/, gc.log and stdout.log; made when it is not there."""
        folder = self.path / "nodes" / node
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        return folder

    def read(self) -> DeploymentRecord:
        """Raises RunDirectoryError."""
        return read_deployment(self.path / "deployment.json")

    def write(self, record: DeploymentRecord) -> None:
        """Replace deployment.json. Raises DiskFullError."""
        write_json(self.path / "deployment.json", {"schema": RUN_SCHEMA, **dataclasses.asdict(record)})


def new_run_id() -> str:
    """Sorts by time: 20261121T081500Z-ab12."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


class RunDirectory:
    """A run directory that this process writes. Nobody else can open it for writing until ``close``.

    ::

        with RunDirectory.create(Path("runs") / manifest.run, manifest) as run:
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
    def create(cls, path: Path, manifest: Manifest) -> RunDirectory:
        """Make a new run directory, in an empty or a new folder. Raises RunDirectoryError, DiskFullError."""
        with _locked_on_success(path) as lock:
            if (path / "manifest.json").exists():
                raise RunDirectoryError(
                    f"{path} holds a run already", advice=f"Go on with it by --resume {path}, or choose another --out."
                )
            strangers = sorted(entry.name for entry in path.iterdir() if entry.name != _LOCK_NAME)
            if strangers:
                raise RunDirectoryError(
                    f"{path} is not empty ({', '.join(strangers[:3])})", advice="Choose a new folder with --out."
                )
            for name in ("deployments", "trials"):
                (path / name).mkdir()
            run = cls(path, lock, manifest)
            run._write_manifest()
            return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run directory to go on with it. Raises RunDirectoryError."""
        read_manifest(path)
        with _locked_on_success(path) as lock:
            # Read again under the lock: another run may have written in between.
            return cls(path, lock, read_manifest(path))

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    @property
    def analysis_folder(self) -> Path:
        """Everything that the analysis writes."""
        return self.path / "analysis"

    def set_status(self, status: RunStatus) -> None:
        """Say how the run stands."""
        with self._lock:
            self._manifest = dataclasses.replace(self._manifest, status=status)
            self._write_manifest()

    def set_trials(self, trials: tuple[str, ...]) -> None:
        """Write down the planned trials in their order."""
        with self._lock:
            self._manifest = dataclasses.replace(self._manifest, trials=trials)
            self._write_manifest()

    def add_note(self, note: str) -> None:
        """Say something that a reader of the report has to know; once, however often it is said."""
        with self._lock:
            if note not in self._manifest.notes:
                self._manifest = dataclasses.replace(self._manifest, notes=(*self._manifest.notes, note))
                self._write_manifest()

    def make_trial(self, record: TrialRecord) -> TrialDirectory:
        """Make a trial's folders and write its trial.json. Raises DiskFullError.

        What an earlier attempt of the same name left, before the run was interrupted, goes to ``earlier/``: two attempts
        must not be read as one.
        """
        directory = self.trial(record.trial)
        if directory.path.exists():
            earlier = self.path / "earlier"
            earlier.mkdir(exist_ok=True)
            number = 1 + sum(1 for _ in earlier.glob(f"{glob.escape(record.trial)}~*"))
            directory.path.rename(earlier / f"{record.trial}~{number}")
        (directory.path / "history").mkdir(parents=True, exist_ok=True)
        (directory.path / "clients").mkdir(exist_ok=True)
        directory.write(record)
        return directory

    def trial(self, trial: str) -> TrialDirectory:
        """The folder of a trial, whether it exists or not."""
        return TrialDirectory(path=self.path / "trials" / _checked_name(trial))

    def trials(self) -> dict[str, TrialRecord]:
        """All trials that have a trial.json, in the order of their names."""
        paths = sorted((self.path / "trials").glob("*/trial.json"))
        return {path.parent.name: read_trial(path) for path in paths}

    def make_deployment(self, record: DeploymentRecord) -> DeploymentDirectory:
        """Make a deployment's folder and write its deployment.json. Raises DiskFullError."""
        directory = self.deployment(record.deployment)
        directory.path.mkdir(parents=True, exist_ok=True)
        directory.write(record)
        return directory

    def deployment(self, deployment: str) -> DeploymentDirectory:
        """The folder of a deployment, whether it exists or not."""
        return DeploymentDirectory(path=self.path / "deployments" / _checked_name(deployment))

    def _write_manifest(self) -> None:
        write_json(self.path / "manifest.json", {"schema": RUN_SCHEMA, **dataclasses.asdict(self._manifest)})


_LOCK_NAME = ".lock"


@contextlib.contextmanager
def _locked_on_success(path: Path) -> Iterator[int]:
    """The handle of the run's lock; it is closed again when the block raises."""
    handle = _lock(path)
    try:
        yield handle
    except BaseException:
        os.close(handle)
        raise


def _lock(path: Path) -> int:
    # A lock of the kernel goes with the process that holds it, so a killed run leaves none behind.
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
