"""``scenarios/record``: all that was recorded, read and checked. Nothing in it is ever replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from analysis.ledger.journal import EntryKind, Journal, read_journal
from analysis.ledger.lines import read_values
from analysis.ledger.runs import RecordedRun, read_lines
from harness.model.findings import Earlier, Figure, Finding

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Summary(Finding):
    """A verdict that was committed before its trials were: shown, and not in the odds of any verdict since.

    ``recorded`` is the day that it was committed and ``recorded_by`` the commit; ``because`` says why it was replaced by a
    later one, where it was. ``rule_commit`` is the commit whose rule judged, ``others`` are figures by which no part was judged.
    """

    run: str
    created: str
    commit: str
    recorded: str
    recorded_by: str
    because: str = ""
    others: tuple[Figure, ...] = ()

    def as_earlier(self) -> Earlier:
        """What a ledger's line says of it."""
        return Earlier(
            run=self.run, created=self.created, commit=self.commit, verdict=self.verdict, reason=self.reason,
            summary=self.summary, trials=self.trials, because=self.because,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EventRecord:
    """One of the records that show an event: what it says, and where it stood in the run's directory."""

    says: str
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedEvent:
    """A counterexample, or an event that a claim says may happen. ``verified``: two records of different origin agree.

    ``tries`` and ``events`` say how often it was seen in how many tries of that run, null where that is not known. ``files``
    are kept beside it, in the record's folder.
    """

    id: str
    claim: str
    release: str
    says: str
    verified: bool
    run: str = ""
    created: str = ""
    commit: str = ""
    backend: str = "local"
    events: int | None = None
    tries: int | None = None
    records: tuple[EventRecord, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Record:
    """Everything under the folder; ``events`` are those that nobody withdrew."""

    folder: Path
    journal: Journal
    runs: tuple[RecordedRun, ...] = ()
    summaries: tuple[Summary, ...] = ()
    events: tuple[RecordedEvent, ...] = ()


def read_record(folder: Path) -> Record:
    """Raises LedgerError when anything in it was changed or removed, or is not as expected."""
    journal = read_journal(folder)
    withdrawn = {entry.about for entry in journal.of("withdrawn")}
    events = _values(folder, journal, "events", RecordedEvent)
    return Record(
        folder=folder,
        journal=journal,
        runs=tuple(read_lines(folder / name) for entry in journal.of("recorded") for name in entry.files),
        summaries=summaries_of(folder, journal),
        events=tuple(event for event in events if event.id not in withdrawn),
    )


def summaries_of(folder: Path, journal: Journal) -> tuple[Summary, ...]:
    """Those of the record in a folder, whose journal this is. Raises LedgerError."""
    return tuple(_values(folder, journal, "summaries", Summary))


def _values(folder: Path, journal: Journal, kind: EntryKind, of: type[T]) -> Sequence[T]:
    """What the files that an entry of a kind brought hold; files beside them, which are kept as they are, have folders."""
    names = [name for entry in journal.of(kind) for name in entry.files]
    lists = [name for name in names if name.endswith(".jsonl") and name.count("/") <= (kind == "events")]
    return [value for name in lists for value in read_values(folder / name, of)]
