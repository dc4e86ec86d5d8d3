"""The table of docs/sends.md on Python's clients: of each kind of send and failure what all recorded trials that count say.

``mqlab ledger`` writes it with the ledger.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping

from analysis.ledger.markdown import between_markers
from analysis.ledger.record import Record
from analysis.ledger.runs import RecordedTrial
from analysis.report.send_matrix import ENDED, in_words
from analysis.verdicts.numbers import number, quantity
from harness.model.python_sends import PYTHON_KINDS, PythonSendKind
from harness.model.send_kinds import KIND_PARAMS
from harness.paths import PACKAGES
from harness.releases.jars import known_releases
from harness.rundir.files import replace_file
from scenarios.send_retries import BUSY, GONE, KILLED, READ_ONLY, STOPPED
from scenarios.send_retries_python import REJECTING, SCENARIO

DOCUMENT = PACKAGES / "docs" / "sends.md"
MARKERS = ("<!-- python-sends:begin -->", "<!-- python-sends:end -->")
FAILURES = {
    KILLED: "killed", STOPPED: "stopped", BUSY: "busy", REJECTING: "rejecting", READ_ONLY: "read only", GONE: "not in the route",
}  # fmt: skip
NOTHING = "No run of `mqlab verify send-retries-python` is recorded yet."
FEW, NEARLY_ALL = 0.05, 0.95
"""Shares of sends that are not worth a word, and that need no number."""
WAITED_S = 1.0
"""A time from so many seconds on is told."""
WORDS = {"ok": "accepted", "unanswered": "no answer"}

Values = Mapping[tuple[str, str], list[float]]
"""Of a kind of send in an arm on a release: by measure and ending, which is empty for all other measures."""


def document(text: str, trials: Iterable[RecordedTrial]) -> str:
    """The page with its table as these trials have it. Raises LedgerError where it has no place for it."""
    return between_markers(text, table(trials), DOCUMENT.name, MARKERS)


def table(trials: Iterable[RecordedTrial]) -> str:
    """A row for each kind and the releases of which the same is said."""
    found: dict[tuple[str, str, str], dict[tuple[str, str], list[float]]] = {}
    for trial in trials:
        if trial.incident == SCENARIO.name and _counts(trial):
            for one in trial.values:
                kind = "-".join(str(one.params[name]) for name in KIND_PARAMS if name in one.params)
                values = found.setdefault((trial.release, trial.arm, kind), {})
                of_measure = values.setdefault((one.measure, str(one.params.get("ended", ""))), [])
                of_measure.extend(tried.median for tried in one.tries)
    if not found:
        return NOTHING
    releases = [release for release in known_releases() if any(release == on for on, _, _ in found)]
    head = ("kind of send", "releases", *FAILURES.values())
    lines = [head, ("---",) * len(head), *(row for kind in PYTHON_KINDS for row in _rows(kind, releases, found))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _counts(trial: RecordedTrial) -> bool:
    return trial.status == "complete" and not (trial.superseded or trial.discarded or trial.exclusions)


def _rows(
    kind: PythonSendKind, releases: Iterable[str], found: Mapping[tuple[str, str, str], Values]
) -> Iterator[tuple[str, ...]]:
    by_cells: dict[tuple[str, ...], list[str]] = {}
    for release in releases:
        cells = tuple("; ".join(_cell(found.get((release, arm, kind.name), {}))) for arm in FAILURES)
        by_cells.setdefault(cells, []).append(release)
    for cells, same in by_cells.items():
        yield (in_words(kind), ", ".join(same), *cells)


def _cell(values: Values) -> Iterator[str]:
    attempts, brokers = values.get(("attempts_most", ""), []), values.get(("brokers_tried_most", ""), [])
    if not attempts:
        if values:
            yield "goes elsewhere"
        return
    yield f"{number(max(attempts))} on {number(max(brokers))}" if max(attempts) else "no attempt"
    took_s = statistics.median(values.get(("aimed_took_s", ""), [0.0]))
    if took_s >= WAITED_S:
        yield f"{took_s:.0f} s"
    shares = {ended: sum(found) / len(attempts) for (measure, ended), found in values.items() if measure == ENDED}
    for ended, share in sorted(shares.items(), key=lambda item: (-item[1], item[0])):
        if share >= FEW:
            yield WORDS.get(ended, ended) + ("" if share >= NEARLY_ALL else f" {quantity(share, 'share')}")
    stored = values.get(("failed_stored_share", ""), [])
    if stored and (share := statistics.median(stored)) >= FEW:
        yield "stored all the same" if share >= NEARLY_ALL else f"{quantity(share, 'share')} of the failed stored"
    if max(values.get(("copies_count", ""), [0.0])) > 0:
        yield "stored twice"
    if max(values.get(("untold_loss_count", ""), [0.0])) > 0:
        yield "lost, nobody told"


def write(record: Record) -> None:
    """Write it from the record. Raises LedgerError."""
    trials = (trial for run in record.runs for trial in run.trials)
    replace_file(DOCUMENT, document(DOCUMENT.read_text("utf-8"), trials))
