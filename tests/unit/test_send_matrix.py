"""The matrix of kinds of send, from distributions made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from analysis.report.send_matrix import send_tables
from analysis.verdicts.document import Distribution, ReportData

STOPPED, KILLED = "incident-stopped", "incident-killed"


def _of(measure: str, arm: str, send: str, *values: float, incident: str = "send-retries", **more: str) -> Distribution:
    params = {"send": send, "retries": "two", "avoidance": "off", "topic": "both", **more}
    return Distribution(
        incident=incident, release="4.6.0", arm=arm, params=params, measure=measure, unit="", values=values
    )


def _data(*distributions: Distribution) -> ReportData:
    return cast(ReportData, SimpleNamespace(distributions=distributions))


ASYNC = "selector-async"
DATA = _data(
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
            "3 on 1; 9 s; MQClientException 75\u202f%; ok 25\u202f%; 100\u202f% of the failed stored; up to 42 further copies",
        ),
    )


def test_failures_stand_by_retries_without_avoidance_and_with_it() -> None:
    _, by_retries = send_tables(DATA, "send-retries")
    assert by_retries.columns == ("kind of send", "killed, off", "killed, on", "stopped, off", "stopped, on")
    assert by_retries.rows == (("normal, sync, five retries", "", "", "52\u202f%", "2\u202f%"),)


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
    (matrix,) = send_tables(_data(*rows), PYTHON)
    assert matrix.rows == (
        ("rocketmq 0.4.4: normal, oneway", "1 on 1; up to 19 lost, nobody told"),
        ("rocketmq 0.4.4: selector, sync, retry_times=3, no other broker", "2 on 1"),
        ("rocketmq-client-python 2.0.0: normal, oneway", "1 on 1"),
    )
    assert "their library's own log" in matrix.note
    assert "their library's own log" not in send_tables(DATA, "send-retries")[0].note


def test_an_incident_that_measured_no_kinds_has_no_such_table() -> None:
    assert send_tables(DATA, "append-stall") == ()
