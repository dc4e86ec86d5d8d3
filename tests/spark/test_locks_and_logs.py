"""Locks and their log lines: both wordings, both layouts, another zone, lines that no parser knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from analysis.evidence.tables import SAFEPOINT, frame_of
from analysis.logs import broker, client, gc, lines, lock, store
from analysis.logs.files import LogFile, rotated_name
from tests.lib.own_scenarios import handover
from tests.lib.runs import Analysis, Run
from tests.lib.trials import log_time, started


def _clients(trial: str, group: str = "g0") -> tuple[str, str]:
    return f"127.0.0.1@{trial}-{group}-owner", f"127.0.0.1@{trial}-{group}-successor"


def _waiting_4x(trial: str, queue: int, *, group: str = "g0", owner: str = "", successor: str = "") -> str:
    held, asks = _clients(trial, group)
    return (
        f"tryLockBatch, message queue locked by other client. Group: {group} OtherClientId: {owner or held} "
        f"NewClientId: {successor or asks} MessageQueue [topic=T-{trial}, brokerName=broker-a, queueId={queue}]"
    )


def _waiting_5x(trial: str, queue: int, *, group: str = "g0") -> str:
    held, asks = _clients(trial, group)
    return (
        f"RebalanceLockManager#tryLockBatch: message queue has been locked by other client, group={group}, "
        f"mq=MessageQueue [topic=T-{trial}, brokerName=broker-a, queueId={queue}], locked client id={held}, "
        f"current client id={asks}"
    )


MEASURES = (
    "foreign_lock_granted", "lock_age_at_takeover_s", "lock_lines_in_file", "log_file_exists", "renewal_period_s", "unlock_lines",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    def lab(after_ms: float, message: str, level: str = "WARN") -> str:
        return f"{log_time(after_ms)} {level} [AdminBrokerThread_1] RocketmqRebalanceLock - {message}"

    def stock(after_ms: float, message: str) -> str:
        return f"{log_time(after_ms, zone_hours=8, millis=False)} WARN AdminBrokerThread_1 - {message}"

    lab_lines = [
        lab(
            -6_000,
            "tryLockBatch, message queue not locked, I got it. Group: g0 NewClientId: x MessageQueue [topic=T, "
            "brokerName=broker-a, queueId=0]",
            "INFO",
        ),
        lab(-2, _waiting_4x("lab", 0)),  # before the fault
        lab(1_000, _waiting_4x("lab", 0)),
        lab(2_000, _waiting_4x("lab", 0)),
        lab(1_000, _waiting_4x("lab", 1, owner="127.0.0.1@somebody-else")),
        lab(1_000, _waiting_4x("lab", 1, successor="127.0.0.1@somebody-else")),
        lab(5_000, _waiting_4x("lab", 1)),  # after the take-over at 8.9 s
        lab(1_000, _waiting_4x("lab", 0, group="g1")),
        lab(1_000, "tryLockBatch, a wording that no release is known for"),
        "java.lang.IllegalStateException: goes on",
        "\tat org.apache.rocketmq.Some.method(Some.java:1)",
        "this line has no layout at all",
    ]
    shut = "shut-down"
    owner, _ = _clients(shut)
    shut_lines = [
        lab(-1_000, f"unlockBatch, Group: g0 MessageQueue [topic=T-{shut}, brokerName=broker-a, queueId=0] {owner}"),
        lab(
            20,
            f"unlockBatch, Group: g0 MessageQueue [topic=T-{shut}, brokerName=broker-a, queueId=0] {owner}",
            "INFO",
        ),
        lab(
            30,
            f"RebalanceLockManager#unlockBatch: unlock mq, group=g0, clientId={owner}, "
            f"mqs=MessageQueue [topic=T-{shut}, brokerName=broker-a, queueId=1]",
            "INFO",
        ),
    ]
    stock_lines = [stock(1_000, _waiting_5x("stock", 0)), stock(-3_000, _waiting_5x("stock", 1))]
    second = handover(shut, arm="fix-shutdown", fault="shut-down-owners", deployment="d2")
    for group in ("g0", "g1"):
        second.unlock("owner", at_ms=40, queues=(0, 1), group=group)
    probed = handover("lab")
    probed.lock_probe(asked_broker="broker-a", granted=False)
    probed.lock_probe(asked_broker="broker-b", granted=True)
    unanswered = handover("unanswered", deployment="d4")
    for record in unanswered.history["successor"]:
        if record["type"] == "rpc" and not record["granted"]:
            record["finished_ns"] = None
    run = new_run(
        trials=[probed, second, handover("stock", deployment="d3"), unanswered],
        logs={
            "d1/broker-a/logs/lock.log": lab_lines,
            "d2/broker-a/logs/lock.1.log": shut_lines,
            "d2/broker-a/logs/lock.log": [],
            **{f"{name}/broker-a/logs/broker.log": [started()] for name in ("d1", "d2", "d3", "d4")},
            "d3/broker-a/logs/rocketmqlogs/filter.log": stock_lines,
            "d3/broker-a/logs/rocketmqlogs/lock.log": [],
            "d1/broker-a/logs/storeerror.log": [],
        },
    )
    run.deployment("d3", incident="handover", zone="GMT+8")
    return analysed(run, measures=MEASURES)


def test_a_locks_age_is_from_the_last_renewal_to_the_successors_grant(run: Analysis) -> None:
    assert run.values("lock_age_at_takeover_s", "lab") == pytest.approx([3.9] * 4)
    granted = [run.record(seen)["granted"] for seen in run.found("lock_age_at_takeover_s", "lab")]
    assert sorted(granted) == [["broker-a:0"], ["broker-a:0"], ["broker-a:1"], ["broker-a:1"]]


def test_requests_without_an_answer_do_not_change_the_age_of_the_lock(run: Analysis) -> None:
    assert run.values("lock_age_at_takeover_s", "unanswered") == pytest.approx([3.9] * 4)


def test_the_renewal_period_is_between_requests_of_the_owners_lock_thread(run: Analysis) -> None:
    assert run.values("renewal_period_s", "lab") == pytest.approx([2.0] * 4)


def test_waiting_lines_are_counted_by_queue_clients_and_time(run: Analysis) -> None:
    by_unit = {(seen.unit, seen.value) for seen in run.found("lock_lines_waiting", "lab", file="lock.log")}
    # g0's queue 0 has two lines, its queue 1 none that names both clients in time; g1's queue 0 has one.
    assert by_unit == {("d1/lab/g0", 2), ("d1/lab/g0", 0), ("d1/lab/g1", 1), ("d1/lab/g1", 0)}
    (two,) = [seen for seen in run.found("lock_lines_waiting", "lab") if seen.value == 2]
    assert (two.file, two.line) == ("deployments/d1/nodes/broker-a/logs/lock.log", 4)


def test_lines_of_the_stock_logging_are_found_in_their_own_file_and_zone(run: Analysis) -> None:
    assert run.values("lock_lines_waiting", "stock", file="lock.log") == [0, 0, 0, 0]
    (seen,) = run.found("lock_lines_waiting", "stock", file="filter.log")
    assert (seen.value, seen.line) == (1, 1)


def test_unlocking_is_seen_in_the_log(run: Analysis) -> None:
    assert run.values("unlock_lines", "shut-down") == [0, 0, 1, 1]
    assert run.values("unlock_lines", "lab") == [0, 0, 0, 0]


def test_probes_tell_the_queues_own_broker_from_another_one(run: Analysis) -> None:
    assert run.values("foreign_lock_granted", "lab", asked="own") == [0]
    assert run.values("foreign_lock_granted", "lab", asked="other") == [1]


def _file_of(seen: Row) -> str:
    return str(json.loads(seen.params)["file"])


def test_log_files_are_told_by_deployment_rotated_ones_included(run: Analysis) -> None:
    exists = {(seen.unit, _file_of(seen)): seen.value for seen in run.found("log_file_exists", None)}
    assert exists["d1", "storeerror.log"] == 1
    assert exists["d1", "storeerr.log"] == 0
    assert exists["d2", "lock.log"] == 1
    assert exists["d3", "lock.log"] == 1
    assert exists["d4", "lock.log"] == 0
    lines_in = {(seen.unit, _file_of(seen)): seen.value for seen in run.found("lock_lines_in_file", None)}
    assert lines_in["d3", "lock.log"] == 0
    assert lines_in["d3", "filter.log"] == 2
    assert lines_in["d1", "lock.log"] == 9
    assert lines_in["d2", "lock.log"] == 3
    assert ("d4", "lock.log") not in lines_in


def test_what_no_parser_knows_is_counted_and_shown(run: Analysis) -> None:
    (unmatched,) = run.report["logs"]["unmatched"]
    assert unmatched["file"] == "deployments/d1/nodes/broker-a/logs/lock.log"
    assert (unmatched["lines"], unmatched["unmatched"]) == (12, 2)
    assert any("no layout at all" in line for line in unmatched["sample"])
    assert any("no release is known for" in line for line in unmatched["sample"])


def test_a_finding_cites_the_log_line_itself(run: Analysis) -> None:
    excerpts = [line.excerpt for line in run.finding("HAND-03").evidence]
    assert any("locked by other client" in excerpt for excerpt in excerpts)


# --- parsers ----------------------------------------------------------------------------------------------------------

MQ = "MessageQueue [topic=T, brokerName=broker-a, queueId=3]"
X = "RebalanceLockManager#"


def _table(spark: SparkSession, texts: Iterable[str], *, kind: str = "plain") -> DataFrame:
    rows = [{"file": "f", "kind": kind, "zone": "UTC", "line": at, "text": text} for at, text in enumerate(texts, 1)]
    return frame_of(spark, rows, lines.LINES)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"tryLock, message queue not locked, I got it. Group: g NewClientId: c {MQ}", (lock.FIRST, "c", None)),
        (
            f"tryLockBatch, message queue lock expired, I got it. Group: g OldClientId: o NewClientId: c {MQ}",
            (lock.EXPIRED, "c", "o"),
        ),
        (
            f"tryLockBatch, message queue locked by other client. Group: g OtherClientId: o NewClientId: c {MQ}",
            (lock.WAITING, "c", "o"),
        ),
        (f"unlockBatch, Group: g {MQ} c", (lock.UNLOCKED, "c", None)),
        (f"unlockBatch, but mq locked by other client: o, Group: g {MQ} c", (lock.UNLOCK_REFUSED, "c", "o")),
        (f"unlockBatch, but mq not locked, Group: g {MQ} c", (lock.UNLOCK_NOTHING, "c", None)),
        (
            f"{X}tryLockBatch: lock a message which has not been locked yet, group=g, clientId=c, mq={MQ}",
            (lock.FIRST, "c", None),
        ),
        (
            f"{X}tryLock: lock a message queue which has not been locked yet, group=g, clientId=c, mq={MQ}",
            (lock.FIRST, "c", None),
        ),
        (
            f"{X}tryLockBatch: try to lock a expired message queue, group=g, mq={MQ}, old client id=o, new client id=c",
            (lock.EXPIRED, "c", "o"),
        ),
        (
            f"{X}tryLockBatch: message queue has been locked by other client, group=g, mq={MQ}, locked client id=o, "
            "current client id=c",
            (lock.WAITING, "c", "o"),
        ),
        (f"{X}unlockBatch: unlock mq, group=g, clientId=c, mqs={MQ}", (lock.UNLOCKED, "c", None)),
        (
            f"{X}unlockBatch: mq locked by other client, group=g, locked clientId=o, current clientId=c, mqs={MQ}",
            (lock.UNLOCK_REFUSED, "c", "o"),
        ),
        (f"{X}unlockBatch: mq not locked, group=g, clientId=c, mq={MQ}", (lock.UNLOCK_NOTHING, "c", None)),
    ],
)
def test_every_wording_of_the_lock_manager_is_taken_apart(
    spark: SparkSession, message: str, expected: tuple[str, str, str | None]
) -> None:
    (row,) = lock.parse(_table(spark, [f"2026-11-21 15:00:01 WARN t - {message}"])).collect()
    assert (row["happened"], row["client"], row["holder"]) == expected
    assert (row["group"], row["topic"], row["broker"], row["queue"]) == ("g", "T", "broker-a", 3)


def test_slow_appends_single_and_batch_are_taken_apart(spark: SparkSession) -> None:
    texts = [
        "2026-11-21 15:00:01 WARN t - [NOTIFYME]putMessage in lock cost time(ms)=702, bodyLength=128 Append",
        "2026-11-21 15:00:01 WARN t - [NOTIFYME]putMessages in lock cost time(ms)=1203, bodyLength=128 Append",
        "2026-11-21 15:00:01 INFO t - [PAGECACHERT] TotalPut 3, PutMessageDistributeTime [<=0ms]:3",
    ]
    assert [row["in_lock_ms"] for row in store.parse(_table(spark, texts, kind="store")).collect()] == [702, 1203]


def test_registrations_of_4x_and_5x_are_told_from_their_failures_and_from_unregistering(spark: SparkSession) -> None:
    texts = [
        "2026-11-21 15:00:01 INFO t - register broker[0]to name server 127.0.0.1:9876 OK",
        "2026-11-21 15:00:01 INFO t - Registering current broker to name server completed. TargetHost=127.0.0.1:9877",
        "2026-11-21 15:00:01 WARN t - registerBroker Exception, 127.0.0.1:9876",
        "2026-11-21 15:00:01 WARN t - unregisterBroker Exception, 127.0.0.1:9876",
    ]
    rows = broker.parse(_table(spark, texts, kind="broker")).collect()
    assert [(row["registered"], row["name_server"]) for row in rows] == [
        (True, "127.0.0.1:9876"),
        (True, "127.0.0.1:9877"),
        (False, "127.0.0.1:9876"),
    ]


def test_a_pull_that_is_put_off_is_seen_in_the_clients_log(spark: SparkSession) -> None:
    request = f"PullRequest [consumerGroup=g1, messageQueue={MQ}, nextOffset=0]"
    texts = [
        f"2026-11-21 15:00:01,000 INFO ... - pull message later because not locked in broker, {request}",
        f"2026-11-21 15:00:01,000 INFO ... - the pull request offset changed, {request}",
    ]
    rows = client.parse(_table(spark, texts, kind="client")).collect()
    assert [(row["group"], row["topic"], row["broker"], row["queue"]) for row in rows] == [("g1", "T", "broker-a", 3)]


def test_stops_of_the_jvm_are_read_in_milliseconds(spark: SparkSession) -> None:
    texts = [
        "[2026-11-21T08:15:00.123+0000][1.5s][info][gc      ] GC(3) Pause Young (Normal) (G1) 24M->5M(256M) 3.214ms",
        '[1.6s][info][safepoint] Safepoint "G1Collect", Time since last: 1 ns, Reaching safepoint: 9 ns, Total:  3301234 ns',
        "[1.7s][info][safepoint] Total time for which application threads were stopped: 0.0051 seconds, Stopping",
        "[1.8s][info][gc,phases] GC(3)   Evacuate Collection Set: 2.1ms",
    ]
    rows = gc.parse(_table(spark, texts, kind="gc")).collect()
    assert [(row["what"], round(row["stopped_ms"], 3), row["uptime_s"]) for row in rows] == [
        (gc.GC, 3.214, 1.5),
        (SAFEPOINT, 3.301, 1.6),
        (SAFEPOINT, 5.1, 1.7),
    ]
    assert rows[0]["wall_us"] == 1_795_248_900_123_000
    assert rows[1]["wall_us"] is None


# --- lines ------------------------------------------------------------------------------------------------------------


def test_times_are_converted_from_the_zone_that_the_log_is_written_in(spark: SparkSession, tmp_path: Path) -> None:
    files = []
    for name, zone, text in (
        ("lab", "UTC", "2026-11-21 08:15:00,123 INFO [main] RocketmqBroker - x"),
        ("stock", "GMT+8", "2026-11-21 16:15:00 INFO main - x"),
        ("none", "UTC", "no time"),
    ):
        path = tmp_path / "deployments" / name / "nodes" / "broker-a" / "broker.log"
        path.parent.mkdir(parents=True)
        path.write_text(text + "\n")
        file = path.relative_to(tmp_path).as_posix()
        files.append(
            LogFile(
                path=path,
                file=file,
                name="broker.log",
                kind="broker",
                node="broker-a",
                deployment=name,
                trial="",
                zone=zone,
            )
        )
    read = lines.read_lines(spark, files, F.lit(True))
    found = {row["deployment"]: (row["wall_us"], row["resolution_us"]) for row in read.kept.collect()}
    second_us = 1_795_248_900_000_000
    assert found == {"lab": (second_us + 123_000, 1_000), "stock": (second_us, 1_000_000), "none": (None, 1_000_000)}
    assert {item.file: item.unmatched for item in read.counts}[files[2].file] == 1


def test_lines_are_numbered_across_the_pieces_that_spark_cuts_a_file_into(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "deployments" / "d" / "nodes" / "broker-a" / "store.log"
    path.parent.mkdir(parents=True)
    count = 20_000
    path.write_text(
        "".join(f"2026-11-21 08:15:00,123 INFO [main] x - line {number}\n" for number in range(1, count + 1))
    )
    file = LogFile(
        path=path,
        file=path.relative_to(tmp_path).as_posix(),
        name="store.log",
        kind="store",
        node="broker-a",
        deployment="d",
        trial="",
        zone="UTC",
    )
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    assert before is not None
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100k")
    try:
        kept = lines.read_lines(spark, [file], F.lit(True)).kept
        wrong = kept.where(F.col("line") != F.regexp_extract("text", r"line (\d+)", 1).cast("long"))
        assert kept.rdd.getNumPartitions() > 2
        assert (kept.count(), wrong.count()) == (count, 0)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lock.log", "lock.log"),
        ("lock.log.1", "lock.log"),
        ("lock.1.log", "lock.log"),
        ("lock.3.log.gz", "lock.log"),
        ("gc.log.0", "gc.log"),
        ("rocketmq_client.log", "rocketmq_client.log"),
        ("checkpoint", None),
        ("00000000000000000000", None),
    ],
)
def test_a_rotations_number_is_no_part_of_a_logs_name(name: str, expected: str | None) -> None:
    assert rotated_name(name) == expected
