"""Refusals, appends and latency of open-loop sends around a stalled append."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark

S, MS = 1_000_000_000, 1_000_000
ENTRY = 5_000 * S + 3_500 * MS


@pytest.fixture(scope="module")
def run(made, analysed, tmp_path_factory):
    def slow(at_ns: int, in_lock_ms: int, *, stock: bool = False) -> str:
        time = made.log_time(at_ns, zone_hours=8 if stock else 0, millis=not stock)
        thread = "SendMessageThread_1 -" if stock else "[SendMessageThread_1] RocketmqStore -"
        return f"{time} WARN {thread} [NOTIFYME]putMessage in lock cost time(ms)={in_lock_ms}, bodyLength=128 Append"

    trials = [
        made.stall("stall"),
        made.stall("waited", arm="fix-wait", live_conf={"waitTimeMillsInSendQueue": "150"}),
        made.stall("quiet", arm="baseline", stall_ms=0, refused=0),
        _refused_elsewhere(made.stall("outside")),
        _other_keywords(made.stall("keywords", refused=0)),
        made.stall("logged", stall_ms=702, deployment="d-lab"),
        made.stall("stock", stall_ms=702, deployment="d-stock"),
        made.stall("not-in-log", stall_ms=702, deployment="d-other"),
        _unknown(made.stall("unknown", refused=0)),
    ]
    logs = {
        "d-lab/broker-a/logs/store.log": [
            slow(ENTRY - 2 * S, 702),
            slow(ENTRY + 702 * MS, 702),
            slow(ENTRY + 703 * MS, 640),
        ],
        "d-stock/broker-a/logs/rocketmqlogs/store.log": [slow(ENTRY + 702 * MS, 703, stock=True)],
        "d-other/broker-a/logs/store.log": [slow(ENTRY + 702 * MS, 600), slow(ENTRY + 5 * S, 702)],
        "d-other/broker-b/logs/store.log": [slow(ENTRY + 702 * MS, 702)],
        "d-other/broker-a/logs/elsewhere.log": [slow(ENTRY + 702 * MS, 710)],
    }
    return analysed(
        made.run(path=tmp_path_factory.mktemp("stalls"), trials=trials, logs=logs, zones={"d-stock": "GMT+8"})
    )


def _sends(trial, due_from_ns: int, count: int):
    due = [r for r in trial.histories["producer"] if r["type"] == "send" and r["intended_ns"] >= due_from_ns]
    return due[:count]


def _fail(record, remark: str, after_ms: float) -> None:
    record |= {
        "outcome": "failed",
        "code": 2,
        "error": "MQBrokerException",
        "remark": remark,
        "offset": None,
        "finished_ns": record["intended_ns"] + round(after_ms * MS),
    }


def _refused_elsewhere(trial):
    """Two refusals that have nothing to do with the stall: over a second before it, over two after it."""
    for record in (*_sends(trial, ENTRY - 1_100 * MS, 1), *_sends(trial, ENTRY + 2_460 * MS, 1)):
        _fail(record, "[REJECTREQUEST]system busy, start flow control for a while", 1)
    return trial


def _other_keywords(trial):
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


def _unknown(trial):
    for record in _sends(trial, ENTRY, 3):
        record |= {"outcome": "unknown", "error": "RemotingTimeoutException"}
    return trial


def _counts(run, trial: str) -> dict[str, float]:
    return {seen.params["keyword"]: seen.value for seen in run.seen(trial, "rejected_count")}


def test_refusals_are_counted_by_keyword_and_zero_is_a_count(run) -> None:
    zero = {"REJECTREQUEST": 0, "OVERLOAD": 0, "PC_SYNCHRONIZED": 0, "PCBUSY_CLEAN_QUEUE": 0, "page-cache": 0}
    assert _counts(run, "stall") == {**zero, "TIMEOUT_CLEAN_QUEUE": 30, "any": 30}
    assert _counts(run, "quiet") == {**zero, "TIMEOUT_CLEAN_QUEUE": 0, "any": 0}


def test_each_of_the_five_keywords_is_told_from_the_others_and_from_other_errors(run) -> None:
    assert _counts(run, "keywords") == {
        "REJECTREQUEST": 1,
        "OVERLOAD": 2,
        "PC_SYNCHRONIZED": 1,
        "PCBUSY_CLEAN_QUEUE": 1,
        "TIMEOUT_CLEAN_QUEUE": 0,
        "page-cache": 3,
        "any": 5,
    }


def test_only_sends_that_were_due_around_the_stall_count(run) -> None:
    assert _counts(run, "outside") == _counts(run, "stall")


def test_the_period_in_queue_is_each_refusals_own_and_its_excess_is_over_the_limit_that_was_set(run) -> None:
    assert run.values("stall", "period_in_queue_ms", keyword="TIMEOUT_CLEAN_QUEUE") == [205.0 + i for i in range(30)]
    assert run.values("stall", "period_over_limit_ms")[0] == 5
    assert run.values("stall", "first_period_over_limit_ms") == [5]
    assert run.values("waited", "first_period_over_limit_ms") == [55]
    assert run.values("keywords", "period_in_queue_ms") == [1003]
    assert run.values("keywords", "first_period_over_limit_ms") == []


def test_the_time_from_the_stalls_begin_to_a_refusal_is_measured_at_its_answer(run) -> None:
    (seen,) = run.seen("stall", "first_rejected_after_ms", keyword="any")
    assert seen.value == pytest.approx(205)
    assert run.record(seen)["seq"] == 350
    assert run.values("quiet", "first_rejected_after_ms") == []


def test_the_crowd_is_the_most_answers_within_one_second(run) -> None:
    # Answers come every 11 ms, so all thirty lie within 320 ms.
    assert run.values("stall", "rejected_within_1s_max") == [30]
    assert run.values("quiet", "rejected_within_1s_max") == [0]


def test_the_queues_depth_includes_the_refused_request_itself(run) -> None:
    assert run.values("stall", "queue_depth", keyword="any") == [30]
    assert run.values("keywords", "queue_depth", keyword="page-cache") == [8]


def test_an_append_is_measured_by_its_stamps(run) -> None:
    assert run.values("stall", "append_in_lock_ms") == [450]
    assert run.values("quiet", "append_in_lock_ms") == []


def test_a_logged_append_belongs_to_the_stall_of_its_node_time_and_length(run) -> None:
    assert run.values("logged", "store_log_line", file="store.log") == [1]
    (seen,) = run.seen("logged", "store_log_line")
    assert (seen.file, seen.line) == ("deployments/d-lab/nodes/broker-a/logs/store.log", 2)
    assert run.values("stock", "store_log_line", file="store.log") == [1]


def test_an_append_that_is_not_in_the_log_is_a_zero_and_another_file_is_named(run) -> None:
    assert run.values("not-in-log", "store_log_line", file="store.log") == [0]
    assert run.values("not-in-log", "store_log_line", file="elsewhere.log") == [1]
    assert run.values("stall", "store_log_line", file="store.log") == [0]


def test_latency_counts_from_the_intended_start_over_accepted_sends(run) -> None:
    assert run.values("quiet", "latency_p50_ms") == pytest.approx([1.0])
    # The first accepted send that was due in the stall waited for the rest of it.
    assert run.values("stall", "latency_max_ms") == pytest.approx([450 - 300 + 1])
    assert run.values("stall", "failed_count") == [30]
    assert run.values("unknown", "unknown_count") == [3]
    assert run.values("unknown", "failed_count") == [0]
    assert run.values("quiet", "throughput_per_s") == pytest.approx([100], rel=0.01)


def test_the_series_of_a_stall_has_its_window_and_bins_of_100_ms(run) -> None:
    series = [item for item in run.report["series"] if item["trial"] == "stall"]
    assert len(series) == 1
    assert series[0]["bin_ms"] == 100
    assert series[0]["fault_s"] == [0.5, 0.95]
    assert sum(series[0]["sent"]) == 800
    assert sum(series[0]["failed"]) == 30
    (quiet,) = [item for item in run.report["series"] if item["trial"] == "quiet"]
    assert quiet["fault_s"] is None


def test_the_verdict_is_made_of_the_trials_that_count(run) -> None:
    found = run.findings["STALL-01"]
    assert (found.verdict, found.trials) == ("confirmed", 7)
    assert found.parts[0].estimate == pytest.approx((30 + 30 + 5 + 30 * 3 + 0) / 7)


def test_lines_of_slow_appends_are_counted_from_the_fault_to_the_trials_end_where_the_log_was_kept(run) -> None:
    assert run.values("logged", "slow_append_lines") == [2]
    (seen,) = run.seen("logged", "slow_append_lines")
    assert (seen.file, seen.line) == ("deployments/d-lab/nodes/broker-a/logs/store.log", 2)
    assert run.values("stock", "slow_append_lines") == [1]
    assert run.values("not-in-log", "slow_append_lines") == [2]
    assert run.values("stall", "slow_append_lines") == []
