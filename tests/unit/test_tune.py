"""The model of a stall, asked about a user's own load."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.stall_model.tune import choices
from harness.errors import EXIT_OK, EXIT_USAGE
from mqlab.main import main

SLOW = "2026-11-21 08:46:01,424 WARN x - [NOTIFYME]putMessage in lock cost time(ms)={ms}, bodyLength=128\n"


def test_a_longer_wait_refuses_fewer_and_none_once_it_outlasts_the_stall() -> None:
    found = choices([450.0], 500.0, [200.0, 400.0, 600.0], [1000.0], threads=1)
    assert [one.refused for one in found] == [pytest.approx(122.5), pytest.approx(22.5), 0]
    assert [one.waits_ms for one in found] == [210, 410, 450]


def test_a_stall_beyond_the_busy_limit_refuses_what_comes_whatever_the_wait() -> None:
    short, long = choices([1200.0], 500.0, [200.0, 800.0], [1000.0], threads=1)
    assert short.rejectrequest == long.rejectrequest == pytest.approx(100)
    assert long.pcbusy_clean_queue > short.pcbusy_clean_queue
    (raised,) = choices([1200.0], 500.0, [1300.0], [2000.0], threads=1)
    assert raised.refused == 0
    assert raised.waits_ms == 1200


def test_several_stalls_add_up() -> None:
    (one,) = choices([450.0], 500.0, [200.0], [1000.0], threads=1)
    (two,) = choices([450.0, 450.0], 500.0, [200.0], [1000.0], threads=1)
    assert two.refused == 2 * one.refused


def test_the_command_takes_stalls_and_logs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    log.write_text(SLOW.format(ms=450))
    assert main(["tune", "--rate", "500", "--stall", "450", "--json"]) == EXIT_OK
    by_stall = json.loads(capsys.readouterr().out)
    assert main(["tune", "--rate", "500", "--log", str(log), "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out) == by_stall
    assert by_stall[0]["refused"] == pytest.approx(122.5)
    assert main(["tune", "--rate", "500", "--stall", "450"]) == EXIT_OK
    assert "predicted, not measured" in capsys.readouterr().out


def test_nothing_to_ask_about_is_an_error_that_says_what_to_give(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "store.log"
    log.write_text("all is well\n")
    assert main(["tune", "--rate", "500", "--log", str(log)]) == EXIT_USAGE
    assert "--stall 450,700" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tune", "--rate", "0", "--stall", "450"])
