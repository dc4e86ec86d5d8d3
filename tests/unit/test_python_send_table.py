"""The table of docs/sends.md on Python's clients, from recorded trials made by hand, and from the record."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from analysis.ledger.record import read_record
from analysis.ledger.runs import RecordedTrial, RecordedValues
from analysis.verdicts.tries import Try
from harness.errors import LedgerError
from mqlab.python_send_table import DOCUMENT, FAILURES, NOTHING, document, table
from mqlab.recorded import FOLDER_OF_RECORD
from scenarios.send_retries import GONE, KILLED, STOPPED
from scenarios.send_retries_python import SCENARIO

SYNC = {"send": "normal-sync", "retries": "own", "avoidance": "off", "topic": "both", "client": "native"}
ORDERED = {**SYNC, "send": "selector-sync", "retries": "none"}
ONE_WAY = {**SYNC, "send": "normal-oneway", "client": "rocketmq-client-python"}
Measured = Mapping[str, float]


def _trial(
    arm: str, params: Mapping[str, str], values: Measured, *, release: str = "4.6.0", status: str = "complete",
    endings: Measured | None = None, superseded: bool = False, exclusions: tuple[str, ...] = (),
) -> RecordedTrial:  # fmt: skip
    def tried(measure: str, value: float, **more: str) -> RecordedValues:
        one = Try(name="p", n=1, min=value, median=value, max=value, mean=value)
        return RecordedValues(measure=measure, params={**params, **more}, tries=(one,))

    shares = [tried("ended_share", share, ended=ended) for ended, share in (endings or {}).items()]
    return RecordedTrial(
        trial="t", experiment="e", incident=SCENARIO.name, arm=arm, cell={}, release=release, client="c", backend="local",
        injection="signal", deployment="d", attempt=1, seed=1, status=status, superseded=superseded, exclusions=exclusions,
        values=(*(tried(measure, value) for measure, value in values.items()), *shares),
    )  # fmt: skip


def _rows(*trials: RecordedTrial) -> dict[tuple[str, str], dict[str, str]]:
    """The cells that say something, by kind of send and releases."""
    _, _, *lines = table(trials).splitlines()
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    told = {(kind, releases): dict(zip(FAILURES, cells, strict=True)) for kind, releases, *cells in rows}
    return {
        row: {arm: cell for arm, cell in cells.items() if cell} for row, cells in told.items() if any(cells.values())
    }


TWICE = {"attempts_most": 2, "brokers_tried_most": 2, "aimed_took_s": 3.02, "copies_count": 9}


def test_a_cell_has_attempts_time_ending_and_what_the_stores_have() -> None:
    failed = {"attempts_most": 1, "brokers_tried_most": 1, "aimed_took_s": 3.001, "failed_stored_share": 1}
    lost = {"attempts_most": 1, "brokers_tried_most": 1, "aimed_took_s": 0.002, "untold_loss_count": 17}
    assert _rows(
        _trial(STOPPED, SYNC, TWICE, endings={"ok": 1}),
        _trial(STOPPED, ORDERED, failed, endings={"ProducerSendOrderlyFailed": 1}),
        _trial(KILLED, ONE_WAY, lost, endings={"unanswered": 1}),
        _trial(GONE, SYNC, {"failed_for_good_share": 0, "aimed_count": 0}),
    ) == {
        ("rocketmq 0.4.4: normal, sync", "4.6.0"): {
            STOPPED: "2 on 2; 3 s; accepted; stored twice", GONE: "goes elsewhere",
        },
        ("rocketmq 0.4.4: selector, sync, retry_times=0", "4.6.0"): {
            STOPPED: "1 on 1; 3 s; ProducerSendOrderlyFailed; stored all the same"
        },
        ("rocketmq-client-python 2.0.0: normal, oneway", "4.6.0"): {KILLED: "1 on 1; no answer; lost, nobody told"},
    }  # fmt: skip


def test_releases_of_which_the_same_is_said_share_a_row_and_others_do_not() -> None:
    alone = {"attempts_most": 1, "brokers_tried_most": 1}
    rows = _rows(
        _trial(STOPPED, SYNC, TWICE, release="5.5.0"),
        _trial(STOPPED, SYNC, TWICE),
        _trial(STOPPED, SYNC, alone, release="4.9.7"),
    )
    assert {releases: cells[STOPPED] for (_, releases), cells in rows.items()} == {
        "4.6.0, 5.5.0": "2 on 2; 3 s; stored twice",
        "4.9.7": "1 on 1",
    }


def test_of_several_trials_the_most_attempts_count_and_an_ending_that_one_had_not_is_none_of_its() -> None:
    rows = _rows(
        _trial(STOPPED, SYNC, TWICE, endings={"ok": 1}),
        _trial(STOPPED, SYNC, {**TWICE, "attempts_most": 3}, endings={"ok": 0.4, "ProducerSendSyncFailed": 0.6}),
        _trial(STOPPED, SYNC, {**TWICE, "attempts_most": 9}, status="failed"),
        _trial(STOPPED, SYNC, {**TWICE, "attempts_most": 9}, superseded=True),
        _trial(STOPPED, SYNC, {**TWICE, "attempts_most": 9}, exclusions=("the wall clock stepped",)),
    )
    ((cells),) = rows.values()
    assert cells == {STOPPED: "3 on 2; 3 s; accepted 70\u202f%; ProducerSendSyncFailed 30\u202f%; stored twice"}


def test_what_nobody_has_recorded_says_so_and_other_incidents_are_left_out() -> None:
    assert table([]) == NOTHING
    others = [
        trial for run in read_record(FOLDER_OF_RECORD).runs for trial in run.trials if trial.incident != SCENARIO.name
    ]
    assert others
    assert table(others) == NOTHING


def test_the_committed_table_is_the_one_that_the_record_makes() -> None:
    text = DOCUMENT.read_text("utf-8")
    trials = [trial for run in read_record(FOLDER_OF_RECORD).runs for trial in run.trials]
    assert text == document(text, trials), "mqlab ledger --recompute"


def test_a_page_without_a_place_for_it_is_refused() -> None:
    with pytest.raises(LedgerError, match=r"sends\.md must have the line <!-- python-sends:begin -->"):
        document("# Sends\n", [])
