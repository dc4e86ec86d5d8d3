"""What clients do with a refusal, what the store holds of it, and other requests meanwhile: one planted fact a trial."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios import busy_broker_of_two, pool_loss, send_queue_full
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial, at

BUSY, WELL = "127.0.0.1:10911", "127.0.0.1:10921"
PAGE_CACHE = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"
TIMEOUT = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 204ms, size of queue: 3"
SYSTEM_BUSY = 2
LONE_SEQ = 1_000_000_000
MEASURES = (
    "acknowledged_late_count",
    "attempts",
    "failed_share",
    "lost_count",
    "lost_from_log_count",
    "lost_lone_count",
    "lost_of_stall_count",
    "lost_on_slave_count",
    "not_in_time_count",
    "ok_after_ms",
    "probe_median_ms",
    "probe_unanswered_count",
    "probe_worst_ms",
    "refused_count",
    "refused_ok_soon_share",
    "refused_for_good_count",
    "refused_stored_count",
    "refused_then_ok_share",
    "retried_elsewhere_share",
    "unanswered_absent_count",
)


def tried(trial: Trial, seq: int, address: str, *, at_ms: float, refused: str | None = None) -> None:
    """One attempt of a send, and its answer 1 ms later."""
    trial.record("producer", "attempt", seq=seq, address=address, at_ns=at(at_ms))
    code = SYSTEM_BUSY if refused else 0
    told = {"code": code, "remark": refused, "at_ns": at(at_ms + 1)}
    trial.record("producer", "answer", seq=seq, address=address, **told)


def of_two(run: Run, name: str, **attributes: Any) -> Trial:
    """A stalled append of the first of two masters, and eleven sends at their first attempt."""
    trial = run.stalled(name, stall_ms=1200, rate_hz=200, incident="busy-broker-of-two", **attributes)
    for seq in range(11):
        tried(trial, seq, WELL, at_ms=-1000 + 200 * seq)
    return trial


def stored(run: Run, name: str, *, first: int, last: int, lone: bool = False, on_slave: int | None = None) -> Trial:
    """Ten acknowledged messages from offset 0 on and two refused ones; the queue's end before and after them."""
    trial = run.trial(name, "pool-loss", "incident-killed-pool", params={"flush": "async"}, fault="kill-broker")
    trial.store_max(first, moment="before")
    for seq in range(10):
        trial.send(seq, due_ms=-500 + 20 * seq, offset=seq)
    for seq in (10, 11):
        trial.refused(seq, "PC_SYNCHRONIZED", due_ms=-100)
    if lone:
        trial.send(LONE_SEQ, due_ms=-10, offset=10)
    if on_slave is not None:
        trial.store_max(on_slave, moment="held")
    trial.store_max(last, moment="end")
    return trial


def powerless(run: Run, name: str, *, last: int, in_log: int | None) -> Trial:
    """Ten acknowledged messages; where the queue ends once the broker is back, and where by the log on its disk before that."""
    trial = stored(run, name, first=0, last=last)
    trial.event("log_end", topic=f"{trial.topic}-other", broker="broker-a", queue=0, max_offset=99)
    if in_log is not None:
        trial.event("log_end", topic=trial.topic, broker="broker-a", queue=0, max_offset=in_log)
    return trial


def one_way(run: Run, name: str, *, last: int, timed_out: bool = False) -> Trial:
    """Two acknowledged messages, and eight that were sent one-way; the queue's end before and after them."""
    trial = run.trial(name, "pool-loss", "baseline", params={"flush": "async"})
    trial.store_max(0, moment="before")
    for seq in range(2):
        trial.send(seq, due_ms=-500 + 20 * seq, offset=seq)
    for seq in range(2, 10):
        trial.send(seq, due_ms=-400 + 20 * seq, outcome="unknown")
    if timed_out:
        trial.send(10, due_ms=-100, outcome="unknown", status="FLUSH_DISK_TIMEOUT", offset=10)
    trial.store_max(last, moment="end")
    return trial


def probed(run: Run, name: str, *, unanswered: bool = False) -> Trial:
    """Pulls during the stall of 1 to 1,201 ms: 3 and 40 ms long, and one of 900 ms that had ended before it."""
    trial = run.stalled(name, stall_ms=1200, rate_hz=500, incident="send-queue-full")
    for started_ms, took_ms in ((-950, 900), (100, 3), (1_190, 40)):
        code = -1 if unanswered and started_ms == 100 else 0
        window = {"started_ns": at(started_ms), "finished_ns": at(started_ms + took_ms)}
        trial.event("request", kind="pull", code=code, **window)
    return trial


def stalls(run: Run, name: str, *, last: int = 12) -> Trial:
    """Two stalls of the first broker, 1 to 1,201 ms and 5,000 to 6,200 ms: what met them, and the queue's end."""
    trial = run.stalled(name, stall_ms=1200, rate_hz=200, incident="busy-broker-of-two")
    trial.append(entry_ms=5_000, exit_ms=6_200)
    trial.send(20, due_ms=5_010, took_ms=1_195, offset=11)
    trial.send(21, due_ms=5_020, took_ms=450, queue=1, offset=11)
    trial.refused(22, "PC_SYNCHRONIZED", due_ms=5_030, took_ms=601)
    trial.refused(23, "REJECTREQUEST", due_ms=6_190, took_ms=3)
    trial.refused(24, "REJECTREQUEST", due_ms=6_300, took_ms=3)
    trial.refused(25, "REJECTREQUEST", due_ms=-20, took_ms=3)
    trial.store_max(0, moment="begin")
    trial.store_max(last)
    trial.store_max(20, queue=1)
    return trial


def jammed(run: Run) -> Trial:
    """A jam of the pulls from 5 to 451 ms: a heartbeat of 3 ms within it and one of 900 ms after it."""
    cell: dict[str, Any] = {"stall_ms": 450, "rate_hz": 500}
    lengths: dict[str, Any] = {"asked_ms": 450.0, "achieved_ms": 450.2, "hold_ms": 450.0}
    trial = run.trial(
        "pulls_jammed", "send-queue-full", "incident-pull-jammed", params=cell, fault="pool-jam", **lengths
    )
    trial.send(1, due_ms=-500, offset=0)
    for kind, started_ms, took_ms in (("pull", 6, 446), ("heartbeat", 100, 3), ("heartbeat", 600, 900)):
        window = {"started_ns": at(started_ms), "finished_ns": at(started_ms + took_ms)}
        trial.event("request", kind=kind, code=0, **window)
    return trial


def plant(run: Run) -> Asked:
    of_two(run, "nothing_refused")

    elsewhere = of_two(run, "went_elsewhere")
    tried(elsewhere, 50, BUSY, at_ms=1_010, refused=PAGE_CACHE)
    tried(elsewhere, 50, WELL, at_ms=1_020)
    elsewhere.send(50, due_ms=1_005, took_ms=26, offset=50)

    gave_up = of_two(run, "gave_up")
    tried(gave_up, 50, BUSY, at_ms=1_010, refused=PAGE_CACHE)
    gave_up.refused(50, "PC_SYNCHRONIZED", due_ms=1_005, took_ms=6)

    same_again = of_two(run, "same_broker_again")
    tried(same_again, 50, BUSY, at_ms=210, refused=TIMEOUT)
    tried(same_again, 50, BUSY, at_ms=220)
    same_again.send(50, due_ms=5, took_ms=226, offset=50)

    before = of_two(run, "long_before_the_stall")
    tried(before, 50, BUSY, at_ms=-8_000, refused=PAGE_CACHE)
    before.refused(50, "PC_SYNCHRONIZED", due_ms=-8_001)

    stored(run, "all_stored", first=0, last=10)
    stored(run, "two_lost", first=0, last=8)
    stored(run, "one_refused_is_stored", first=0, last=11)
    stored(run, "lone_lost", first=0, last=10, lone=True)
    stored(run, "lone_kept", first=0, last=11, lone=True)
    stored(run, "slave_misses_three", first=0, last=9, on_slave=7)
    stored(run, "slave_has_all", first=0, last=10, on_slave=10)

    powerless(run, "in_the_log_and_in_no_queue", last=7, in_log=10)
    powerless(run, "in_neither", last=6, in_log=6)
    powerless(run, "a_log_without_the_queue", last=0, in_log=None)

    one_way(run, "one_way_all_stored", last=10)
    one_way(run, "one_way_five_absent", last=5)
    one_way(run, "one_way_and_one_unsure", last=5, timed_out=True)

    probed(run, "pulls")
    probed(run, "one_pull_unanswered", unanswered=True)
    jammed(run)
    stalls(run, "stalls")
    stalls(run, "a_stall_with_a_loss", last=11)
    return Asked(
        scenarios=(busy_broker_of_two.SCENARIO, pool_loss.SCENARIO, send_queue_full.SCENARIO), measures=MEASURES
    )


def test_without_a_refusal_there_is_a_count_and_nothing_else(seen: Analysis) -> None:
    for label in ("first-four", "any"):
        assert seen.one("refused_count", "nothing_refused", keyword=label) == 0
    assert seen.values("attempts", "nothing_refused") == []
    assert seen.values("retried_elsewhere_share", "nothing_refused") == []
    assert seen.one("failed_share", "nothing_refused") == 0


def test_a_second_attempt_on_another_broker_saves_the_send(seen: Analysis) -> None:
    trial = "went_elsewhere"
    assert seen.one("refused_count", trial, keyword="first-four") == 1
    assert seen.one("retried_elsewhere_share", trial, keyword="first-four") == 1
    assert seen.one("refused_then_ok_share", trial, keyword="any") == 1
    assert seen.one("attempts", trial, keyword="any") == 2
    assert seen.one("refused_ok_soon_share", trial, keyword="any") == 1
    # Refused at 1,011 ms by the answer, done at 1,031 ms.
    assert seen.one("ok_after_ms", trial, keyword="any") == pytest.approx(20)
    assert seen.shown_record("attempts", trial, keyword="any")["seq"] == 50


def test_a_send_that_is_not_repeated_fails(seen: Analysis) -> None:
    assert seen.one("retried_elsewhere_share", "gave_up", keyword="first-four") == 0
    assert seen.one("refused_then_ok_share", "gave_up", keyword="first-four") == 0
    assert seen.one("refused_ok_soon_share", "gave_up", keyword="any") == 0
    assert seen.values("ok_after_ms", "gave_up") == []
    # Of the sends around the stall: those due from -500 ms on, and the one.
    assert 0 < seen.one("failed_share", "gave_up") < 0.2


def test_the_same_broker_again_is_not_elsewhere_and_waiting_is_none_of_the_first_four(seen: Analysis) -> None:
    trial = "same_broker_again"
    assert seen.one("retried_elsewhere_share", trial, keyword="any") == 0
    assert seen.one("refused_then_ok_share", trial, keyword="any") == 1
    assert seen.one("refused_count", trial, keyword="first-four") == 0


def test_a_refusal_long_before_the_stall_is_not_its_doing(seen: Analysis) -> None:
    assert seen.one("refused_count", "long_before_the_stall", keyword="any") == 0


def test_what_was_acknowledged_and_lies_beyond_the_queues_end_is_lost(seen: Analysis) -> None:
    assert seen.one("lost_count", "all_stored") == 0
    assert seen.one("lost_count", "two_lost") == 2
    assert seen.shown_record("lost_count", "two_lost")["offset"] == 8
    assert seen.one("refused_for_good_count", "all_stored") == 2


def test_a_refused_send_counts_as_stored_by_what_the_queues_took(seen: Analysis) -> None:
    assert seen.one("refused_stored_count", "all_stored") == 0
    assert seen.one("refused_stored_count", "one_refused_is_stored") == 1
    # A store that lost its tail says nothing about refused sends.
    assert seen.values("refused_stored_count", "two_lost") == []


def test_what_the_log_lacks_is_counted_apart_from_what_queues_lack(seen: Analysis) -> None:
    counts = [
        (seen.one("lost_count", trial), seen.one("lost_from_log_count", trial))
        for trial in ("in_the_log_and_in_no_queue", "in_neither", "a_log_without_the_queue")
    ]
    assert counts == [(3, 0), (4, 4), (10, 10)]
    assert seen.values("lost_from_log_count", "two_lost") == []


def test_a_one_way_send_is_absent_by_what_the_queues_took(seen: Analysis) -> None:
    assert seen.one("unanswered_absent_count", "one_way_all_stored") == 0
    assert seen.one("unanswered_absent_count", "one_way_five_absent") == 5
    assert seen.one("unanswered_absent_count", "all_stored") == 0
    # One that may be stored or not may be among what the queues took; a store that lost its tail says nothing.
    assert seen.values("unanswered_absent_count", "one_way_and_one_unsure") == []
    assert seen.values("unanswered_absent_count", "two_lost") == []
    # Nobody says of a refused one whether the store has it while others have no answer.
    assert seen.values("refused_stored_count", "one_way_all_stored") == []


def test_the_lone_message_is_counted_apart(seen: Analysis) -> None:
    assert seen.values("lost_lone_count", "all_stored") == []
    assert (seen.one("lost_count", "lone_lost"), seen.one("lost_lone_count", "lone_lost")) == (0, 1)
    assert (seen.one("lost_count", "lone_kept"), seen.one("lost_lone_count", "lone_kept")) == (0, 0)


def test_what_a_slave_does_not_have_is_counted_apart_from_what_its_master_lost(seen: Analysis) -> None:
    assert (seen.one("lost_count", "slave_misses_three"), seen.one("lost_on_slave_count", "slave_misses_three")) == (
        1,
        3,
    )
    assert (seen.one("lost_count", "slave_has_all"), seen.one("lost_on_slave_count", "slave_has_all")) == (0, 0)
    assert seen.values("lost_on_slave_count", "all_stored") == []


def test_what_has_no_acknowledgement_in_time_is_refused_or_late_from_the_first_stall_to_the_last(
    seen: Analysis,
) -> None:
    # Due within: three that were late or refused; not the one that took 450 ms, nor those before and after.
    assert seen.one("not_in_time_count", "stalls") == 3
    assert seen.one("acknowledged_late_count", "stalls") == 1
    assert seen.shown_record("acknowledged_late_count", "stalls")["seq"] == 20
    assert seen.one("not_in_time_count", "went_elsewhere") == 0
    assert seen.one("not_in_time_count", "gave_up") == 1
    assert seen.values("not_in_time_count", "all_stored") == []


def test_what_is_lost_is_told_of_each_stall(seen: Analysis) -> None:
    assert seen.values("lost_of_stall_count", "stalls") == [0, 0]
    assert sorted(seen.values("lost_of_stall_count", "a_stall_with_a_loss")) == [0, 1]
    assert {row.unit for row in seen.found("lost_of_stall_count", "stalls")} == {
        f"{row.deployment}/stalls/{row.line}" for row in seen.found("lost_of_stall_count", "stalls")
    }
    # No queue's end was read.
    assert seen.values("lost_of_stall_count", "went_elsewhere") == []


def test_only_requests_under_way_during_the_stall_count(seen: Analysis) -> None:
    assert seen.one("probe_worst_ms", "pulls", kind="pull") == pytest.approx(40)
    assert seen.one("probe_median_ms", "pulls", kind="pull") == pytest.approx(21.5)
    assert seen.one("probe_unanswered_count", "pulls", kind="pull") == 0
    assert seen.one("probe_unanswered_count", "one_pull_unanswered", kind="pull") == 1


def test_requests_count_that_were_under_way_while_another_pool_was_jammed(seen: Analysis) -> None:
    assert seen.one("probe_worst_ms", "pulls_jammed", kind="pull") == pytest.approx(446)
    assert seen.one("probe_worst_ms", "pulls_jammed", kind="heartbeat") == pytest.approx(3)
