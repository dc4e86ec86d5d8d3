from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import scenarios
from harness.cli import main
from harness.errors import ConfigurationError
from harness.patrol import read_logs

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
POOL = "2026-11-21 08:47:05,181 WARN [x] RocketmqStore - TransientStorePool only remain 1 sheets.\n"


def test_appends_over_the_threshold_are_found_in_logs_of_either_layout(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(
        LAB.format(second=1, ms=700) + "something else\n" + LAB.format(second=2, ms=501)
    )
    with gzip.open(tmp_path / "store.2026-11-20.log.gz", "wt") as file:
        file.write(STOCK + MINUTE + MINUTE)
    (tmp_path / "storeerror.log").write_text(LAB.format(second=9, ms=999))
    found = read_logs([tmp_path], threshold_ms=600)
    assert [(append.at, append.ms, append.line) for append in found.appends] == [
        ("2026-11-21 08:46:01,424", 700, 1),
        ("2026-11-21 16:47:04", 1200, 1),
    ]
    assert found.by_minute == {"2026-11-21 08:46": 1, "2026-11-21 16:47": 1}
    assert found.durations == {"<=0ms": 56, "0~10ms": 2, "10~50ms": 0, "500ms~1s": 2}
    assert found.lines == 6
    assert [one.incident for one in found.incidents] == ["append-lock-over-1s", "append-stall"]


def test_a_short_pool_is_told_apart_from_a_slow_append(tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    log.write_text(POOL)
    found = read_logs([log], threshold_ms=500)
    assert not found.appends
    assert [one.incident for one in found.incidents] == ["pool-exhausted"]


def test_every_incident_that_it_names_is_one(tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    log.write_text(LAB.format(second=1, ms=700) + STOCK + POOL + "create mmap timeout /x 1024\n")
    found = read_logs([log], threshold_ms=500)
    assert len(found.incidents) == 4
    for one in found.incidents:
        assert scenarios.find(one.incident)


def test_nothing_found_is_said_and_strict_tells_a_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "store.log"
    log.write_text("nothing of interest\n")
    assert main(["patrol", str(log), "--strict"]) == 0
    assert "0 appends of more than 500 ms in 1 files, 1 lines" in capsys.readouterr().out
    log.write_text(LAB.format(second=1, ms=700))
    assert main(["patrol", str(log), "--strict", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["appends"][0]["ms"] == 700


def test_a_log_that_is_not_there_is_an_error_of_the_users(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        read_logs([tmp_path / "store.log"], threshold_ms=500)
    with pytest.raises(ConfigurationError):
        read_logs([tmp_path], threshold_ms=500)
    (tmp_path / "store.log.gz").write_bytes(b"no gzip")
    with pytest.raises(ConfigurationError):
        read_logs([tmp_path / "store.log.gz"], threshold_ms=500)
