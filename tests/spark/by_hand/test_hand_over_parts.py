"""The parts of a hand-over's delay, owners that stand still, and queues that nobody reads: one planted fact a trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from scenarios import (
    broker_leaves_keys_move,
    ordered_lock_handover,
    ordered_lock_ratio,
    queue_number_mismatch,
)
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import OWNER, PRODUCER, SUCCESSOR, Trial, log_time

NETWORK_THREAD = "NettyClientSelector_1"
WAITING = (
    "{time} WARN tryLockBatch, message queue locked by other client. Group: {group} OtherClientId: {owner} "
    "NewClientId: {successor} MessageQueue [topic={topic}, brokerName=broker-a, queueId=0]"
)
FIRST = (
    "{time} INFO tryLockBatch, message queue not locked, I got it. Group: {group} NewClientId: {owner} "
    "MessageQueue [topic={topic}, brokerName=broker-a, queueId=0]"
)
PARTS = ("lock", "asking", "request", "marking", "pull", "delivery")
MEASURES = (
    "assigned_queues_count",
    "broker_of_index_20",
    "diagnosed_right",
    "empty_read_queues_count",
    "first_lock_by_timer",
    "first_lock_lines",
    "first_lock_request_s",
    "handover_gap_s",
    "handover_part_s",
    "illegal_queue_count",
    "key_in_computed_queue",
    "key_out_of_order_count",
    "lock_timer_first_round_s",
    "member_share",
    "parked_share",
    "queue_folders_count",
    "queue_of_index_20",
    "queues_of_key_count",
    "sent_queues_count",
    "stranded_count",
    "taken_while_paused",
    "takeover_lines",
    "unlocked_share",
    "unsent_share",
    "wait_logged_share",
)


def stamped(trial: Trial, *, locked_ms: float = 56_004, pulled_ms: float | None = 56_006) -> Trial:
    """The stamps of a take-over: granted at 56,000 ms, answered 2 ms later, the first consumption at 56,010 ms."""
    trial.flag(SUCCESSOR, "assigned", at_ms=-20_000)
    trial.flag(SUCCESSOR, "assigned", at_ms=56_003)
    trial.flag(SUCCESSOR, "locked", at_ms=-20_000)
    trial.flag(SUCCESSOR, "locked", at_ms=locked_ms)
    trial.pull(SUCCESSOR, at_ms=-20_000)
    if pulled_ms is not None:
        trial.pull(SUCCESSOR, at_ms=pulled_ms)
    return trial


def marked_late(trial: Trial) -> None:
    """The client marks the queue 14 s after the grant and pulls 3 s after that, as 4.6.0 does."""
    for offset in range(5, 12):
        trial.without(SUCCESSOR, "consume", offset=offset)
        trial.consume(offset, at_ms=73_010 + 10 * offset, process=SUCCESSOR, due_ms=-500 + 100 * offset)
    stamped(trial, locked_ms=70_002, pulled_ms=73_002)


def paused(run: Run, name: str, *, taken_ms: float | None = None, granted_ms: float | None = None) -> Trial:
    """An owner that stands still for 9 s from its last consumption on; a member that may get its queue meanwhile."""
    attributes: dict[str, Any] = {
        "fault": "pause-owners",
        "asked_ms": 9_000.0,
        "achieved_ms": 9_000.0,
        "hold_ms": 9_000.0,
    }
    trial = run.trial(
        name,
        "ordered-lock-ratio",
        "fix-three-times",
        params={"ratio": 3, "pause_s": 9.0, "lock_interval_ms": 5000},
        groups=[f"{name}-g0"],
        **attributes,
    )
    for offset in range(3):
        trial.consume(offset, at_ms=-300 + 100 * offset)
    if taken_ms is not None:
        trial.consume(3, at_ms=taken_ms, process=SUCCESSOR)
    trial.lock(SUCCESSOR, at_ms=2_000, granted=False)
    trial.lock(SUCCESSOR, at_ms=3_000, granted=True, topic=f"%RETRY%{trial.group}")
    if granted_ms is not None:
        trial.lock(SUCCESSOR, at_ms=granted_ms, granted=True)
    trial.consume(4, at_ms=9_100)
    return trial


def renewing(run: Run, name: str, *, rounds_ms: Sequence[float], rebalanced_ms: float | None = None) -> Trial:
    """A member whose lock timer asks at these times after its start, two requests a round, and perhaps its rebalance."""
    trial = run.trial(name, "ordered-lock-handover", "baseline", groups=[f"{name}-g0"])
    trial.instance(OWNER, event="starting", at_ms=0)
    trial.instance(OWNER, event="started", at_ms=900)
    if rebalanced_ms is not None:
        trial.lock(OWNER, at_ms=rebalanced_ms, granted=True)
    for round_ms in rounds_ms:
        for later_ms in (0, 8):
            trial.lock(OWNER, at_ms=round_ms + later_ms, granted=True, queues=(0, 1), thread=NETWORK_THREAD)
    return trial


def shrunk(run: Run, name: str, *, committed: int, committed_at_end: int = 10, consumed: int = 0) -> Trial:
    """8 write and 4 read queues: ten messages in queue 0, which is read, and ten in queue 5, which is not.

    At the end all eight are read again. ``consumed`` messages of queue 5 came to a member while it still had the queue.
    """
    trial = run.trial(
        name,
        "queue-number-mismatch",
        "incident-shrink-read-first",
        params={"brokers": 1},
        fault="resize-topic",
        groups=[f"{name}-g0"],
    )
    trial.topic_shape(write_queues=8, read_queues=4, folders=8)
    trial.topic_shape(write_queues=8, read_queues=8, folders=8, moment="end")
    for queue in range(4):
        for member, kept in (("first", queue < 2), ("second", queue >= 2)):
            trial.flag("members", "assigned", at_ms=-5_000, queue=queue, member=member)
            if not kept:
                trial.flag("members", "dropped", at_ms=-4_000, queue=queue, member=member)
    for queue in (0, 5):
        for offset in range(10):
            trial.send(10 * queue + offset, due_ms=36_000 + 100 * offset, queue=queue, offset=offset)
        told: dict[str, Any] = {"group": trial.group, "queue": queue}
        trial.store_max(10, **told, consumer_offset=4 if queue == 0 else committed, moment="held")
        trial.store_max(10, **told, consumer_offset=4 if queue == 0 else committed_at_end, moment="end")
    for offset in range(4):
        trial.consume(offset, at_ms=36_000 + 100 * offset, process="first")
    for offset in range(consumed):
        trial.consume(offset, at_ms=36_010 + 100 * offset, process="first", queue=5)
    return trial


def counted(trial: Trial, *, still_ms: tuple[float, float] | None = None) -> Trial:
    """Both processes count their threads every second; the owner's stands still between two moments."""
    for process in (OWNER, SUCCESSOR):
        for at_ms in range(-3_000, 30_000, 1_000):
            if process == OWNER and still_ms and still_ms[0] < at_ms < still_ms[1]:
                continue
            if process == OWNER and trial.fault == "kill-owners" and at_ms > 0:
                continue
            trial.threads(process, at_ms=at_ms, parked=3 if process == SUCCESSOR else 4, busy=1)
    return trial


def stalled(run: Run, name: str) -> Trial:
    """The owner's process stands still for 12 s, and its queue with it; nobody else asks for the lock."""
    attributes: dict[str, Any] = {
        "fault": "pause-owners",
        "asked_ms": 12_000.0,
        "achieved_ms": 12_000.0,
        "hold_ms": 12_000.0,
    }
    trial = run.trial(
        name,
        "ordered-lock-handover",
        "incident-stalled-owner",
        params={"pause_s": 12.0},
        groups=[f"{name}-g0"],
        **attributes,
    )
    for offset, at_ms in enumerate((-300, -200, -100, 12_100, 12_200)):
        trial.consume(offset, at_ms=at_ms)
    return counted(trial, still_ms=(0, 12_000))


def busy(trial: Trial) -> Trial:
    """The owner's last listener works for ten seconds when the shutdown comes."""
    trial.without(OWNER, "consume", offset=4)
    trial.consume(4, at_ms=-95, took_ms=10_000.0, due_ms=-100)
    return trial


def long_at_work(run: Run) -> Trial:
    """The owner's only listener began 8 s before the shutdown, and works until 2 s after it."""
    trial = run.ordered("long_at_work", arm="incident-slow-shutdown", fault="shut-down-owners")
    for offset in range(5):
        trial.without(OWNER, "consume", offset=offset)
    trial.consume(4, at_ms=-8_000, took_ms=10_000.0, due_ms=-8_000)
    return trial


def keyed(run: Run, name: str) -> Trial:
    """k12 has index 20 and lies there, the third broker's fifth queue; k13 lies one further on, and moves after the fault."""
    trial = run.trial(name, "broker-leaves-keys-move", "incident", fault="broker-away", groups=[f"{name}-hash"])
    for seq, (key, broker, queue, due_ms) in enumerate(
        (
            ("k12", "broker-c", 4, -500),
            ("k13", "broker-c", 6, -400),
            ("k12", "broker-c", 4, 1_000),
            ("k13", "broker-a", 2, 1_100),
        )
    ):
        trial.send(seq, due_ms=due_ms, queue=queue, offset=seq)
        trial.history[PRODUCER][-1].update(key=key, broker=broker, topic=f"{trial.topic}-hash")
    # The later message of k13 is consumed before the earlier one, which lies in the queue that it left.
    for seq, at_ms in ((0, -490), (2, 1_010), (3, 1_110), (1, 1_200)):
        trial.consume(seq, at_ms=at_ms)
        trial.history[OWNER][-1].update(key="k12" if seq % 2 == 0 else "k13", topic=f"{trial.topic}-hash")
    return trial


def plant(run: Run) -> Asked:
    clean = counted(stamped(run.ordered("clean")))
    names = {
        "group": clean.group,
        "topic": clean.topic,
        "owner": clean.client_id(OWNER),
        "successor": clean.client_id(SUCCESSOR),
    }
    run.log(
        clean.deployment,
        "lock.log",
        FIRST.format(time=log_time(-29_000), **names),
        *(WAITING.format(time=log_time(at_ms), **names) for at_ms in (-1_000, 16_000, 36_000, 57_000)),
    )
    stalled(run, "stalled")
    busy(run.ordered("busy", arm="incident-slow-shutdown", fault="shut-down-owners"))
    busy(run.ordered("busy_and_locked"))
    long_at_work(run)
    keyed(run, "keyed")
    run.log(stamped(run.ordered("no_pull"), pulled_ms=None).deployment, "lock.log")
    marked_late(run.ordered("marked_late"))
    stamped(run.ordered("shut_down", arm="fix-graceful-shutdown")).unlock(OWNER, at_ms=40)
    run.ordered("baseline", arm="baseline")
    # The lock of 60 s has been gone for ten when it is renewed 24 s before the fault; one of a retry topic is no renewal.
    lapsing = run.ordered("lapsing")
    lapsing.lock(OWNER, at_ms=-94_000, granted=True)
    lapsing.lock(OWNER, at_ms=-50_000, granted=True, topic=f"%RETRY%{lapsing.group}")
    # Queue 1 was the owner's until another member joined, long before the fault.
    lapsing.lock(OWNER, at_ms=-94_000, granted=True, queues=(1,))
    renewing(run, "timer_first", rounds_ms=(1_020, 21_020, 41_020))
    renewing(run, "rebalance_first", rebalanced_ms=2_230, rounds_ms=(21_020, 41_030))
    renewing(run, "one_round", rebalanced_ms=300, rounds_ms=(1_020,))
    paused(run, "kept")
    paused(run, "granted", granted_ms=8_900)
    paused(run, "granted_afterwards", granted_ms=9_020)
    paused(run, "taken", taken_ms=6_000)
    paused(run, "taken_afterwards", taken_ms=9_050)
    stranded = shrunk(run, "stranded", committed=0)
    for seq, due_ms, remark in (
        (100, -100, "request queueId[5] is illegal, TopicConfig [topicName=T]"),
        (101, 200, "request queueId[5] is illegal, TopicConfig [topicName=T]"),
        (102, 300, "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while"),
    ):
        stranded.send(seq, due_ms=due_ms, outcome="failed", remark=remark)
    shrunk(run, "nothing_stranded", committed=10)
    shrunk(run, "never_drained", committed=0, committed_at_end=3)
    shrunk(run, "dropped_uncommitted", committed=0, committed_at_end=0, consumed=9)
    return Asked(
        scenarios=(
            ordered_lock_handover.SCENARIO,
            ordered_lock_ratio.SCENARIO,
            queue_number_mismatch.SCENARIO,
            broker_leaves_keys_move.SCENARIO,
        ),
        measures=MEASURES,
    )


def parts(seen: Analysis, trial: str) -> list[float]:
    return [seen.one("handover_part_s", trial, part=part) for part in PARTS]


def test_each_part_lies_between_its_own_two_stamps_and_they_add_up(seen: Analysis) -> None:
    assert parts(seen, "clean") == pytest.approx([56.002, -0.002, 0.002, 0.001, 0.002, 0.004])
    assert seen.one("handover_gap_s", "clean") == pytest.approx(0.001, abs=1e-6)


def test_a_missing_stamp_leaves_the_whole_delay_unexplained(seen: Analysis) -> None:
    assert seen.values("handover_part_s", "no_pull", part="pull") == []
    assert seen.one("handover_gap_s", "no_pull") == pytest.approx(56.01)


def test_a_queue_that_is_marked_late_shows_in_its_own_part(seen: Analysis) -> None:
    assert seen.one("handover_part_s", "marked_late", part="marking") == pytest.approx(13.999)
    assert seen.one("handover_part_s", "marked_late", part="pull") == pytest.approx(3.0)
    assert seen.one("handover_gap_s", "marked_late") == pytest.approx(0.001, abs=1e-6)


def test_an_unlocking_ends_the_lock_before_its_life_is_over(seen: Analysis) -> None:
    assert seen.one("handover_part_s", "shut_down", part="lock") == pytest.approx(0.042)
    assert seen.one("handover_part_s", "shut_down", part="asking") == pytest.approx(55.958)


def test_without_a_hand_over_there_are_no_parts(seen: Analysis) -> None:
    assert seen.found("handover_part_s", "baseline") == []
    assert seen.found("handover_gap_s", "baseline") == []


def test_a_queue_is_lost_in_a_pause_only_before_its_end(seen: Analysis) -> None:
    assert seen.one("taken_while_paused", "kept") == 0
    assert seen.one("taken_while_paused", "taken") == 1
    assert seen.one("taken_while_paused", "taken_afterwards") == 0
    assert seen.one("taken_while_paused", "granted_afterwards") == 0
    assert seen.shown_record("taken_while_paused", "taken")["process"] == SUCCESSOR


def test_a_queue_is_lost_when_its_lock_is_granted_although_nobody_consumes_it_yet(seen: Analysis) -> None:
    assert seen.one("taken_while_paused", "granted") == 1
    assert seen.shown_record("taken_while_paused", "granted")["type"] == "rpc"


def test_stranded_messages_lie_where_nobody_reads_and_a_backlog_is_none(seen: Analysis) -> None:
    assert seen.one("stranded_count", "stranded", moment="held") == 10
    assert seen.one("stranded_count", "stranded", moment="end") == 0
    assert seen.one("stranded_count", "nothing_stranded", moment="held") == 0


def test_a_send_is_refused_for_its_queue_after_the_fault_and_not_by_a_busy_broker(seen: Analysis) -> None:
    assert seen.one("illegal_queue_count", "stranded") == 1
    assert seen.one("illegal_queue_count", "nothing_stranded") == 0


def test_what_is_left_in_such_queues_when_all_are_read_again_is_stranded_still(seen: Analysis) -> None:
    assert seen.one("stranded_count", "never_drained", moment="end") == 7


def test_what_a_member_consumed_before_it_lost_the_queue_is_not_stranded(seen: Analysis) -> None:
    assert seen.one("stranded_count", "dropped_uncommitted", moment="held") == 1
    assert seen.one("stranded_count", "dropped_uncommitted", moment="end") == 1


def test_queues_are_counted_where_messages_go_and_where_members_read(seen: Analysis) -> None:
    assert seen.one("sent_queues_count", "stranded") == 2
    assert seen.one("assigned_queues_count", "stranded") == 4
    assert seen.one("queue_folders_count", "stranded") == 8
    assert seen.one("empty_read_queues_count", "stranded") == 0
    assert seen.one("member_share", "stranded", member="first") == 1.0


def test_only_lines_within_the_wait_make_its_span(seen: Analysis) -> None:
    assert seen.one("wait_logged_share", "clean") == pytest.approx(20_000 / 56_010, rel=1e-4)
    assert seen.one("wait_logged_share", "no_pull") == 0
    assert seen.one("first_lock_lines", "clean") == 1
    assert seen.one("takeover_lines", "clean") == 0


def test_threads_are_counted_in_the_successors_while_they_wait(seen: Analysis) -> None:
    assert set(seen.values("parked_share", "clean")) == {0.75}
    assert len(seen.values("parked_share", "clean")) == 30


def test_what_stops_a_queue_is_told_from_what_is_to_be_seen(seen: Analysis) -> None:
    told = {"clean": "lock", "stalled": "process", "busy": "listener", "long_at_work": "listener"}
    for trial, cause in told.items():
        assert seen.values("diagnosed_right", trial, told=cause) == [1.0], trial


def test_a_cause_that_was_not_the_arms_own_is_told_wrong(seen: Analysis) -> None:
    assert seen.values("diagnosed_right", "busy_and_locked", told="listener") == [0.0]


def test_a_key_lies_where_its_hash_says_and_a_moved_key_is_out_of_order(seen: Analysis) -> None:
    assert seen.values("key_in_computed_queue", "keyed") == [0.0, 1.0]
    assert seen.one("queue_of_index_20", "keyed") == 4
    assert seen.one("broker_of_index_20", "keyed") == 2
    assert seen.values("queues_of_key_count", "keyed") == [1.0, 2.0]
    assert seen.values("key_out_of_order_count", "keyed") == [0.0, 1.0]
    assert seen.values("unsent_share", "keyed") == [0.0, 0.0]


def test_the_timer_is_told_from_the_rebalance_by_the_queues_of_a_request(seen: Analysis) -> None:
    assert seen.one("first_lock_by_timer", "timer_first") == 1
    assert seen.one("first_lock_by_timer", "rebalance_first") == 0
    assert seen.one("first_lock_request_s", "rebalance_first") == pytest.approx(2.23)


def test_a_first_round_that_nobody_saw_is_told_by_the_later_ones(seen: Analysis) -> None:
    assert seen.one("lock_timer_first_round_s", "timer_first") == pytest.approx(1.02, abs=0.01)
    assert seen.one("lock_timer_first_round_s", "rebalance_first") == pytest.approx(1.02, abs=0.02)


def test_one_round_alone_has_no_period(seen: Analysis) -> None:
    assert seen.values("lock_timer_first_round_s", "one_round") == []


def test_a_lock_that_is_renewed_too_late_leaves_its_queue_to_whoever_asks(seen: Analysis) -> None:
    assert seen.one("unlocked_share", "lapsing") == pytest.approx(10 / 94, rel=1e-3)
    assert seen.one("unlocked_share", "clean") == 0
    assert seen.found("unlocked_share", "baseline") == []
