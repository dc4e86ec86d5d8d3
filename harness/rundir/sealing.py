"""Evidence is closed: a folder's files are flushed to the disk, counted and summed before a record says that all of it is there.

What vouches for a file is the record that names it. Stores of brokers, disks that a load's listeners write to, and what libraries
unpack are no evidence: they can be gigabytes, and what they showed was read while they were there.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.bounded import LINE_BYTES_MAX, opened, values_of
from harness.errors import RunDirectoryError
from harness.rundir.files import TEMPORARY, flush_to_disk
from harness.rundir.manifest import SealedFile
from harness.rundir.own_files import require_shallow

TRIAL_FILE, DEPLOYMENT_FILE = "trial.json", "deployment.json"
EVENTS = "events.jsonl"

END = "end"
"""The type of a file's last record, which its writer adds when it closes the file."""

_NO_EVIDENCE = frozenset({"store", "disk", TEMPORARY})
_NO_EVIDENCE_SUFFIXES = (".img", ".tmp")
_CHUNK_BYTES = LINE_BYTES_MAX
"""No record of the lab is as long, nor what a killed Java client leaves behind its last one."""


def evidence_files(folder: Path) -> list[Path]:
    """The files of a trial's folder, or of a deployment's, that are evidence, in the order of their names.

    Raises RunDirectoryError: folders are nested too deeply.
    """
    return sorted(_evidence_below(folder)) if folder.is_dir() else []


def _evidence_below(folder: Path) -> Iterator[Path]:
    folders = [(folder, 0)]
    while folders:
        above, depth = folders.pop()
        require_shallow(str(above), depth)
        for path in above.iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name not in _NO_EVIDENCE:
                    folders.append((path, depth + 1))
            elif path.name not in (TRIAL_FILE, DEPLOYMENT_FILE) and not path.name.endswith(_NO_EVIDENCE_SUFFIXES):
                yield path


def seal(folder: Path) -> dict[str, SealedFile]:
    """Flush the folder's evidence to the disk; what each file is then, by its place in the folder.

    Nobody may write to it any more. Raises DiskFullError or LabError where the disk does not take it.
    """
    files = evidence_files(folder)
    sealed = {}
    for path in files:
        flush_to_disk(path)
        sealed[str(path.relative_to(folder))] = sealed_file(path)
    for parent in sorted({folder, *(path.parent for path in files)}):
        flush_to_disk(parent)
    return sealed


def sealed_file(path: Path) -> SealedFile:
    """What the file is now. Raises RunDirectoryError when it cannot be read."""
    summed = read_sum(path)
    if path.suffix != ".jsonl":
        return SealedFile(bytes=summed.bytes, sha256=summed.sha256)
    return SealedFile(
        bytes=summed.bytes,
        sha256=summed.sha256,
        records=summed.lines,
        ended=summed.last_type == END,
        damage=damage_of_numbers(summed),
    )


@dataclass(frozen=True, kw_only=True)
class FileSum:
    """A file that was read to its end.

    ``lines`` are its whole lines, empty ones at its end left out. ``last_number`` is the ``n`` of the last line that is a record,
    ``last_line`` that line's number, ``last_type`` its type; None where there is none. ``is_endless`` says that it
    has a line of more than LINE_BYTES_MAX bytes; one of up to twice as many may be let through. ``values`` counts the marks of JSON
    that stand before a value or end a line; 0 of a file that is no events.jsonl.
    """

    bytes: int
    sha256: str
    lines: int
    last_number: int | None = None
    last_line: int | None = None
    last_type: str | None = None
    is_endless: bool = False
    values: int = 0


def read_sum(path: Path) -> FileSum:
    """Read the whole file. Raises RunDirectoryError when it cannot be read."""
    summing, size, newlines, values, is_endless = hashlib.sha256(), 0, 0, 0, False
    before = last = b""
    try:
        with opened(path) as file:
            while chunk := file.read(_CHUNK_BYTES):
                summing.update(chunk)
                size += len(chunk)
                newlines += (ends := chunk.count(b"\n"))
                # Other files of records are read piece by piece.
                values += values_of(chunk) if path.name == EVENTS else 0
                is_endless |= not ends and len(chunk) == _CHUNK_BYTES
                before, last = last, chunk
    except OSError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error.strerror}") from error
    tail = (before + last)[-_CHUNK_BYTES:]
    # A killed Java client leaves empty lines behind its last record.
    whole = tail[: tail.rfind(b"\n") + 1]
    stripped = whole.rstrip(b"\n")
    lines = newlines - max(0, len(whole) - len(stripped) - 1) if stripped else 0
    summed = FileSum(bytes=size, sha256=summing.hexdigest(), lines=lines, is_endless=is_endless, values=values)
    return _with_last_record(summed, stripped.split(b"\n")) if path.suffix == ".jsonl" and stripped else summed


def _with_last_record(summed: FileSum, lines: list[bytes]) -> FileSum:
    """With the last of these lines, the file's last ones, that is a record. A kill may damage one behind it."""
    for back, line in enumerate(reversed(lines[-2:])):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("n"), int):
            return dataclasses.replace(
                summed, last_number=record["n"], last_line=summed.lines - back, last_type=str(record.get("type"))
            )
    return summed


def damage_of_numbers(summed: FileSum) -> str:
    """What the numbers of its records say against a file of JSON lines; empty where they are without gap and repeat."""
    if summed.lines == 0:
        return ""
    if summed.last_number is None:
        return "has no record at its end" if summed.lines > 1 else ""
    if summed.last_number != summed.last_line:
        kind = "lacks records" if summed.last_number > (summed.last_line or 0) else "has records twice"
        return f"{kind}: its last one has the number {summed.last_number} and is line {summed.last_line}"
    return ""
