"""docs/incidents.md: what the ledger says of what users reported."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.ledger.lines import LedgerLine
from harness.model.verdicts import VerdictKind
from mqlab.incident_table import DOCUMENT, document
from mqlab.recorded import committed_ledger
from scenarios.reported import Reported

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
ONE = {
    "flag-stuck": Reported(
        threads=("issues/285", "pull/3460"), symptom="It is busy.", happens="X-1", avoided_by="a restart", cures=("X-2", "X-3")
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def line() -> LedgerLine:
    return next(one for one in committed_ledger() if one.backend == "local")


def _row(line: LedgerLine, **verdicts: dict[str, VerdictKind]) -> list[str]:
    lines = [
        dataclasses.replace(line, claim=claim.replace("_", "-"), release=release, verdict=verdict)
        for claim, found in verdicts.items()
        for release, verdict in found.items()
    ]
    elsewhere = dataclasses.replace(line, claim="X-1", release="4.6.0", backend="compose", verdict=REFUTED)
    return [cell.strip() for cell in document([*lines, elsewhere], ONE).splitlines()[-1].strip("|").split("|")]


def test_the_committed_document_is_the_one_that_the_ledger_makes() -> None:
    assert DOCUMENT.read_text("utf-8") == document(committed_ledger()), "mqlab ledger --recompute"


def test_an_incident_that_nobody_has_run_says_so(line: LedgerLine) -> None:
    assert _row(line)[3:] == ["not measured yet", "", "a restart (X-2: not measured yet; X-3: not measured yet)"]
    assert _row(line, X_1={"4.6.0": UNDECIDED})[3] == "not measured yet"


def test_a_row_names_the_threads_and_the_releases_by_their_verdicts(line: LedgerLine) -> None:
    happens = {"4.6.0": CONFIRMED, "4.9.7": REFUTED, "5.3.3": CONFIRMED, "5.5.0": REFUTED}
    row = _row(line, X_1=happens, X_2={"4.6.0": CONFIRMED, "5.3.3": CONFIRMED}, X_3={"4.6.0": REFUTED})
    assert row[:3] == [
        "[flag-stuck](../scenarios/flag_stuck.py)",
        "It is busy.",
        "[285](https://github.com/apache/rocketmq/issues/285), [3460](https://github.com/apache/rocketmq/pull/3460)",
    ]
    assert row[3:5] == ["4.6.0, 5.3.3", "gone in 4.9.7, back in 5.3.3, gone in 5.5.0"]
    assert row[5] == "a restart (X-2: confirmed on 4.6.0, 5.3.3; X-3: refuted on 4.6.0)"


def test_what_no_release_has_is_told_apart_from_what_was_not_measured(line: LedgerLine) -> None:
    assert _row(line, X_1={"4.6.0": REFUTED, "5.5.0": UNDECIDED})[3:5] == ["none", ""]
