"""Lines of a full pool as 4.6.0 and 5.3.3 write them, with the lab's logging and with their own, among lines of others.

The words are those of a server of each release whose pool was filled until it refused. The addresses, the numbers and the
pools that are shut down are the test's.
"""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession

from analysis.evidence.records import load_records
from analysis.evidence.tables import frame_of
from analysis.evidence.trials import trial_facts, trials_frame
from analysis.logs import remoting
from analysis.logs.lines import LINES
from harness.model.rocketmq import PULL_MESSAGE
from harness.rundir.reading import read_run_directory
from scenarios import ordered_lock_handover
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import log_time

POOLS = {
    "4.6.0": "org.apache.rocketmq.broker.latency.BrokerFixedThreadPoolExecutor@6f1c29b7",
    "5.3.3": "org.apache.rocketmq.common.thread.FutureTaskExtThreadPoolExecutor@7e3e6dda",
}
RELEASES = tuple(POOLS)
NUMBERS = "pool size = 1, active threads = 1, queued tasks = 10000, completed tasks = 81234"
SEND_MESSAGE_V2 = 310
OTHERS = (
    "NETTY SERVER PIPELINE: channelRegistered 127.0.0.1:52418",
    "127.0.0.1:52418, a wording about a thread pool of something else, RejectedExecutionException",
    "[OVERLOAD]system busy, start flow control for a while",
)
CHANGED = "127.0.0.1:52418, too many requests and system thread pool busy, a wording that no release is known for"


def _busy(pool: str, *, code: int = SEND_MESSAGE_V2, state: str = "Running", address: str = "127.0.0.1:52418") -> str:
    words = "too many requests and system thread pool busy, RejectedExecutionException"
    return f"{address}, {words} {pool}[{state}, {NUMBERS}] request code: {code}"


def _lab(after_ms: float, words: str) -> str:
    return f"{log_time(after_ms)} WARN [NettyServerCodecThread_1] RocketmqRemoting - {words}"


def _stock(after_ms: float, words: str) -> str:
    return f"{log_time(after_ms, zone_hours=8, millis=False)} WARN NettyServerCodecThread_1 - {words}"


def plant(run: Run) -> Asked:
    for release, pool in POOLS.items():
        for logging, line, zone, file in (
            ("lab", _lab, "UTC", "remoting.log"),
            ("stock", _stock, "GMT+8", "rocketmqlogs/remoting.log"),
        ):
            name = f"pools-{logging}-{release}"
            run.deployment(f"d-{name}", incident="ordered-lock-handover", release=release, logging=logging, zone=zone)
            run.ordered(name, release=release)
            run.log(
                f"d-{name}",
                file,
                line(-10_000, _busy(pool)),  # before the fault
                *(line(9_000, words) for words in OTHERS),
                line(10_000, _busy(pool)),
                line(10_000, _busy(pool, code=PULL_MESSAGE, address="127.0.0.1:52420")),
                line(20_000, CHANGED),
                line(20_000, _busy(pool, state="Shutting down")),
                "words that no release has, without a time",
                line(600_000, _busy(pool)),  # after the trial
            )
    return Asked(scenarios=(ordered_lock_handover.SCENARIO,), measures=("log_file_exists",), releases=RELEASES)


@pytest.fixture(scope="module")
def rows(seen: Analysis, spark: SparkSession) -> list[Row]:
    """All of the run's refusals, in the time of its trials."""
    run = read_run_directory(seen.path)
    facts = trial_facts(load_records(spark, run), run)
    kept = spark.read.parquet(str(seen.path / "analysis" / "log_lines.parquet"))
    table = remoting.in_trials(remoting.parse(kept), trials_frame(spark, run, facts))
    return table.orderBy("file", "line").collect()


@pytest.mark.parametrize("logging", ["lab", "stock"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_full_pool_is_taken_apart_in_the_words_of_both_generations(
    rows: list[Row], logging: str, release: str
) -> None:
    found = [row for row in rows if row.deployment == f"d-pools-{logging}-{release}"]
    assert [(row.line, row.address, row.request_code, row.pool_state) for row in found] == [
        (1, "127.0.0.1:52418", SEND_MESSAGE_V2, "Running"),
        (5, "127.0.0.1:52418", SEND_MESSAGE_V2, "Running"),
        (6, "127.0.0.1:52420", PULL_MESSAGE, "Running"),
        (7, None, None, None),
        (8, "127.0.0.1:52418", SEND_MESSAGE_V2, "Shutting down"),
        (10, "127.0.0.1:52418", SEND_MESSAGE_V2, "Running"),
    ]
    assert {row.node for row in found} == {"broker-a"}
    known = [row for row in found if row.line != 7]
    assert {(row.threads, row.active, row.queued, row.completed) for row in known} == {(1, 1, 10_000, 81_234)}
    assert known[0].pool == f"{POOLS[release]}[Running, {NUMBERS}]"


@pytest.mark.parametrize("logging", ["lab", "stock"])
@pytest.mark.parametrize("release", RELEASES)
def test_its_time_is_the_trials_and_a_line_outside_of_every_trial_stays(
    rows: list[Row], logging: str, release: str
) -> None:
    name = f"pools-{logging}-{release}"
    found = [(row.line, row.trial, row.after_fault_ms) for row in rows if row.deployment == f"d-{name}"]
    assert found == [
        (1, None, None),
        (5, name, 10_000.0),
        (6, name, 10_000.0),
        (7, name, 20_000.0),
        (8, name, 20_000.0),
        (10, None, None),
    ]


@pytest.mark.parametrize(
    ("deployment", "file"),
    [(f"d-pools-lab-{release}", "remoting.log") for release in RELEASES]
    + [(f"d-pools-stock-{release}", "rocketmqlogs/remoting.log") for release in RELEASES],
)
def test_a_line_in_changed_words_is_counted_and_shown(seen: Analysis, deployment: str, file: str) -> None:
    counted = seen.unmatched(f"{deployment}/nodes/broker-a/logs/{file}")
    assert counted is not None
    assert (counted["lines"], counted["unmatched"]) == (10, 2)
    assert counted["sample"][0] == "words that no release has, without a time"
    assert counted["sample"][1].endswith(CHANGED)


def _parsed(spark: SparkSession, words: str, **about: str) -> list[Row]:
    lines = [{"node": "broker-a", "zone": "UTC", "line": 1, "text": _lab(0, words), **about}]
    return remoting.parse(frame_of(spark, lines, LINES)).collect()


def test_a_pool_without_numbers_in_its_words_is_known_by_them_alone(spark: SparkSession) -> None:
    pool = "java.util.concurrent.Executors$FinalizableDelegatedExecutorService@1b2c6ec2"
    (row,) = _parsed(spark, _busy(pool).replace(f"[Running, {NUMBERS}]", ""))
    assert (row.pool, row.request_code, row.pool_state, row.queued) == (pool, SEND_MESSAGE_V2, None, None)


def test_a_request_of_a_channel_that_is_gone_has_no_address(spark: SparkSession) -> None:
    (row,) = _parsed(spark, _busy(POOLS["4.6.0"], address=""))
    assert (row.address, row.request_code) == ("", SEND_MESSAGE_V2)


def test_a_clients_own_pool_is_no_brokers(spark: SparkSession) -> None:
    assert _parsed(spark, _busy(POOLS["4.6.0"]), node="", trial="t1") == []
