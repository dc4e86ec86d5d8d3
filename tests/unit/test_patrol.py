from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import scenarios
from analysis.logs import patrol
from analysis.logs.patrol import Patrol
from harness.errors import ConfigurationError
from mqlab.main import main
from mqlab.patrol import report
from scenarios.signs import SIGNS


def read_logs(paths: list[Path], *, threshold_ms: int) -> Patrol:
    return patrol.read_logs(paths, threshold_ms=threshold_ms, signs=SIGNS)


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
    for incident in (*(one.incident for one in found.incidents), *(sign.incident for sign in SIGNS)):
        assert scenarios.find(incident)


@pytest.mark.parametrize(
    ("line", "incident"),
    [
        ("[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 206ms", "append-stall"),
        (
            "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 181ms",
            "append-lock-over-1s",
        ),
        ("[REJECTREQUEST]system busy, start flow control for a while", "append-lock-over-1s"),
        ("[PC_SYNCHRONIZED]broker busy, start flow control for a while", "append-lock-over-1s"),
        ("[OVERLOAD]system busy, start flow control for a while", "send-queue-full"),
        (
            "127.0.0.1:52418, too many requests and system thread pool busy, RejectedExecutionException "
            "org.apache.rocketmq.broker.latency.BrokerFixedThreadPoolExecutor@6f1c29b7[Running, pool size = 1, active threads = 1, "
            "queued tasks = 10000, completed tasks = 81234] request code: 310",
            "send-queue-full",
        ),
        (
            "tryLockBatch, message queue locked by other client. Group: g OtherClientId: a NewClientId: b",
            "ordered-lock-handover",
        ),
        (
            "RebalanceLockManager#tryLockBatch: message queue has been locked by other client, group=g, locked client id=a",
            "ordered-lock-handover",
        ),
    ],
)
def test_a_sign_is_told_with_its_times_and_first_place(tmp_path: Path, line: str, incident: str) -> None:
    log = tmp_path / "client" / "rocketmq_client.log"
    log.parent.mkdir()
    log.write_text(
        f"2026-11-21 08:46:01,424 WARN x - all is well\n2026-11-21 08:46:02,424 WARN x - {line}\n"
        f"2026-11-21 08:47:09,001 WARN x - {line}\n"
    )
    found = read_logs([tmp_path], threshold_ms=500)
    (seen,) = found.signs
    assert (seen.incident, seen.lines, seen.line) == (incident, 2, 2)
    assert (seen.first_at, seen.last_at) == ("2026-11-21 08:46:02,424", "2026-11-21 08:47:09,001")
    assert f"mqlab verify {incident}" in report(found)[-1]


def test_a_sign_in_an_exceptions_own_line_has_the_time_of_the_line_before(tmp_path: Path) -> None:
    log = tmp_path / "namesrv.log"
    log.write_text(
        "2026-11-21 08:46:02 ERROR NettyServerCodecThread_2 - decode exception, 127.0.0.1:1\n"
        "io.netty.handler.codec.TooLongFrameException: Adjusted frame length exceeds 16777216: 16777295 - discarded\n"
    )
    (seen,) = read_logs([log], threshold_ms=500).signs
    assert (seen.incident, seen.first_at, seen.line) == ("retry-topic-flood", "2026-11-21 08:46:02", 2)


def test_what_a_client_gives_back_is_no_sign_of_a_lost_lock(tmp_path: Path) -> None:
    log = tmp_path / "lock.log"
    log.write_text("unlockBatch, but mq locked by other client: a, Group: g\n")
    assert read_logs([log], threshold_ms=500).signs == ()


def test_a_time_without_a_date_has_its_minute(tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    log.write_text(LAB.format(second=1, ms=700).removeprefix("2026-11-21 ") + LAB.format(second=2, ms=800)[24:])
    found = read_logs([log], threshold_ms=500)
    assert found.by_minute == {"08:46": 1, "no time": 1}
    assert any(line.startswith("  08:46 ") for line in report(found))


AGED = "2026-11-21 08:{minute}:01,424 WARN x - MQBrokerException: CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy\n"
LOST = "2026-11-21 08:46:31,424 WARN x\norg.apache.rocketmq.remoting.exception.RemotingConnectException: connect to b failed\n"


def test_refusals_while_a_broker_was_gone_are_no_append_stall(tmp_path: Path) -> None:
    log = tmp_path / "rocketmq_client.log"
    log.write_text(AGED.format(minute=46) + LOST + AGED.format(minute=47))
    found = read_logs([log], threshold_ms=500)
    assert found.incidents == ()
    assert found.unreachable is not None
    assert (found.unreachable.lines, found.unreachable.line) == (1, 3)
    assert "could not be reached: 1 lines, 2026-11-21 08:46:31,424" in report(found)[-1]
    log.write_text(AGED.format(minute=46) + LOST + AGED.format(minute=49))
    (one,) = read_logs([log], threshold_ms=500).signs
    assert (one.incident, one.lines, one.line) == ("append-stall", 1, 4)


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
