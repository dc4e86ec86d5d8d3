"""Lock lines as 4.6.0 and 5.3.3 really write them, with the lab's logging and with their own, joined to their queues.

The lines were copied from the brokers' logs of real runs; only the names of group, topic and clients are the test's.
"""

from __future__ import annotations

import pytest

from scenarios import ordered_lock_handover
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial, log_time, started

WAITING = {
    "4.6.0": "tryLockBatch, message queue locked by other client. Group: {group} OtherClientId: {owner} "
    "NewClientId: {successor} MessageQueue [topic={topic}, brokerName=broker-a, queueId=0]",
    "5.3.3": "RebalanceLockManager#tryLockBatch: message queue has been locked by other client, group={group}, "
    "mq=MessageQueue [topic={topic}, brokerName=broker-a, queueId=0], locked client id={owner}, "
    "current client id={successor}",
}
EXPIRED = {
    "4.6.0": "tryLockBatch, message queue lock expired, I got it. Group: {group} OldClientId: {owner} "
    "NewClientId: {successor} MessageQueue [topic={topic}, brokerName=broker-a, queueId=0]",
    "5.3.3": "RebalanceLockManager#tryLockBatch: try to lock a expired message queue, group={group}, "
    "mq=MessageQueue [topic={topic}, brokerName=broker-a, queueId=0], old client id={owner}, "
    "new client id={successor}",
}
UNLOCKED = {
    "4.6.0": "unlockBatch, Group: {group} MessageQueue [topic={topic}, brokerName=broker-a, queueId=0] {owner}",
    "5.3.3": "RebalanceLockManager#unlockBatch: unlock mq, group={group}, clientId={owner}, "
    "mqs=MessageQueue [topic={topic}, brokerName=broker-a, queueId=0]",
}

RELEASES = tuple(WAITING)
MEASURES = (
    "lock_lines_in_file",
    "lock_lines_waiting",
    "log_file_exists",
    "unlock_lines",
)


def _filled(words: str, trial: Trial, *, topic: str | None = None) -> str:
    clients = {"owner": trial.client_id("owner"), "successor": trial.client_id("successor")}
    return words.format(group=trial.group, topic=topic or trial.topic, **clients)


def plant(run: Run) -> Asked:
    def lab(after_ms: float, words: str) -> str:
        return f"{log_time(after_ms)} WARN [AdminBrokerThread_12] RocketmqRebalanceLock - {words}"

    def stock(after_ms: float, words: str) -> str:
        return f"{log_time(after_ms, zone_hours=8, millis=False)} WARN AdminBrokerThread_13 - {words}"

    for release in RELEASES:
        for logging, line, zone, file in (
            ("lab", lab, "UTC", "lock.log"),
            ("stock", stock, "GMT+8", {"4.6.0": "rocketmqlogs/lock.log", "5.3.3": "rocketmqlogs/filter.log"}[release]),
        ):
            name = f"{logging}-{release}"
            run.deployment(f"d-{name}", incident="ordered-lock-handover", release=release, logging=logging, zone=zone)
            arm = "incident" if logging == "lab" else "incident-as-documented"
            trial = run.ordered(name, arm=arm, release=release)
            if logging == "stock":
                run.log(f"d-{name}", "rocketmqlogs/broker.log", started(zone_hours=8, millis=False))
            waiting = _filled(WAITING[release], trial)
            run.log(
                f"d-{name}",
                file,
                line(-5_000, waiting),  # before the fault
                line(16_002, waiting),
                line(16_003, _filled(WAITING[release], trial, topic=f"%RETRY%{trial.group}")),
                line(36_002, waiting),
                line(56_002, _filled(EXPIRED[release], trial)),
                line(59_000, waiting),  # after the take-over
                "words that no release has, without a time",
            )
        shut = run.ordered(f"shut-{release}", arm="fix-graceful-shutdown", release=release)
        shut.unlock("owner", at_ms=90)
        run.log(f"d-shut-{release}", "lock.log", lab(50, _filled(UNLOCKED[release], shut)))
    return Asked(scenarios=(ordered_lock_handover.SCENARIO,), measures=MEASURES, releases=RELEASES)


@pytest.mark.parametrize("trial", ["lab-4.6.0", "lab-5.3.3", "stock-4.6.0"])
def test_the_successors_waiting_is_found_in_lock_log_between_the_fault_and_the_take_over(
    seen: Analysis, trial: str
) -> None:
    (row,) = seen.found("lock_lines_waiting", trial, file="lock.log")
    assert row.value == 2
    assert row.file.endswith("/lock.log")
    assert row.line == 4  # the later of the two
    assert "other client" in seen.shown(row)


def test_the_stock_logging_of_5_3_3_has_the_lines_in_another_file(seen: Analysis) -> None:
    assert seen.one("lock_lines_waiting", "stock-5.3.3", file="lock.log") == 0
    assert seen.one("lock_lines_waiting", "stock-5.3.3", file="filter.log") == 2
    (row,) = seen.found("lock_lines_in_file", "d-stock-5.3.3", file="filter.log")
    assert row.value == 6
    assert seen.one("lock_lines_in_file", "d-stock-5.3.3", file="lock.log") == 0


@pytest.mark.parametrize("release", RELEASES)
def test_unlocking_is_counted_by_its_log_lines(seen: Analysis, release: str) -> None:
    trial = f"shut-{release}"
    assert seen.one("unlock_lines", trial) == 1
    assert seen.values("unlock_lines", f"lab-{release}") == [0]


@pytest.mark.parametrize("trial", ["lab-4.6.0", "lab-5.3.3"])
def test_only_the_line_without_a_layout_is_unknown(seen: Analysis, trial: str) -> None:
    counted = seen.unmatched(f"d-{trial}/nodes/broker-a/logs/lock.log")
    assert counted is not None
    assert (counted["lines"], counted["unmatched"]) == (7, 1)
    assert counted["sample"] == ["words that no release has, without a time"]


def test_a_log_of_known_lines_alone_is_not_listed(seen: Analysis) -> None:
    assert seen.unmatched("d-shut-4.6.0/nodes/broker-a/logs/lock.log") is None


def test_files_are_there_or_not_by_deployment(seen: Analysis) -> None:
    assert seen.one("log_file_exists", "d-stock-4.6.0", file="lock.log") == 1
    assert seen.one("log_file_exists", "d-stock-5.3.3", file="lock.log") == 0
    assert seen.one("log_file_exists", "d-stock-4.6.0", file="storeerr.log") == 0
    (row,) = seen.found("log_file_exists", "d-stock-5.3.3", file="lock.log")
    assert row.file == "deployments/d-stock-5.3.3/deployment.json"
