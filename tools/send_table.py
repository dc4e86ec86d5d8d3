"""The measured matrices of scenarios/sends.md: what each kind of send did when a broker failed, from the record.

``python -m tools.send_table`` writes it anew; so does ``python -m tools.ledger`` with the ledger.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from analysis.ledger.runs import RecordedRun
from analysis.report.document import Distribution, Table
from analysis.report.send_matrix import tables_in_brief
from analysis.verdicts.evidence import unit_of
from harness.paths import PACKAGES
from harness.rundir.files import replace_file
from mqlab.ask.recorded import FOLDER_OF_RECORD, experiment_now
from tools.recorded.readme import between_markers
from tools.recorded.record import Record, read_record

DOCUMENT = PACKAGES / "scenarios" / "sends.md"
WIDTH = 132
PLACES = {"send-retries": "measured", "send-retries-python": "python-sends"}
"""Where the tables of those incidents stand whose loads are kinds of send, of one client each."""


def document(text: str, runs: Sequence[RecordedRun]) -> str:
    """The page with its tables as the record has them. Raises LedgerError where it has no place for them."""
    for incident, place in PLACES.items():
        markers = (f"<!-- {place}:begin -->", f"<!-- {place}:end -->")
        text = between_markers(text, "\n\n".join(_sections(runs, incident)), DOCUMENT.name, markers)
    return text


def _sections(runs: Sequence[RecordedRun], incident: str) -> Iterator[str]:
    tables = tables_in_brief([one for run in runs for one in distributions(run, incident)], incident)
    if not tables:
        yield f"No run of `mqlab verify {incident}` is recorded yet."
        return
    names = ", ".join(dict.fromkeys(run.run for run in runs if any(one.incident == incident for one in run.trials)))
    notes = dict.fromkeys(one.note for one in tables)
    yield textwrap.fill(f"`{incident}`, run {names}. {' '.join(notes)}", WIDTH)
    yield from map(_section, tables)


def _section(table: Table) -> str:
    rows = [table.columns, ("---",) * len(table.columns), *table.rows]
    lines = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([f"**{table.title}**", "", *lines])


def distributions(run: RecordedRun, incident: str) -> Iterator[Distribution]:
    """A trial's values of each measure, where the trial counts and its experiment is the one of today."""
    for trial in run.trials:
        if trial.incident == incident and trial.experiment == experiment_now(trial):
            for row in trial.rows(run.run):
                if row.counts and row.tries:
                    yield Distribution(
                        incident=incident,
                        release=row.release,
                        arm=row.arm,
                        params=row.where,
                        measure=row.measure,
                        unit=unit_of(row.measure),
                        values=tuple(one.median for one in row.tries),
                    )


def write(record: Record | None = None) -> None:
    """Write it from the committed record. Raises LedgerError."""
    runs = (record or read_record(FOLDER_OF_RECORD)).runs
    replace_file(DOCUMENT, document(DOCUMENT.read_text("utf-8"), runs))


if __name__ == "__main__":
    write()
