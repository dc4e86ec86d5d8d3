"""Into the record: a run is registered when it starts, and gets in whatever it showed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from analysis.ledger.journal import Entry, append, read_journal
from analysis.ledger.lines import as_recorded, ordered
from analysis.ledger.runs import FINDINGS, RecordedRun, read_lines, write_lines
from harness.errors import LedgerError
from harness.rundir.manifest import RESUMED, USER_SETTING, Manifest, read_manifest
from harness.rundir.writing import RunWriter


def register(record: Path, manifest: Manifest) -> None:
    """Write down that the run begins. Raises LedgerError for one that must not enter: nothing chooses among runs later."""
    _require(manifest, manifest.run)
    entry = Entry(kind="registered", about=manifest.run, at=manifest.created, commit=manifest.commit)
    append(record, entry)


def add(record: Path, run_dir: Path, at: str) -> RecordedRun:
    """Take a registered and analysed run into the record, complete or not; ``at`` is now. Raises LedgerError."""
    manifest = read_manifest(run_dir)
    journal = read_journal(record)
    _require(manifest, str(run_dir))
    if manifest.run not in {entry.about for entry in journal.of("registered")}:
        raise LedgerError(
            f"{run_dir}: run {manifest.run} was not registered when it started", advice="mqlab verify --register"
        )
    if manifest.run in {entry.about for entry in journal.of("recorded")}:
        raise LedgerError(f"{run_dir}: run {manifest.run} is recorded already")
    again = f"mqlab runs analyze {run_dir}"
    if not (run_dir / FINDINGS).exists():
        raise LedgerError(f"{run_dir} was not analysed", advice=again)
    # Its lock: nobody writes it any more, however it ended.
    with RunWriter.open(run_dir):
        run = read_lines(run_dir / FINDINGS)
    if run.run != manifest.run or not run.analysis_commit:
        raise LedgerError(f"{run_dir} was analysed by code that is no commit's", advice=f"Commit, then {again}")
    if run.status != manifest.status:
        raise LedgerError(f"{run_dir} went on after it had been analysed", advice=again)
    if nameless := [trial.trial for trial in run.trials if not trial.experiment]:
        raise LedgerError(f"{run_dir}: trial {nameless[0]} has no experiment's hash: an earlier version made it")
    name = f"{manifest.run}.jsonl"
    write_lines(record / name, dataclasses.replace(run, findings=tuple(ordered(map(as_recorded, run.findings)))))
    append(record, Entry(kind="recorded", about=manifest.run, at=at, commit=run.analysis_commit), [name])
    return run


def _require(manifest: Manifest, what: str) -> None:
    """What keeps a run out, from its start on."""
    if manifest.dirty:
        raise LedgerError(f"{what} is a run of a tree with uncommitted changes", advice="Commit, then run again.")
    if manifest.budget != "full":
        raise LedgerError(f"{what} is a quick run, with fewer cells and a lighter load", advice="Run without --quick.")
    for mark, words in ((USER_SETTING, "settings of one's own"), (RESUMED, "other code than it began with")):
        if found := [note for note in manifest.notes if note.startswith(mark)]:
            raise LedgerError(
                f"{what} was made with {words} ({found[0].removeprefix(mark)})", advice="Run again without."
            )
