"""``scenarios/record/index.jsonl``: what happened to the record, one line each, chained by SHA-256; it only grows.

A line names the files that came with it and their SHA-256, and the SHA-256 of the line before. What is changed or removed
later is found from the files alone, without git's history.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.errors import LedgerError
from harness.rundir.decode import DecodeError, decode

JOURNAL = "index.jsonl"

EntryKind = Literal["registered", "recorded", "summaries", "events", "rule", "experiment", "withdrawn"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """``about`` is a run, a claim (rule), an incident (experiment) or an event (withdrawn); ``hash`` the new rule's.

    ``was`` is the hash of the rule before, and ``kept`` those of its parts that the new one asks for, too.
    ``at`` is when, ISO 8601; ``because`` is the reason of a change; ``files`` are relative to the record's folder.
    """

    kind: EntryKind
    about: str
    at: str
    because: str = ""
    commit: str = ""
    hash: str = ""
    was: str = ""
    kept: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    previous: str = ""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The entries in their order; ``head`` is the SHA-256 of the last line, empty where there is none."""

    entries: tuple[Entry, ...] = ()
    head: str = ""

    def of(self, kind: EntryKind) -> list[Entry]:
        """The entries of a kind."""
        return [entry for entry in self.entries if entry.kind == kind]


def read_journal(folder: Path) -> Journal:
    """The journal of a record, an empty one where there is none.

    Raises LedgerError, naming the line or the file, when a line does not follow from the one before, when a file is not what
    its line says, when one is missing, or when there is one that no line names.
    """
    path = folder / JOURNAL
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    entries, head = [], ""
    for number, line in enumerate(lines, start=1):
        entry = _entry(line, f"{path}:{number}")
        if entry.previous != head:
            raise LedgerError(
                f"{path}:{number} does not follow from the line before: a line was changed or removed", advice=_RESTORE
            )
        entries.append(entry)
        head = sha256(line)
    _check_files(folder, entries)
    return Journal(entries=tuple(entries), head=head)


def append(folder: Path, entry: Entry, files: Iterable[str] = ()) -> None:
    """Add an entry with its files, which lie in the folder already. Raises LedgerError for a file that is recorded already."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / JOURNAL).open("a+", encoding="utf-8") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.seek(0)
        lines = out.read().splitlines()
        known = {name for line in lines for name in json.loads(line).get("files", {})}
        sums = {name: sha256((folder / name).read_bytes()) for name in files}
        if again := sorted(known & sums.keys()):
            raise LedgerError(f"{again[0]} is in the record already, and nothing in it is replaced")
        chained = dataclasses.replace(entry, files=sums, previous=sha256(lines[-1]) if lines else "")
        out.write(json_line({key: value for key, value in dataclasses.asdict(chained).items() if value}))
        out.flush()
        os.fsync(out.fileno())


def sha256(content: str | bytes) -> str:
    """Of a line without its end, or of a file."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def json_line(value: object) -> str:
    """One line of strict JSON, its end included."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


_RESTORE = "Restore scenarios/record from git: the record only grows."


def _entry(line: str, place: str) -> Entry:
    try:
        return decode(Entry, json.loads(line))
    except (ValueError, DecodeError) as error:
        raise LedgerError(f"{place} is no entry of the journal: {error}", advice=_RESTORE) from error


def _check_files(folder: Path, entries: Iterable[Entry]) -> None:
    named = {name: told for entry in entries for name, told in entry.files.items()}
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path != folder / JOURNAL}
    for name in sorted(named.keys() | there):
        if name not in there:
            raise LedgerError(f"{folder / name} is missing from the record", advice=_RESTORE)
        if name not in named:
            raise LedgerError(
                f"{folder / name} is in no line of {JOURNAL}", advice="Only `python -m tools.ledger` writes the record."
            )
        if sha256((folder / name).read_bytes()) != named[name]:
            raise LedgerError(f"{folder / name} is not as it was recorded", advice=_RESTORE)
