"""Logs that are deleted, rotated away or cut do not lack a line; logs that are there and lack it do. All made by hand."""

from __future__ import annotations

import pytest

from scenarios import append_stall, name_server_divergence, ordered_lock_handover, page_cache_stress, retry_topic_flood
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import SUCCESSOR, Trial, at, log_time, started, stopped

OF_LOCKS = ("first_lock_lines", "lock_lines_waiting", "takeover_lines", "unlock_lines", "wait_logged_share")
OF_FRAMES = ("ok_lines", "refusals_logged", "registration_failures", "size_lines", "topic_count_lines")
MEASURES = (
    *OF_LOCKS, *OF_FRAMES, "append_in_lock_ms", "back_untold", "lock_age_at_takeover_s", "lock_lines_in_file",
    "lock_log_bytes_per_s", "lock_requests_per_s", "log_file_exists", "slow_append_lines", "stopped_ms_max", "store_log_line",
    "unregistered_s",
)  # fmt: skip
FIRST_MS, TAKEN_MS = -24_000, 56_000
"""When the owner first locks, and its successor takes over."""


def line(trial: Trial, words: str, at_ms: float) -> str:
    return f"{log_time(at_ms)} WARN [t] RocketmqRebalanceLock - " + words.format(
        group=trial.group,
        topic=trial.topic,
        owner=trial.client_id("owner"),
        successor=trial.client_id(SUCCESSOR),
        queue=f"MessageQueue [topic={trial.topic}, brokerName=broker-a, queueId=0]",
    )


FIRST = "tryLockBatch, message queue not locked, I got it. Group: {group} NewClientId: {owner} {queue}"
TAKEN = "tryLockBatch, message queue lock expired, I got it. Group: {group} OldClientId: {owner} NewClientId: {successor} {queue}"


def _locks(run: Run) -> None:
    def of(name: str, **files: list[str]) -> Trial:
        """An ordered trial whose broker has these files, named without their ``.log``."""
        trial = run.ordered(name)
        run.log(trial.deployment, "broker.log", started())
        for file, lines in files.items():
            run.log(trial.deployment, f"{file.replace('_', '.')}", *lines)
        return trial

    of("deleted")
    of("empty", lock_log=[])
    first, taken = (line(Trial(name="x", incident="", arm="", deployment="", groups=["other"]), *words) for words in (
        (FIRST, -80_000), (TAKEN, 58_000)
    ))  # fmt: skip
    of("quiet", lock_log=[taken])
    of("zeros", lock_log=["\0" * 500])
    of("rotated", lock_log=[taken], lock_log_1=[first])
    of("rotated_away", lock_log=[taken], lock_log_1=[taken])
    of("rotated_after_the_first", lock_log=[taken], lock_log_1=[first.replace(log_time(-80_000), log_time(-2_000))])
    of("gap", lock_log=[taken], lock_log_2=[first])
    of("newest_gone", lock_log_1=[first])
    whole = of("whole", lock_log=[])
    run.log(whole.deployment, "lock.log", line(whole, FIRST, FIRST_MS), line(whole, TAKEN, TAKEN_MS))

    both = of("one_of_two", lock_log=[])
    run.deployment(both.deployment, incident=both.incident)
    run.deployments[both.deployment]["nodes"] += [
        {"name": "broker-b", "kind": "broker", "role": "MASTER", "address": "127.0.0.1:20912", "pid": 3},
        {"name": "broker-b-s1", "kind": "broker", "role": "SLAVE", "address": "127.0.0.1:20913", "pid": 4},
    ]

    # Neither has a lock.log; one has its lines in another file.
    for name in ("elsewhere", "nowhere"):
        trial = run.ordered(name, arm="incident-as-documented", release="5.3.3")
        run.deployment(trial.deployment, incident=trial.incident, release="5.3.3", logging="stock")
        run.log(trial.deployment, "rocketmqlogs/broker.log", started())
        if name == "elsewhere":
            run.log(trial.deployment, "rocketmqlogs/filter.log", line(trial, FIRST, FIRST_MS))
    run.ordered("no_logs_at_all")


def _stops(run: Run) -> None:
    for name, lines in {
        "calm": [stopped(-40_000, 0.1, age_s=0.02), stopped(90_000, 300)],
        "stood": [stopped(-40_000, 0.1, age_s=0.02), stopped(10_000, 300)],
        "started_later": [stopped(5_000, 0.1, age_s=0.02)],
        "cut": [stopped(20_000, 0.1)],
    }.items():
        run.ordered(f"stops_{name}").logs[f"{SUCCESSOR}/gc.log"] = lines
    run.ordered("stops_unknown")


def _appends(run: Run) -> None:
    slow = f"{log_time(9_000)} WARN [t] RocketmqStore - [NOTIFYME]putMessage in lock cost time(ms)=600, bodyLength=1 Append"
    for name, lines in {"begun": [started(), slow], "cut": [slow], "emptied": []}.items():
        trial = run.stalled(f"store_{name}", stall_ms=700, hold_ms=20_000.0)
        run.log(trial.deployment, "store.log", *lines)
    run.stalled("store_deleted", stall_ms=700, hold_ms=20_000.0)


def _registrations(run: Run) -> None:
    registered = "INFO [t] RocketmqBroker - register broker[0]to name server 127.0.0.1:9876 OK"
    refused = (
        f"{log_time(1_000)} ERROR [t] RocketmqRemoting - decode exception, 127.0.0.1:1",
        "io.netty.handler.codec.TooLongFrameException: Adjusted frame length exceeds 262144: 262300 - discarded",
    )
    for name, servers, brokers in (
        ("frames", (started(), *refused), (started(),)),
        ("frames_server_gone", None, (started(),)),
        ("frames_server_cut", refused, (started(),)),
        ("frames_broker_gone", (started(), *refused), None),
    ):
        trial = run.trial(name, "retry-topic-flood", "incident", groups=[f"{name}-g0"], params={"name_bytes": 54})
        limit = {"measure": "topics_at_limit", "value": 1107.0, "of": "broker-a", "params": "{}", "detail": ""}
        trial.event("probe", at_ns=at(1_000), **limit)
        if servers is not None:
            run.log(trial.deployment, "namesrv.log", *servers, node="namesrv-1")
        if brokers is not None:
            run.log(trial.deployment, "broker.log", *brokers)
    for name, lines in {
        "back": [started(), f"{log_time(15_000)} {registered}"],
        "back_cut": [f"{log_time(15_000)} {registered}"],
        "back_gone": None,
    }.items():
        trial = run.trial(
            name, "name-server-divergence", "incident-forgotten-topic", fault="forgotten-topic", groups=[f"{name}-g0"]
        )
        for at_ms, routed in ((-5_000, "q"), (300, ""), (20_400, "q")):
            view = {"topic": trial.topic, "registered": "broker-a:0", "routed": routed}
            trial.event("route", node="namesrv-1", at_ns=at(at_ms), **view)
        if lines is not None:
            run.log(trial.deployment, "broker.log", *lines)


def plant(run: Run) -> Asked:
    _locks(run)
    _stops(run)
    _appends(run)
    _registrations(run)
    scenarios = (
        ordered_lock_handover.SCENARIO,
        append_stall.SCENARIO,
        page_cache_stress.SCENARIO,
        retry_topic_flood.SCENARIO,
        name_server_divergence.SCENARIO,
    )
    return Asked(scenarios=scenarios, measures=MEASURES, releases=("4.6.0", "5.3.3"))


# --- locks ------------------------------------------------------------------------------------------------------------


def of_locks(seen: Analysis, trial: str) -> list[list[float]]:
    return [seen.values(measure, trial) for measure in OF_LOCKS]


@pytest.mark.parametrize("trial", ["empty", "quiet", "rotated"])
def test_a_lock_log_that_is_there_and_has_no_line_of_a_queue_lacks_it(seen: Analysis, trial: str) -> None:
    assert of_locks(seen, trial) == [[0]] * 5
    assert seen.values("lock_log_bytes_per_s", trial) == [0, 0]


@pytest.mark.parametrize(
    "trial", ["deleted", "zeros", "rotated_away", "gap", "newest_gone", "one_of_two", "nowhere", "no_logs_at_all"]
)
def test_a_lock_log_that_is_not_there_or_begins_too_late_gives_no_value(seen: Analysis, trial: str) -> None:
    assert of_locks(seen, trial) == [[]] * 5
    assert seen.values("lock_log_bytes_per_s", trial) == []
    assert seen.values("lock_lines_in_file", f"d-{trial}") == []
    # What rests on the clients' own records is known.
    assert seen.one("lock_age_at_takeover_s", trial) == pytest.approx(60.0)
    assert len(seen.values("lock_requests_per_s", trial)) == 2


def test_what_a_log_says_is_counted_where_it_is_whole(seen: Analysis) -> None:
    assert of_locks(seen, "whole") == [[1], [0], [1], [0], [0]]


def test_the_first_lock_is_not_counted_in_a_log_that_begins_after_it(seen: Analysis) -> None:
    assert of_locks(seen, "rotated_after_the_first") == [[], [0], [0], [0], [0]]


def test_stock_logging_without_a_lock_log_is_judged_by_the_file_that_has_its_lines(seen: Analysis) -> None:
    assert seen.one("lock_lines_waiting", "elsewhere", file="lock.log") == 0
    assert seen.one("first_lock_lines", "elsewhere") == 1
    assert seen.one("lock_lines_in_file", "d-elsewhere", file="lock.log") == 0
    assert seen.one("lock_lines_in_file", "d-elsewhere", file="filter.log") == 1


def test_files_are_said_to_be_there_or_not_only_beside_each_brokers_own_log(seen: Analysis) -> None:
    assert seen.one("log_file_exists", "d-deleted", file="lock.log") == 0
    assert seen.one("log_file_exists", "d-deleted", file="broker.log") == 1
    assert seen.one("log_file_exists", "d-empty", file="lock.log") == 1
    assert seen.values("log_file_exists", "d-no_logs_at_all") == []
    # Its second broker has none.
    assert seen.values("log_file_exists", "d-one_of_two") == []


# --- other logs -------------------------------------------------------------------------------------------------------


def test_a_process_stood_still_for_as_long_as_its_log_says_and_not_for_none_without_it(seen: Analysis) -> None:
    assert seen.one("stopped_ms_max", "stops_stood") == pytest.approx(300)
    assert seen.one("stopped_ms_max", "stops_calm") == 0
    assert seen.one("stopped_ms_max", "stops_started_later") == pytest.approx(0.1)
    assert seen.values("stopped_ms_max", "stops_cut") == seen.values("stopped_ms_max", "stops_unknown") == []


def test_a_store_log_lacks_the_line_of_a_stall_where_it_goes_back_to_before_it(seen: Analysis) -> None:
    assert seen.one("store_log_line", "store_begun") == 0
    assert seen.one("slow_append_lines", "store_begun") == 1
    (row,) = seen.found("slow_append_lines", "store_begun")
    assert "cost time(ms)=600" in seen.shown(row)
    for trial in ("store_cut", "store_emptied", "store_deleted"):
        assert seen.values("store_log_line", trial) == seen.values("slow_append_lines", trial) == []
        assert seen.one("append_in_lock_ms", trial) == 700


def test_what_is_not_refused_or_named_is_to_be_seen_in_the_logs_of_all_nodes(seen: Analysis) -> None:
    assert seen.one("refusals_logged", "d-frames") == 1
    assert seen.one("size_lines", "d-frames") == seen.one("topic_count_lines", "d-frames") == 0
    assert seen.values("ok_lines", "frames") == [0, 0]
    for trial in ("frames_server_gone", "frames_server_cut", "frames_broker_gone"):
        assert [seen.values(measure, f"d-{trial}") for measure in OF_FRAMES] == [[]] * 5


def test_a_topic_is_back_untold_only_where_the_brokers_would_have_told_of_it(seen: Analysis) -> None:
    assert seen.one("back_untold", "back") == 1
    assert seen.one("unregistered_s", "back", when="held") == pytest.approx(45.0)
    for trial in ("back_cut", "back_gone"):
        assert seen.values("back_untold", trial) == seen.values("unregistered_s", trial) == []
