"""What ``mqlab diagnose`` makes of logs: of real incidents, of such logs made worse, and of hand-made ones."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from analysis.diagnosis.moments import words_of
from mqlab.main import main
from tests.lib.operators_logs import (
    FAILED,
    FOLDERS,
    LOCKS,
    MADE,
    NAMESRV,
    REFUSED,
    SLOW,
    SURENESS,
    changed,
    found_in,
    found_in_kept,
    later,
)
from tools.kept_logs import KEPT


def expected(folder: str) -> set[str]:
    stalled = {"append-stall", "append-lock-over-1s"}
    return stalled if folder.startswith("append-stall") else {folder.rsplit("-", 1)[0]}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_incident_of_real_logs_is_named_with_its_broker_and_group(folder: str) -> None:
    found = found_in_kept(folder)
    assert {one.incident for one in found} <= expected(folder)
    assert {one.sure for one in found} == {"sure"}
    assert {broker for one in found for broker in one.brokers} == {"broker-a"}
    assert all(one.lines and one.from_s is not None and one.to_s is not None for one in found)
    # The run's own record: these were made on that morning, UTC.
    assert all(words_of(one.from_s).startswith("2026-11-23 0") for one in found)
    if folder in LOCKS:
        (one,) = found
        assert {f"incident-as-documented-r1-g{number}" for number in range(10)} <= set(one.groups)
        assert one.to_s is not None
        assert one.from_s is not None
        assert 40 < one.to_s - one.from_s < 90
        assert any(
            re.search(r"connection of \S+-owner was lost, its queues were taken over", text) for text in one.related
        )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_tenth_of_the_lines_dropped_makes_it_less_sure_never_wrong(folder: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    found = found_in(changed(folder, tmp_path / "logs", lambda _, lines: [one for one in lines if draw.random() > 0.1]))
    assert found
    assert {one.incident for one in found} <= expected(folder)


@pytest.mark.parametrize("minutes", [-7, 90])
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_file_whose_clock_is_off_makes_it_less_sure_never_wrong(folder: str, minutes: int, tmp_path: Path) -> None:
    def shifted(name: str, lines: list[bytes]) -> list[bytes]:
        return later(lines, minutes) if name.startswith("broker") else lines

    found = found_in(changed(folder, tmp_path / "logs", shifted))
    assert {one.incident for one in found} <= expected(folder)
    if folder in LOCKS:
        (one,) = found
        assert one.sure == "likely"
        assert any("was lost: it may have stood still, or the clocks differ" in text for text in one.against)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_file_that_is_missing_makes_it_less_sure_never_wrong(folder: str, tmp_path: Path) -> None:
    whole = max(SURENESS.index(one.sure) for one in found_in_kept(folder))
    for missing in sorted(path.stem for path in (KEPT / folder).iterdir()):
        place = tmp_path / missing
        found = found_in(changed(folder, place, lambda name, lines, gone=missing: [] if name == gone else lines))  # type: ignore[misc]
        assert {one.incident for one in found} <= expected(folder)
        assert all(SURENESS.index(one.sure) <= whole for one in found)
        if folder in LOCKS and missing == "broker.log":
            (one,) = found
            assert one.sure == "likely"
            assert any("no broker.log" in text for text in one.against)


SAYING = (b"in lock cost", b"CommitLog#putMessage cost", b"not in lock elapsed", b"locked by other client", b"expired")


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_same_brokers_without_what_went_wrong_have_none(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def calm(_: str, lines: list[bytes]) -> list[bytes]:
        return [line for line in lines if not any(words in line for words in SAYING)]

    place = changed(folder, tmp_path / "logs", calm)
    assert found_in(place) == []
    assert main(["diagnose", str(place), "--strict"]) == 0
    assert "none of the known incidents is in these logs" in capsys.readouterr().out


# --- hand-made ------------------------------------------------------------------------------------------------------------

WAIT_4X = (
    "2026-11-21 16:46:{second:02d} WARN AdminBrokerThread_1 - tryLockBatch, message queue locked by other client. Group: g "
    "OtherClientId: 10.0.0.1@{holder} NewClientId: 10.0.0.2@2 MessageQueue [topic=t, brokerName=b, queueId=0]\n"
)


def test_a_rebalance_in_which_a_lock_is_given_back_is_no_incident(tmp_path: Path) -> None:
    (tmp_path / "lock.log").write_text("".join(WAIT_4X.format(second=second, holder=1) for second in (1, 2, 9)))
    assert found_in(tmp_path) == []


def test_a_lock_that_nobody_takes_over_is_possible_at_most(tmp_path: Path) -> None:
    (tmp_path / "lock.log").write_text("".join(WAIT_4X.format(second=second, holder=1) for second in (1, 21, 41)))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure, one.groups, one.queues) == ("ordered-lock-handover", "possible", ("g",), ("t@b:0",))


def test_a_consumer_that_says_it_waits_for_a_lock_is_possible_without_the_brokers_log(tmp_path: Path) -> None:
    line = (
        "2026-11-21 08:46:{second:02d},424 WARN Consume_1 - the message queue not locked, so consume later, MessageQueue "
        "[topic=t, brokerName=b, queueId=3]\n"
    )
    log = tmp_path / "rocketmq_client.log"
    log.write_text("".join(line.format(second=second) for second in range(0, 45, 3)))
    (one,) = found_in(tmp_path)
    assert (one.sure, one.queues) == ("possible", ("t@b:3",))
    assert "for up to 42 s" in one.why[0]
    log.write_text("".join(line.format(second=second) for second in range(0, 20, 3)))
    assert found_in(tmp_path) == [], "an owner's first request comes within 20 s"


def test_a_registration_that_is_too_long_comes_with_its_broker_and_its_topics(tmp_path: Path) -> None:
    for node in ("names", "b1"):
        (tmp_path / node / "logs").mkdir(parents=True)
    (tmp_path / "names" / "logs" / "namesrv.log").write_text(NAMESRV.format(size=16777295))
    (tmp_path / "b1" / "logs" / "broker.log").write_text(
        "2026-11-21 16:39:00 INFO main - The broker[broker-a, 10.0.0.9:10911] boot success. serializeType=JSON\n"
        + "".join(MADE.format(topic=f"%RETRY%g{number}", read=1, write=1) for number in range(1200))
        + FAILED
    )
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure, one.brokers) == ("retry-topic-flood", "sure", ("broker-a",))
    assert "limit of 16,777,216 bytes, the first of 16,777,295" in one.why[0]
    assert "broker-a had made 1,200 topics in these logs until then, 1,200 of them %RETRY%" in one.related
    (without,) = found_in(tmp_path / "b1")
    assert (without.incident, without.sure) == ("retry-topic-flood", "possible")
    assert "the name server's log is not here" in without.against[0]


@pytest.mark.parametrize("size", [0x47455420, 0x16030100])
def test_a_scanner_at_the_name_servers_port_is_no_registration(size: int, tmp_path: Path) -> None:
    (tmp_path / "namesrv.log").write_text(NAMESRV.format(size=size))
    assert found_in(tmp_path) == []


def test_a_name_server_that_one_broker_does_not_reach_is_named(tmp_path: Path) -> None:
    done = "2026-11-21 16:{minute}:{second:02d} INFO brokerOutApi_thread_1 - register broker[0]to name server 10.0.0.2:9876 OK\n"
    failed = FAILED.replace(
        "SendRequestException: send request to <10.0.0.1:9876>", "ConnectException: connect to 10.0.0.1:9876"
    )
    (tmp_path / "broker.log").write_text(
        "".join(
            done.format(minute=minute, second=second) + failed.replace("16:46:01", f"16:{minute}:{second + 1:02d}")
            for minute in (46, 47)
            for second in (0, 30)
        )
    )
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("name-server-divergence", "likely")
    assert "registrations with 10.0.0.1:9876 failed 4 times while those with 10.0.0.2:9876 went on" in one.why[0]
    booted = "2026-11-21 16:40:00 INFO main - The broker[b, 10.0.0.9:10911] boot success. serializeType=JSON\n"
    log = tmp_path / "broker.log"
    log.write_text(booted + log.read_text())
    (tmp_path / "names").mkdir()
    for address, sure in (("10.0.0.8:10911", "likely"), ("10.0.0.9:10911", "sure")):
        (tmp_path / "names" / "namesrv.log").write_text(
            f"2026-11-21 16:47:40 WARN x - The broker channel expired, {address} 120000ms\n"
        )
        (one,) = found_in(tmp_path)
        assert one.sure == sure, address


def test_a_broker_that_shuts_down_while_its_name_server_is_gone_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(
        FAILED.replace("registerBroker", "unregisterBroker").replace("brokerOutApi_thread_1", "ShutdownHook")
    )
    assert found_in(tmp_path) == []


def test_numbers_of_queues_differ_until_a_line_makes_them_equal(tmp_path: Path) -> None:
    changed = (
        "2026-11-21 16:50:00 INFO AdminBrokerThread_1 - update topic config, old:[TopicConfig [topicName=t, readQueueNums=4, "
        "writeQueueNums=8, perm=RW-]] new:[TopicConfig [topicName=t, readQueueNums=8, writeQueueNums=8, perm=RW-]]\n"
    )
    (tmp_path / "broker.log").write_text(MADE.format(topic="t", read=4, write=8) + changed)
    (one,) = found_in(tmp_path)
    assert (one.incident, one.topics, words_of(one.to_s)) == ("queue-number-mismatch", ("t",), "2026-11-21 08:50:00Z")
    (tmp_path / "broker.log").write_text(MADE.format(topic="t", read=8, write=8))
    assert found_in(tmp_path) == []


def test_a_groups_first_dead_letter_names_the_group(tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text(MADE.format(topic="%DLQ%orders", read=1, write=1))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.groups, one.sure) == ("dead-letter", ("orders",), "sure")


def test_a_burst_of_refusals_stands_with_its_append_across_zones(tmp_path: Path) -> None:
    for node in ("b1", "app"):
        (tmp_path / node).mkdir()
    (tmp_path / "b1" / "store.log").write_text("2026-11-21 16:46:02 WARN SendMessageThread_1 - " + SLOW.format(ms=700))
    (tmp_path / "app" / "rocketmq_client.log").write_text(
        "".join(f"2026-11-21T09:46:01.{number}+01:00 WARN send failed\n{REFUSED}" for number in range(400, 440))
    )
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure, one.brokers, one.against) == ("append-stall", "sure", ("b1",), ())
    assert "40 sends refused by [TIMEOUT_CLEAN_QUEUE]" in one.related[0]
    assert "with the append of 700 ms" in one.related[0]
    (alone,) = found_in(tmp_path / "app")
    assert (alone.incident, alone.sure, alone.brokers) == ("append-stall", "likely", ("10.0.0.9:10911",))


def test_refusals_of_a_broker_that_was_gone_are_no_append_stall(tmp_path: Path) -> None:
    gone = "org.apache.rocketmq.remoting.exception.RemotingConnectException: connect to 10.0.0.9:10911 failed\n"
    (tmp_path / "rocketmq_client.log").write_text(
        f"2026-11-21 08:46:01,424 WARN x\n{gone}" + f"2026-11-21 08:46:31,424 WARN x\n{REFUSED}" * 30
    )
    assert found_in(tmp_path) == []


def test_a_full_send_queue_is_told_from_another_pool_and_from_one_that_ends(tmp_path: Path) -> None:
    line = (
        "2026-11-21 16:46:10 WARN NettyServerCodecThread_1 - 10.0.0.2:52418, too many requests and system thread pool busy, "
        "RejectedExecutionException org.apache.rocketmq.broker.latency.BrokerFixedThreadPoolExecutor@6f1c29b7[{state}, pool size = "
        "1, active threads = 1, queued tasks = 10000, completed tasks = 81234] request code: {code}\n"
    )
    (tmp_path / "remoting.log").write_text(line.format(state="Running", code=310))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("send-queue-full", "sure")
    assert "with 10000 tasks" in one.why[0]
    for code, pool in ((11, "the pull pool"), (34, "the heartbeat pool"), (14, "the pool of request code 14")):
        (tmp_path / "remoting.log").write_text(line.format(state="Running", code=code))
        (one,) = found_in(tmp_path)
        assert one.why == (f"{pool} took no request, with 10000 tasks in its queue",)
    (tmp_path / "remoting.log").write_text(line.format(state="Shutting down", code=310))
    assert found_in(tmp_path) == []


def test_a_client_that_is_told_overload_is_told_how_often_and_that_the_pool_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "rocketmq_client.log").write_text(
        "2026-11-21 16:46:00,000 WARN RocketmqClient - x CODE: 2 DESC: [OVERLOAD]system busy, start flow control for a while\n"
    )
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure, one.why) == (
        "send-queue-full", "likely", ("1 request refused by [OVERLOAD]",),
    )  # fmt: skip
    assert "no remoting.log here says which pool was full" in one.against[0]


def test_a_pool_without_a_buffer_and_a_broker_that_lost_one_are_known(tmp_path: Path) -> None:
    started = "2026-11-21 16:46:00 INFO main - transientStorePoolEnable=true\n"
    (tmp_path / "broker.log").write_text(started)
    (tmp_path / "store.log").write_text(
        "2026-11-21 16:46:01 INFO main - last shutdown abnormally\n"
        "2026-11-21 16:50:01 WARN x - TransientStorePool only remain 3 sheets.\n"
        "2026-11-21 16:55:01 WARN x - [NOTIFYME]TransientStorePool is not enough, so create mapped file error\n"
    )
    assert [(one.incident, one.sure) for one in found_in(tmp_path)] == [
        ("broker-gone", "likely"),
        ("pool-loss", "likely"),
        ("pool-exhausted", "sure"),
    ]
    (tmp_path / "broker.log").write_text(started.replace("true", "false"))
    (tmp_path / "store.log").write_text("2026-11-21 16:46:01 INFO main - last shutdown abnormally\n")
    assert [one.incident for one in found_in(tmp_path)] == ["broker-gone"], (
        "without the pool a killed process loses nothing"
    )


THREW = (
    "2026-11-21 16:46:01 ERROR SendMessageThread_1 - process request exception\n"
    "java.lang.NullPointerException: null\n"
    "\tat org.apache.rocketmq.store.CommitLog.{method}(CommitLog.java:622)\n"
    "\tat org.apache.rocketmq.store.DefaultMessageStore.putMessage(DefaultMessageStore.java:395)\n"
)
REJECTED = (
    "2026-11-21 {at} WARN main - send failed\n"
    "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 2  DESC: [REJECTREQUEST]system busy, start flow control for a "
    "while BROKER: 10.0.0.9:10911\n"
)


@pytest.mark.parametrize("method", ["putMessage", "asyncPutMessage"])
def test_an_append_that_threw_may_have_left_the_broker_busy(method: str, tmp_path: Path) -> None:
    (tmp_path / "remoting.log").write_text(THREW.format(method=method))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("busy-flag-stuck", "possible")
    assert "no client's log here has a send that was refused" in one.against[0]


def test_refusals_of_the_hours_after_it_are_its_doing_and_those_before_or_later_are_not(tmp_path: Path) -> None:
    (tmp_path / "remoting.log").write_text(THREW.format(method="putMessage"))
    after, before, late = ((tmp_path / name) for name in ("after.log", "before.log", "late.log"))
    after.write_text(REJECTED.format(at="18:30:00"))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("busy-flag-stuck", "likely")
    assert "1 send was refused by [REJECTREQUEST] after it" in one.why
    after.unlink()
    before.write_text(REJECTED.format(at="16:30:00"))
    late.write_text(REJECTED.format(at="19:46:00"))
    found = {one.incident: one.sure for one in found_in(tmp_path)}
    assert found == {"busy-flag-stuck": "possible", "append-lock-over-1s": "possible"}


SYNC = "2026-11-21 16:40:0{number} INFO main - {key}={value}\n"
GIVEN_UP = "2026-11-21 16:46:01 WARN ReadSocketService - ha housekeeping, found this connection[/10.0.0.9:4711] expired, 20004\n"


@pytest.mark.parametrize(
    ("settings", "sure"),
    [
        ({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "1"}, "likely"),
        ({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}, "possible"),
        ({"brokerRole": "SYNC_MASTER"}, "possible"),
        ({}, "possible"),
        ({"brokerRole": "ASYNC_MASTER", "inSyncReplicas": "1"}, None),
    ],
)
def test_a_slave_that_is_given_up_is_one_that_a_synchronous_master_of_5x_did_not_wait_for(
    settings: dict[str, str], sure: str | None, tmp_path: Path
) -> None:
    said = [SYNC.format(number=number, key=key, value=value) for number, (key, value) in enumerate(settings.items())]
    (tmp_path / "broker.log").write_text("".join(said) or "2026-11-21 16:40:00 INFO main - nothing is said\n")
    (tmp_path / "store.log").write_text(GIVEN_UP)
    found = found_in(tmp_path)
    assert [(one.incident, one.sure) for one in found] == ([("sync-master-acknowledges-alone", sure)] if sure else [])
    for one in found:
        assert "said nothing for 20 s" in one.why[0]
        assert bool(one.against) == (sure == "possible")
