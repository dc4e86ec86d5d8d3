"""Refusals, appends and latency of open-loop sends around a stalled append."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.lib.own_scenarios import ENTRY_MS, stall
from tests.lib.runs import Analysis, Run
from tests.lib.trials import MS, Record, Trial, at, log_time, started

ENTRY = at(ENTRY_MS)
MEASURES = (
    "append_in_lock_ms", "failed_count", "first_period_over_limit_ms", "first_rejected_after_ms", "latency_max_ms",
    "latency_p50_ms", "period_in_queue_ms", "period_over_limit_ms", "queue_depth", "rejected_within_1s_max", "slow_append_lines",
    "store_log_line", "throughput_per_s", "unknown_count",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    def slow(after_ms: float, in_lock_ms: int, *, stock: bool = False) -> str:
        """A line of an append that ended so long after the stalled one began."""
        time = log_time(ENTRY_MS + after_ms, zone_hours=8 if stock else 0, millis=not stock)
        thread = "SendMessageThread_1 -" if stock else "[SendMessageThread_1] RocketmqStore -"
        return f"{time} WARN {thread} [NOTIFYME]putMessage in lock cost time(ms)={in_lock_ms}, bodyLength=128 Append"

    trials = [
        stall("stall"),
        stall("waited", arm="fix-wait", live_conf={"waitTimeMillsInSendQueue": "150"}),
        stall("quiet", arm="baseline", stall_ms=0, refused=0),
        _refused_elsewhere(stall("outside")),
        _other_keywords(stall("keywords", refused=0)),
        stall("logged", stall_ms=702, deployment="d-lab"),
        stall("stock", stall_ms=702, deployment="d-stock"),
        stall("not-in-log", stall_ms=702, deployment="d-other"),
        _unknown(stall("unknown", refused=0)),
    ]
    logs = {
        "d-lab/broker-a/logs/store.log": [
            slow(-2_000, 702),
            slow(702, 702),
            slow(703, 640),
        ],
        "d-stock/broker-a/logs/rocketmqlogs/store.log": [
            started(zone_hours=8, millis=False),
            slow(702, 703, stock=True),
        ],
        "d-other/broker-a/logs/store.log": [started(), slow(702, 600), slow(5_000, 702)],
        "d-other/broker-b/logs/store.log": [slow(702, 702)],
        "d-other/broker-a/logs/elsewhere.log": [slow(702, 710)],
    }
    run = new_run(trials=trials, logs=logs)
    run.deployment("d-stock", incident="stall", zone="GMT+8")
    return analysed(run, measures=MEASURES)


def _sends(trial: Trial, due_from_ns: int, count: int) -> list[Record]:
    due = [r for r in trial.history["producer"] if r["type"] == "send" and r["intended_ns"] >= due_from_ns]
    return due[:count]


def _fail(record: Record, remark: str, after_ms: float) -> None:
    record |= {
        "outcome": "failed",
        "code": 2,
        "error": "MQBrokerException",
        "remark": remark,
        "offset": None,
        "finished_ns": record["intended_ns"] + round(after_ms * MS),
    }


def _refused_elsewhere(trial: Trial) -> Trial:
    """Two refusals that have nothing to do with the stall: over a second before it, over two after it."""
    for record in (*_sends(trial, ENTRY - 1_100 * MS, 1), *_sends(trial, ENTRY + 2_460 * MS, 1)):
        _fail(record, "[REJECTREQUEST]system busy, start flow control for a while", 1)
    return trial


def _other_keywords(trial: Trial) -> Trial:
    remarks = [
        "[REJECTREQUEST]system busy, start flow control for a while",
        "[OVERLOAD]system busy, start flow control for a while",
        "too many requests and system thread pool busy",
        "[PC_SYNCHRONIZED]broker busy",
        "[PCBUSY_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 1003ms, size of queue: 7",
        "service not available now, maybe disk full",
    ]
    for record, remark in zip(_sends(trial, ENTRY, len(remarks)), remarks, strict=True):
        _fail(record, remark, 1_000)
    return trial


def _unknown(trial: Trial) -> Trial:
    for record in _sends(trial, ENTRY, 3):
        record |= {"outcome": "unknown", "error": "RemotingTimeoutException"}
    return trial


def _counts(run: Analysis, trial: str) -> dict[str, float]:
    return {json.loads(seen.params)["keyword"]: seen.value for seen in run.found("rejected_count", trial)}


def test_refusals_are_counted_by_keyword_and_zero_is_a_count(run: Analysis) -> None:
    others = ("REJECTREQUEST", "OVERLOAD", "PC_SYNCHRONIZED", "PCBUSY_CLEAN_QUEUE", "page-cache", "first-four")
    zero = dict.fromkeys(others, 0)
    assert _counts(run, "stall") == {**zero, "TIMEOUT_CLEAN_QUEUE": 30, "any": 30}
    assert _counts(run, "quiet") == {**zero, "TIMEOUT_CLEAN_QUEUE": 0, "any": 0}


def test_each_of_the_five_keywords_is_told_from_the_others_and_from_other_errors(run: Analysis) -> None:
    assert _counts(run, "keywords") == {
        "REJECTREQUEST": 1,
        "OVERLOAD": 2,
        "PC_SYNCHRONIZED": 1,
        "PCBUSY_CLEAN_QUEUE": 1,
        "TIMEOUT_CLEAN_QUEUE": 0,
        "page-cache": 3,
        "first-four": 5,
        "any": 5,
    }


def test_only_sends_that_were_due_around_the_stall_count(run: Analysis) -> None:
    assert _counts(run, "outside") == _counts(run, "stall")


def test_the_period_in_queue_is_each_refusals_own_and_its_excess_is_over_the_limit_that_was_set(run: Analysis) -> None:
    assert run.values("period_in_queue_ms", "stall", keyword="TIMEOUT_CLEAN_QUEUE") == [205.0 + i for i in range(30)]
    assert run.values("period_over_limit_ms", "stall")[0] == 5
    assert run.values("first_period_over_limit_ms", "stall") == [5]
    assert run.values("first_period_over_limit_ms", "waited") == [55]
    assert run.values("period_in_queue_ms", "keywords") == [1003]
    assert run.values("first_period_over_limit_ms", "keywords") == []


def test_the_time_from_the_stalls_begin_to_a_refusal_is_measured_at_its_answer(run: Analysis) -> None:
    (seen,) = run.found("first_rejected_after_ms", "stall", keyword="any")
    assert seen.value == pytest.approx(205)
    assert run.record(seen)["seq"] == 350
    assert run.values("first_rejected_after_ms", "quiet") == []


def test_the_crowd_is_the_most_answers_within_one_second(run: Analysis) -> None:
    # Answers come every 11 ms, so all thirty lie within 320 ms.
    assert run.values("rejected_within_1s_max", "stall") == [30]
    assert run.values("rejected_within_1s_max", "quiet") == [0]


def test_the_queues_depth_includes_the_refused_request_itself(run: Analysis) -> None:
    assert run.values("queue_depth", "stall", keyword="any") == [30]
    assert run.values("queue_depth", "keywords", keyword="page-cache") == [8]


def test_an_append_is_measured_by_its_stamps(run: Analysis) -> None:
    assert run.values("append_in_lock_ms", "stall") == [450]
    assert run.values("append_in_lock_ms", "quiet") == []


def test_a_logged_append_belongs_to_the_stall_of_its_node_time_and_length(run: Analysis) -> None:
    assert run.values("store_log_line", "logged", file="store.log") == [1]
    (seen,) = run.found("store_log_line", "logged")
    assert (seen.file, seen.line) == ("deployments/d-lab/nodes/broker-a/logs/store.log", 2)
    assert run.values("store_log_line", "stock", file="store.log") == [1]


def test_an_append_that_is_not_in_the_log_is_a_zero_and_another_file_is_named(run: Analysis) -> None:
    assert run.values("store_log_line", "not-in-log", file="store.log") == [0]
    assert run.values("store_log_line", "not-in-log", file="elsewhere.log") == [1]


def test_a_store_log_that_is_not_there_does_not_lack_the_line(run: Analysis) -> None:
    assert run.values("store_log_line", "stall", file="store.log") == []
    assert run.values("append_in_lock_ms", "stall") == [450]


def test_latency_counts_from_the_intended_start_over_accepted_sends(run: Analysis) -> None:
    assert run.values("latency_p50_ms", "quiet") == pytest.approx([1.0])
    # The first accepted send that was due in the stall waited for the rest of it.
    assert run.values("latency_max_ms", "stall") == pytest.approx([450 - 300 + 1])
    assert run.values("failed_count", "stall") == [30]
    assert run.values("unknown_count", "unknown") == [3]
    assert run.values("failed_count", "unknown") == [0]
    assert run.values("throughput_per_s", "quiet") == pytest.approx([100], rel=0.01)


def test_the_series_of_a_stall_has_its_window_and_bins_of_100_ms(run: Analysis) -> None:
    series = [item for item in run.report["series"] if item["trial"] == "stall"]
    assert len(series) == 1
    assert series[0]["bin_ms"] == 100
    assert series[0]["fault_s"] == [0.5, 0.95]
    assert sum(series[0]["sent"]) == 800
    assert sum(series[0]["failed"]) == 30
    # What was due as the stall began was refused 205 ms later: nothing of it is seen before.
    at_s = series[0]["t_s"]
    assert next(t for t, count in zip(at_s, series[0]["failed"], strict=True) if count) == 0.7
    assert next(t for t, ms in zip(at_s, series[0]["delay_max_ms"], strict=True) if ms and ms > 100) == 0.7
    assert at_s[0] == -3.0
    (quiet,) = [item for item in run.report["series"] if item["trial"] == "quiet"]
    assert quiet["fault_s"] is None


def test_the_verdict_is_made_of_the_trials_that_count(run: Analysis) -> None:
    found = run.finding("STALL-01")
    assert (found.verdict, found.trials) == ("confirmed", 7)
    assert found.parts[0].values == (0, 5, 30, 30, 30, 30, 30)


def test_lines_of_slow_appends_are_counted_from_the_fault_to_the_trials_end_where_the_log_was_kept(
    run: Analysis,
) -> None:
    assert run.values("slow_append_lines", "logged") == [2]
    (seen,) = run.found("slow_append_lines", "logged")
    assert (seen.file, seen.line) == ("deployments/d-lab/nodes/broker-a/logs/store.log", 2)
    assert run.values("slow_append_lines", "stock") == [1]
    assert run.values("slow_append_lines", "not-in-log") == [2]
    assert run.values("slow_append_lines", "stall") == []
