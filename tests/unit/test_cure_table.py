"""The cure table of docs/tune.md: the ledger's, and what the command answers."""

from __future__ import annotations

import pytest

from harness.errors import LedgerError
from harness.releases.jars import recorded_releases
from mqlab.ask.advise import BEST, advice
from mqlab.ask.recorded import committed_ledger
from scenarios.send_advice import FAILURES
from tools.cure_table import DOCUMENT, document, table


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_the_committed_table_is_the_one_that_the_ledger_makes() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert text == document(text, committed_ledger()), "python -m tools.ledger --recompute"


def test_each_release_has_one_row_of_each_failure_with_what_the_command_calls_best() -> None:
    ledger = committed_ledger()
    told = {(row[0].partition(":")[0], on): row for row in _rows(table(ledger)) for on in row[1].split(", ")}
    assert set(told) == {(failure, release) for failure in FAILURES for release in recorded_releases()}
    for (failure, release), row in told.items():
        best = [one for one in advice(ledger, release, [failure]) if one.answer == BEST]
        assert row[2] == "<br>".join(one.setting for one in best) or (not best and row[2])
        assert all(str(said) in row[3] for one in best for said in one.costs if said.speaks_for is not None)


def test_what_nobody_has_measured_says_so() -> None:
    rows = _rows(table([]))
    # Of a broker that stands still more was asked on the releases that have more settings.
    releases = {row[1] for row in rows if not row[0].startswith("stopped")}
    assert releases == {", ".join(recorded_releases())}
    assert {row[0].partition(":")[0]: row[2] for row in rows} == {
        failure: "nothing that was tried" if failure == "all-slow" else "not measured" for failure in FAILURES
    }
    assert all("not measured" in row[4] for row in rows)


def test_a_page_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(LedgerError, match=r"tune\.md must have the line <!-- cures:begin -->"):
        document("# Sends\n", [])
