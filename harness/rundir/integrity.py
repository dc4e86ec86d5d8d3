"""What a run directory's documents and files say of each other: what is missing, cut, changed, doubled or foreign."""

import contextlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from harness.bounded import DOCUMENT_BYTES_MAX, LINE_BYTES_MAX, opened
from harness.errors import RunDirectoryError, shown
from harness.printable import printable
from harness.rundir.decode import read_document
from harness.rundir.manifest import (
    ENDED,
    BegunTrial,
    DeploymentRecord,
    Manifest,
    SealedFile,
    TrialRecord,
    is_zone,
)
from harness.rundir.own_files import why_no_place
from harness.rundir.sealing import (
    DEPLOYMENT_FILE,
    EVENTS,
    TRIAL_FILE,
    FileSum,
    damage_of_numbers,
    evidence_files,
    read_sum,
)
from harness.unpacked import PIECE_BYTES, PackedError, Unpacked

T = TypeVar("T", TrialRecord, DeploymentRecord)

CHANGED = "is not the file that was sealed: its sum is another one"

EVENT_VALUES_MAX = 2**22
"""Of events.jsonl, whose records become objects of Python and rows of a table.
Those of the tests' recorded runs have 17,164 at most."""

FOREIGN = "is foreign, and left out: "
"""What is said of something that the run does not name begins so."""

UNVOUCHED = "Nothing vouches for the files of this run: it was made before a run's files were sealed"


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What is wrong with a file or folder of a run, in words; ``file`` is relative to the run.

    ``trials`` are those whose evidence it spoils. Something that the run does not name spoils none: it is left out.
    """

    file: str
    what: str
    trials: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """In a sentence's words, on one line."""
        return printable(f"{self.file} {self.what}")


def damage_of_content(path: Path, sealed: SealedFile | None) -> str:
    """What the content of a file says against it; empty where nothing does."""
    try:
        summed = read_sum(path)
    except RunDirectoryError as error:
        return str(error).removeprefix(f"{path} ")
    if sealed is not None and summed.sha256 != sealed.sha256:
        return CHANGED
    if what := _damage_of_size(path, summed):
        return what
    return damage_of_numbers(summed) if sealed is None and path.suffix == ".jsonl" else ""


def _damage_of_size(path: Path, summed: FileSum) -> str:
    """Why a file of records or a log is none that the lab has written, and may not be read into memory by its lines."""
    if path.name == EVENTS and summed.bytes > DOCUMENT_BYTES_MAX:
        return f"has more than {DOCUMENT_BYTES_MAX:,} bytes"
    if summed.values > EVENT_VALUES_MAX:
        return f"has more than {EVENT_VALUES_MAX:,} values"
    is_text = path.suffix == ".jsonl" or ".log" in path.name
    if is_text and (summed.is_endless or (path.suffix == ".gz" and _unpacks_to_endless(path))):
        return f"has a line of more than {LINE_BYTES_MAX:,} bytes"
    return ""


def _unpacks_to_endless(path: Path) -> bool:
    """Whether a packed log has such a line, or unpacks to far too many bytes. One that is damaged is told of elsewhere."""
    length = 0
    try:
        with opened(path) as packed:
            unpacked = Unpacked(packed)
            while piece := unpacked.read(PIECE_BYTES):
                first, last = piece.find(b"\n"), piece.rfind(b"\n")
                if length + (len(piece) if first < 0 else first) > LINE_BYTES_MAX:
                    return True
                length = length + len(piece) if first < 0 else len(piece) - last - 1
    except PackedError:
        return True
    except (OSError, EOFError, zlib.error):
        return False
    return False


OF_ALL_MAX = 20
"""Of documents that are gone or changed, each of which spoils every trial, so many are named and the others counted."""
TRIALS_MAX = 50_000
"""No run has as many, its repetitions included: a plan has a fifth of them at most. A manifest that names more is none of ours."""


class Look:
    """One reading, with what it comes across."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest
        self.problems: list[str] = [] if manifest.sealed else [UNVOUCHED]
        self.damage: list[Damage] = []
        self._is_of_this_run = False
        self._noted: set[str] = set()
        self._begun = frozenset(manifest.begun)
        self._of_deployment: dict[str, set[str]] = {}
        for trial, begun in manifest.begun.items():
            self._of_deployment.setdefault(begun.deployment, set()).add(trial)

    def require_own_manifest(self) -> None:
        """Refuse a manifest that lies in another run's folder: it is of none of the records there, and they are all of others.

        Raises RunDirectoryError.
        """
        if not self.manifest.sealed or self._is_of_this_run:
            return
        kinds: tuple[tuple[type[TrialRecord] | type[DeploymentRecord], str], ...] = (
            (TrialRecord, f"trials/*/{TRIAL_FILE}"),
            (DeploymentRecord, f"deployments/*/{DEPLOYMENT_FILE}"),
        )
        others: set[str] = set()
        for kind, file in kinds:
            for path in self.root.glob(file):
                with contextlib.suppress(RunDirectoryError):
                    others.add(read_document(kind, path).run)
        if others := others - {"", self.manifest.run}:
            raise RunDirectoryError(
                f"{self.root / 'manifest.json'} is of the run {self.manifest.run}, and what lies beside it of "
                f"{' and '.join(sorted(others))}",
                advice="Copy manifest.json, or all of the run, again from where it was made.",
            )

    def trials(self) -> list[TrialRecord]:
        """Those that were begun; of a run that is not sealed those that were planned, and what they were repeated as."""
        folders = {path.name for path in self.root.glob("trials/*") if path.is_dir()}
        records: dict[str, TrialRecord] = {}
        if self.manifest.sealed:
            for name, begun in self.manifest.begun.items():
                records[name] = self._trial(name, begun)
        else:
            for name in sorted(folders):
                if (self.root / "trials" / name / TRIAL_FILE).exists():
                    record = self._document(TrialRecord, f"trials/{name}/{TRIAL_FILE}", name, frozenset())
                    if record is not None:
                        records[name] = record
            records = _planned_of(records, self.manifest.trials)
        for name in sorted(folders - records.keys()):
            if self.manifest.sealed or (self.root / "trials" / name / TRIAL_FILE).exists():
                self._found(f"trials/{name}", f"{FOREIGN}the manifest names no such trial")
        absent = [name for name in self.manifest.trials if name not in records]
        if absent:
            some = ", ".join(absent[:3]) + (", ..." if len(absent) > 3 else "")
            self.problems.append(f"{len(absent)} of {len(self.manifest.trials)} planned trials left nothing: {some}")
        return list(records.values())

    def _trial(self, name: str, begun: BegunTrial) -> TrialRecord:
        place, own = f"trials/{name}", frozenset({name})
        if not (self.root / place).is_dir():
            self._found(place, "is missing", own)
            return _known_of(name, begun, self.manifest)
        record = self._document(TrialRecord, f"{place}/{TRIAL_FILE}", name, own)
        if record is None:
            return _known_of(name, begun, self.manifest)
        if record.status in ENDED:
            self._files(place, record.files, own)
        else:
            self.problems.append(f"{name} had not ended when the run did: nothing vouches for its files")
        return record

    def deployments(self, trials: Sequence[TrialRecord]) -> list[DeploymentRecord]:
        """Those of the trials."""
        records: list[DeploymentRecord] = []
        of: dict[str, set[str]] = {}
        ended_of: dict[str, set[str]] = {}
        for trial in trials:
            of.setdefault(trial.deployment, set()).add(trial.trial)
            if trial.status in ENDED:
                ended_of.setdefault(trial.deployment, set()).add(trial.trial)
        names = of.keys() | ({path.parent.name for path in self.root.glob(f"deployments/*/{DEPLOYMENT_FILE}")})
        seen: dict[tuple[tuple[str, str], ...], str] = {}
        for name in sorted(names):
            place, spoiled = f"deployments/{name}", frozenset(of.get(name, ()))
            if self.manifest.sealed and not spoiled:
                if f"{place}/{DEPLOYMENT_FILE}" not in self.manifest.documents and self.manifest.documents:
                    self._found(place, f"{FOREIGN}the manifest names no such deployment")
                continue
            record = self._document(DeploymentRecord, f"{place}/{DEPLOYMENT_FILE}", name, spoiled)
            if record is None:
                continue
            records.append(record)
            identity = tuple(sorted(record.identity.items()))
            if identity and identity in seen:
                self._found(place, f"is a copy of deployments/{seen[identity]}: it is the same cluster", spoiled)
            seen.setdefault(identity, name)
            if record.ended and self.manifest.sealed:
                self._files(place, record.files, spoiled)
            elif self.manifest.sealed and (ended := ended_of.get(name)):
                what = "was not closed: the run ended amid it, and its logs may lack lines"
                self._found(place, what, frozenset(ended))
        return records

    def documents(self) -> None:
        """Compare each document with the sum that the manifest has of it since the run ended."""
        more: dict[str, int] = {}
        told = 0
        for file, sha256 in self.manifest.documents.items():
            path = self.root / file
            what = "is missing" if not path.is_file() else ""
            what = what or ("is not what it was when the run ended" if read_sum(path).sha256 != sha256 else "")
            if not what:
                continue
            spoiled = self._spoiled_by(file)
            if spoiled is not self._begun:
                self._once(file, what, spoiled)
            elif told < OF_ALL_MAX:
                self._once(file, what, spoiled)
                told += 1
            else:
                more[what] = more.get(what, 0) + 1
        for what, count in more.items():
            self._found(f"{count:,} more documents", what, self._begun)

    def _spoiled_by(self, file: str) -> frozenset[str]:
        """The trials whose evidence a document's damage spoils: those of its folder, or all of them."""
        kind, name = PurePosixPath(file).parts[:2] if "/" in file else ("", "")
        if kind == "trials":
            return frozenset({name})
        if kind == "incidents":
            # It says what is claimed, and is no evidence: by a changed one the same evidence is judged otherwise.
            return frozenset()
        return frozenset(self._of_deployment.get(name, ())) if kind == "deployments" else self._begun

    def _once(self, file: str, what: str, spoiled: frozenset[str]) -> None:
        """Note it unless something of the file, or of a folder that it lies in, is noted already."""
        if self._noted.isdisjoint((file, *map(str, PurePosixPath(file).parents))):
            self._found(file, what, spoiled)

    def _found(self, file: str, what: str, trials: frozenset[str] = frozenset()) -> None:
        self._noted.add(file)
        self.damage.append(Damage(file=file, what=what, trials=trials))

    def _document(self, kind: type[T], file: str, name: str, spoiled: frozenset[str]) -> T | None:
        """A trial's or a deployment's own record; None where it cannot be read, which is noted."""
        path = self.root / file
        if not path.is_file():
            if self.manifest.sealed:
                self._found(file, "is missing", spoiled)
            return None
        try:
            record = read_document(kind, path)
        except RunDirectoryError as error:
            if self.manifest.sealed:
                self._found(file, str(error).removeprefix(f"{path} "), spoiled)
            else:
                self.problems.append(str(error))
            return None
        own = record.trial if isinstance(record, TrialRecord) else record.deployment
        if own != name:
            self._found(file, f"is that of {own}", spoiled or frozenset({name}))
            return None
        if what := _foreign_value(record):
            self._found(file, what, spoiled or frozenset({name}))
            return None
        if self.manifest.sealed and record.run != self.manifest.run:
            self._found(file, f"is of another run, {record.run or 'one that is not sealed'}", spoiled)
            return None
        self._is_of_this_run = True
        return record

    def _files(self, place: str, files: Mapping[str, SealedFile], spoiled: frozenset[str]) -> None:
        """Compare what lies in a folder with what its record names."""
        folder = self.root / place
        there = {str(path.relative_to(folder)): path for path in evidence_files(folder)}
        record = TRIAL_FILE if place.startswith("trials/") else DEPLOYMENT_FILE
        gone: dict[str, int] = {}
        for name, sealed in files.items():
            file = f"{place}/{name}"
            if name not in there:
                # A folder that is gone is named instead of each file that was in it.
                above = (str(one) for one in reversed(PurePosixPath(name).parents) if not (folder / one).is_dir())
                missing = next(above, name)
                gone[missing] = gone.get(missing, 0) + 1
            elif (size := there[name].stat().st_size) != sealed.bytes:
                what = f"is not the file that was sealed: it has {size:,} bytes, and had {sealed.bytes:,}"
                self._found(file, what, spoiled)
            elif sealed.damage:
                self._found(file, sealed.damage, spoiled)
        for missing, count in gone.items():
            what = "is missing" if missing in files else f"is missing with all its files ({count:,})"
            self._found(f"{place}/{missing}", what, spoiled)
        for name in sorted(there.keys() - files.keys()):
            self._found(f"{place}/{name}", f"{FOREIGN}{place}/{record} does not name it")


def _foreign_value(record: TrialRecord | DeploymentRecord) -> str:
    """A value of a record that no writer of the lab gives it, in words; empty where there is none.

    Whoever reads a run opens what it names, and reads its logs' times in its zone.
    """
    if isinstance(record, DeploymentRecord) and not is_zone(record.log_zone):
        return f"has {shown(record.log_zone)} as the zone of its logs, which is no zone"
    named = (record.deployment, *record.files) if isinstance(record, TrialRecord) else (*record.files,)
    return next(filter(None, map(why_no_place, named)), "")


def _planned_of(records: Mapping[str, TrialRecord], planned: Sequence[str]) -> dict[str, TrialRecord]:
    """Of a run that is not sealed: the planned trials and what they were repeated as; all where no plan was written down."""
    if not planned:
        return dict(records)
    found: dict[str, TrialRecord] = {}
    for name in planned:
        while name in records and name not in found:
            found[name] = records[name]
            name = records[name].superseded_by
    return found


def _known_of(name: str, begun: BegunTrial, manifest: Manifest) -> TrialRecord:
    """What the manifest knows of a trial whose own record cannot be read."""
    return TrialRecord(
        trial=name,
        incident=begun.incident,
        arm=begun.arm,
        params=begun.params,
        release=begun.release,
        client="",
        backend=manifest.backend,
        injection="",
        deployment=begun.deployment,
        repetition=0,
        seed=0,
        topic="",
        chosen_injection=begun.chosen_injection,
        run=manifest.run,
    )
