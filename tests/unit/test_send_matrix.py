"""The matrix of kinds of send, from distributions made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.report.document import Distribution
from analysis.report.send_matrix import send_tables, tables_in_brief
from harness.errors import LedgerError
from tests.lib.ledger import committed
from tools.send_table import DOCUMENT, PLACES, distributions, document

STOPPED, KILLED = "incident-stopped", "incident-killed"


def _of(measure: str, arm: str, send: str, *values: float, incident: str = "send-retries", **more: str) -> Distribution:
    params = {"send": send, "retries": "two", "avoidance": "off", "topic": "both", **more}
    return Distribution(
        incident=incident, release="4.6.0", arm=arm, params=params, measure=measure, unit="", values=values
    )


ASYNC = "selector-async"
DATA = (
    _of("attempts_most", STOPPED, ASYNC, 3, 3),
    _of("brokers_tried_most", STOPPED, ASYNC, 1, 1),
    _of("aimed_took_s", STOPPED, ASYNC, 9.001, 9.002),
    _of("ended_share", STOPPED, ASYNC, 1, 0.5, ended="MQClientException"),
    _of("ended_share", STOPPED, ASYNC, 0.5, ended="ok"),
    _of("failed_stored_share", STOPPED, ASYNC, 1, 1),
    _of("copies_count", STOPPED, ASYNC, 38, 42),
    _of("failed_for_good_share", STOPPED, ASYNC, 0.5, 0.5),
    _of("failed_for_good_share", KILLED, ASYNC, 0),
    _of("failed_for_good_share", STOPPED, "normal-sync", 0.5, 0.6, 0.52, retries="five"),
    _of("failed_for_good_share", STOPPED, "normal-sync", 0.02, retries="five", avoidance="on"),
    _of("rejected_count", STOPPED, "x", 7),
)


def test_a_cell_has_attempts_time_endings_and_copies() -> None:
    matrix, _ = send_tables(DATA, "send-retries")
    assert matrix.title == "Kinds of send, 4.6.0"
    assert matrix.columns == ("kind of send", "killed", "stopped")
    assert matrix.rows == (
        (
            "selector, async",
            "none sent there",
            "3 on 1; 9 s; 75\u202f% MQClientException; 25\u202f% ok; 100\u202f% of the failed stored; up to 42 further copies",
        ),
    )


def test_failures_stand_by_retries_without_avoidance_and_with_it() -> None:
    _, by_retries = send_tables(DATA, "send-retries")
    assert by_retries.columns == ("kind of send", "killed, off", "killed, on", "stopped, off", "stopped, on")
    assert by_retries.rows == (("normal, sync, five retries", "", "", "52\u202f%", "2\u202f%"),)


def test_releases_of_which_the_same_is_said_have_one_row() -> None:
    def on(release: str, *values: Distribution) -> list[Distribution]:
        return [dataclasses.replace(one, release=release) for one in values]

    once = _of("attempts_most", STOPPED, ASYNC, 1)
    brief, by_retries = tables_in_brief(
        [*DATA, *on("4.9.7", *DATA[:9]), *on("5.5.0", once, *DATA[1:3])], "send-retries"
    )
    assert brief.columns == ("kind of send", "releases", "killed", "stopped")
    said = "3 on 1; 9 s; MQClientException 75\u202f%; accepted 25\u202f%; stored all the same; stored twice"
    assert brief.rows == (
        ("selector, async", "4.6.0, 4.9.7", "goes elsewhere", said),
        ("selector, async", "5.5.0", "", "1 on 1; 9 s"),
    )
    assert by_retries.title == "Failed for good by retries and avoidance, 4.6.0"


def test_in_brief_what_is_lost_with_nobody_told_is_said() -> None:
    rows = [_of("attempts_most", KILLED, "normal-oneway", 1), _of("brokers_tried_most", KILLED, "normal-oneway", 1)]
    lost = [*rows, _of("untold_loss_count", KILLED, "normal-oneway", 0, 17)]
    for given, said in ((rows, "1 on 1"), (lost, "1 on 1; lost, nobody told")):
        (brief,) = tables_in_brief(given, "send-retries")
        assert brief.rows == (("normal, oneway", "4.6.0", said),)


def test_a_trial_that_does_not_count_is_in_no_table() -> None:
    run = next(run for run in committed().runs if any(one.incident == "send-retries-python" for one in run.trials))
    kept = list(distributions(run, "send-retries-python"))
    discarded = [dataclasses.replace(one, superseded=True) for one in run.trials]
    assert kept
    assert not list(distributions(dataclasses.replace(run, trials=tuple(discarded)), "send-retries-python"))


def test_a_place_without_a_recorded_run_says_so_and_a_page_without_a_place_is_refused() -> None:
    text = "".join(f"<!-- {place}:begin -->\n<!-- {place}:end -->\n" for place in PLACES.values())
    assert all(f"No run of `mqlab verify {incident}` is recorded yet." in document(text, []) for incident in PLACES)
    with pytest.raises(LedgerError, match=r"sends\.md must have the line <!-- measured:begin -->"):
        document("# Sends\n", [])


def test_the_document_has_the_tables_that_the_record_makes() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert text == document(text, committed().runs), "python -m tools.ledger --recompute"


PYTHON = "send-retries-python"
CELLS = (
    ({"retries": "own", "client": "native"}, "normal-oneway", {"attempts_most": 1, "untold_loss_count": 19}),
    ({"retries": "three", "client": "native", "topic": "one"}, "selector-sync", {"attempts_most": 2}),
    (
        {"retries": "own", "client": "rocketmq-client-python"},
        "normal-oneway",
        {"attempts_most": 1, "untold_loss_count": 0},
    ),
)


def test_the_kinds_of_python_s_clients_stand_by_client_with_what_was_lost_untold() -> None:
    rows = [
        _of(measure, KILLED, send, value, incident=PYTHON, **params)
        for params, send, values in CELLS
        for measure, value in {"brokers_tried_most": 1, **values}.items()
    ]
    (matrix,) = send_tables(rows, PYTHON)
    assert matrix.rows == (
        ("rocketmq 0.4.4: normal, oneway", "1 on 1; up to 19 lost, nobody told"),
        ("rocketmq 0.4.4: selector, sync, retry_times=3, no other broker", "2 on 1"),
        ("rocketmq-client-python 2.0.0: normal, oneway", "1 on 1"),
    )
    assert "their library's own log" in matrix.note
    assert "their library's own log" not in send_tables(DATA, "send-retries")[0].note


def test_an_incident_that_measured_no_kinds_has_no_such_table() -> None:
    assert send_tables(DATA, "append-stall") == ()
