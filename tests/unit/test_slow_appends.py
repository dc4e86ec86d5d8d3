"""Slow appends, counted: ``mqlab diagnose --appends``, which also has what ``mqlab patrol`` said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from analysis.diagnosis.diagnosis import read_logs
from analysis.diagnosis.durations import BUCKETS_MAX
from analysis.diagnosis.moments import words_of
from analysis.diagnosis.reading import log_files
from analysis.diagnosis.slow_appends import SlowAppends, slow_appends
from harness.errors import EXIT_OK
from mqlab.logs.slow_appends import report
from mqlab.main import main

LAB = (
    "2026-11-21 08:46:{second:02d},424 WARN [SendMessageThread_1] RocketmqStore - [NOTIFYME]putMessage in lock cost "
    "time(ms)={ms}, bodyLength=128 AppendMessageResult=AppendMessageResult{{status=PUT_OK}}\n"
)
STOCK = (
    "2026-11-21 16:47:04 WARN SendMessageThread_1 - [NOTIFYME]putMessages in lock cost time(ms)=1200, bodyLength=1\n"
)
MINUTE = (
    "2026-11-21 08:47:04,181 INFO [StoreStatsService] RocketmqStore - [PAGECACHERT] TotalPut 30, PutMessageDistributeTime "
    "[<=0ms]:28 [0~10ms]:1 [10~50ms]:0 [500ms~1s]:1 \n"
)


def _counted(folder: Path, threshold_ms: int = 500, offset_s: float = 0.0) -> SlowAppends:
    return slow_appends(read_logs(log_files([folder]), offset_s), threshold_ms)


def test_appends_over_the_threshold_are_counted_in_logs_of_either_layout(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(
        LAB.format(second=1, ms=700) + "something else\n" + LAB.format(second=2, ms=501)
    )
    with gzip.open(tmp_path / "store.2.log.gz", "wt") as file:
        file.write(STOCK + MINUTE + MINUTE)
    found = _counted(tmp_path, 600)
    assert [(words_of(one.at_s), one.ms, one.line) for one in found.appends] == [
        ("2026-11-21 08:46:01.424Z", 700, 1),
        ("2026-11-21 16:47:04Z", 1200, 1),
    ]
    assert found.by_minute == {"2026-11-21 08:46:00Z": 1, "2026-11-21 16:47:00Z": 1}
    assert found.durations == {"<=0ms": 56, "0~10ms": 2, "10~50ms": 0, "500ms~1s": 2}
    assert len(_counted(tmp_path, 0).appends) == 3
    lines = list(report(found))
    assert lines[0] == "2 appends of more than 600 ms"
    assert lines[1] == f"  2026-11-21 16:47:04Z  1200 ms  {tmp_path}/store.2.log.gz:1"
    assert any(line.split() == ["<=0ms", "56", "#" * 40] for line in lines)
    assert not any("10~50ms" in line for line in lines)
    assert "shorter ones are in the counts by duration only" in list(report(_counted(tmp_path, 100)))[1]


def test_an_append_that_is_in_the_stores_log_of_errors_as_well_counts_once(tmp_path: Path) -> None:
    for name in ("store.log", "storeerror.log"):
        (tmp_path / name).write_text(LAB.format(second=9, ms=999))
    (one,) = _counted(tmp_path).appends
    assert one.file.endswith("/store.log")


def test_times_without_a_date_have_their_minute_and_lines_without_a_time_none(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(LAB.format(second=1, ms=700).removeprefix("2026-11-21 "))
    (tmp_path / "other.log").write_text(LAB.format(second=2, ms=800)[24:])
    assert sorted(_counted(tmp_path).by_minute.items()) == [("08:46:00", 1), ("no time", 1)]


LOST = "2026-11-21 08:46:31,424 WARN x\norg.apache.rocketmq.remoting.exception.RemotingConnectException: connect to b failed\n"


def test_a_broker_that_was_gone_is_told_with_the_counts(tmp_path: Path) -> None:
    (tmp_path / "rocketmq_client.log").write_text(LOST)
    gone = _counted(tmp_path).unreachable
    assert gone is not None
    assert (gone.lines, gone.line, words_of(gone.from_s)) == (1, 2, "2026-11-21 08:46:31.424Z")
    assert "could not be reached: 1 line, 2026-11-21 08:46:31.424Z to" in list(report(_counted(tmp_path)))[-1]


def test_the_counts_are_asked_for_and_strict_tells_a_pipeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "store.log"
    log.write_text("2026-11-21 08:46:31,424 WARN x - nothing of interest\n")
    assert main(["diagnose", str(log), "--appends", "--strict"]) == EXIT_OK
    assert "0 appends of more than 500 ms" in capsys.readouterr().out
    log.write_text(LAB.format(second=1, ms=700))
    assert main(["diagnose", str(log), "--json"]) == EXIT_OK
    assert "appends" not in json.loads(capsys.readouterr().out)
    assert main(["diagnose", str(log), "--appends", "600", "--strict", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["appends"]["appends"][0]["ms"] == 700


def test_slow_appends_of_logs_are_what_tune_predicts_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store.log").write_text(LAB.format(second=1, ms=700) + STOCK)
    assert main(["tune", "--rate", "2000", "--log", str(tmp_path)]) == EXIT_OK
    assert "2 stalled appends, the longest 1200 ms" in capsys.readouterr().out
    (tmp_path / "store.log").write_text("nothing of interest\n")
    assert main(["tune", "--rate", "2000", "--log", str(tmp_path)]) == 3
    assert "no stalled append" in capsys.readouterr().err


def test_only_so_many_buckets_are_taken_of_lines_that_make_them_up(tmp_path: Path) -> None:
    made_up = "".join(MINUTE.replace("<=0ms", f"{at}x") for at in range(3 * BUCKETS_MAX))
    (tmp_path / "store.log").write_text(made_up + MINUTE.replace("]:28", "]:" + "9" * 5000))
    durations = _counted(tmp_path).durations
    assert len(durations) == BUCKETS_MAX
    assert max(durations.values()) < 10**12


def test_patrol_is_diagnose_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store.log").write_text(LAB.format(second=1, ms=1200), "utf-8")
    assert main(["patrol", str(tmp_path)]) == EXIT_OK
    out, err = capsys.readouterr()
    assert "append-lock-over-1s" in out
    assert err.startswith("mqlab: patrol is `mqlab diagnose` now\n")
