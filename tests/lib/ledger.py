"""A record made by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from analysis.ledger.journal import Entry, append
from analysis.ledger.lines import lines_text
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from tests.lib.garbage import nothing_becomes_garbage
from tools.recorded.record import EventRecord, Record, RecordedEvent, Summary, read_record
from tools.recorded.write import RECORD


@cache
def committed() -> Record:
    """The record of this checkout, which takes seconds to read, and twice as many if it is looked through for garbage."""
    with nothing_becomes_garbage():
        return read_record(PACKAGES / "scenarios" / RECORD)


def summary(run: str, verdict: VerdictKind, claim: str = "ORDER-06", **changed: Any) -> Summary:
    told: dict[str, Any] = {
        "claim": claim, "incident": "ordered-lock-handover", "release": "5.3.3", "backend": "local", "injection": "client call",
        "client": "java 5.3.3", "run": run, "created": "2026-11-20", "commit": "c", "rule_commit": "c", "expected": verdict,
        "recorded": "2026-11-20", "recorded_by": "d", "expected_from_code": "", "verdict": verdict, "reason": "",
        "summary": f"As {run} has it.", "trials": 2,
    }  # fmt: skip
    return Summary(**{**told, **changed})


EVENT = RecordedEvent(
    id="late", claim="ORDER-06", release="5.3.3", says="a queue waited for 63.4 s", verified=True, events=1, tries=42,
    records=(EventRecord(says="history"), EventRecord(says="lock.log")),
)  # fmt: skip


def record_of(folder: Path, *summaries: Summary, events: tuple[RecordedEvent, ...] = ()) -> Record:
    folder.mkdir(parents=True)
    (folder / "summaries.jsonl").write_text(lines_text(summaries), "utf-8")
    append(folder, Entry(kind="summaries", about="earlier", at="x"), ["summaries.jsonl"])
    (folder / "events").mkdir()
    (folder / "events" / "e.jsonl").write_text(lines_text(events), "utf-8")
    append(folder, Entry(kind="events", about="earlier", at="x"), ["events/e.jsonl"])
    return read_record(folder)
