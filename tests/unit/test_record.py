"""The record: it only grows, and what is changed in it is found without git's history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.ledger.journal import JOURNAL, Entry, append, read_journal
from harness.errors import LedgerError


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Two runs, each registered and then recorded."""
    folder = tmp_path / "record"
    for run in ("one", "two"):
        append(folder, Entry(kind="registered", about=run, at="2026-11-23T00:00:00+00:00"))
        (folder / f"{run}.jsonl").write_text(f'{{"run":"{run}"}}\n{{"trial":"a"}}\n{{"trial":"b"}}\n', "utf-8")
        append(folder, Entry(kind="recorded", about=run, at="2026-11-23T01:00:00+00:00"), [f"{run}.jsonl"])
    return folder


def without_line(path: Path, number: int) -> None:
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: number - 1] + lines[number:]), "utf-8")


def test_entries_are_read_in_their_order(record: Path) -> None:
    journal = read_journal(record)
    assert [(entry.kind, entry.about) for entry in journal.entries] == [
        ("registered", "one"), ("recorded", "one"), ("registered", "two"), ("recorded", "two"),
    ]  # fmt: skip
    assert [entry.about for entry in journal.of("recorded")] == ["one", "two"]
    assert journal.head != journal.entries[-1].previous


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: without_line(folder / JOURNAL, 2), "index.jsonl:2 does not follow"),
        (lambda folder: without_line(folder / JOURNAL, 1), "index.jsonl:1 does not follow"),
        (lambda folder: without_line(folder / "one.jsonl", 3), "one.jsonl is not as it was recorded"),
        (
            lambda folder: (folder / "two.jsonl").write_text(
                (folder / "two.jsonl").read_text("utf-8").replace('"b"', '"c"'), "utf-8"
            ),
            "two.jsonl is not as it was recorded",
        ),
        (lambda folder: (folder / "one.jsonl").unlink(), "one.jsonl is missing"),
        (lambda folder: (folder / "three.jsonl").write_text("{}\n"), "three.jsonl is in no line"),
        (
            lambda folder: (folder / JOURNAL).write_text(
                (folder / JOURNAL).read_text("utf-8").replace("T00:00", "T00:01", 1), "utf-8"
            ),
            "index.jsonl:2 does not follow",
        ),
        (lambda folder: (folder / JOURNAL).open("a").write("no JSON\n"), "index.jsonl:5 is no entry"),
    ],
    ids=["a line removed", "the first line removed", "a trial removed", "a value changed", "a file removed",
         "a file added by hand", "an entry changed", "no entry"],
)  # fmt: skip
def test_what_is_changed_or_removed_is_found(record: Path, spoil: Callable[[Path], object], words: str) -> None:
    spoil(record)
    with pytest.raises(LedgerError, match=words):
        read_journal(record)


def test_another_end_has_another_head(record: Path) -> None:
    """The last lines removed leave a whole chain, whose head is not the one that was printed or committed."""
    before = read_journal(record).head
    without_line(record / JOURNAL, 4)
    (record / "two.jsonl").unlink()
    assert read_journal(record).head != before


def test_a_recorded_file_is_never_recorded_again(record: Path) -> None:
    with pytest.raises(LedgerError, match=r"one.jsonl is in the record already"):
        append(record, Entry(kind="recorded", about="one", at="x"), ["one.jsonl"])
    assert len(read_journal(record).entries) == 4
