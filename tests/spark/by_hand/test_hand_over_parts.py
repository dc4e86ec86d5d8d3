"""The parts of a hand-over's delay, owners that stand still, and queues that nobody reads: one planted fact a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scenarios import ordered_lock_handover, ordered_lock_ratio, queue_number_mismatch

if TYPE_CHECKING:
    from tests.spark.by_hand.conftest import Analysis, Run, Trial

OWNER, SUCCESSOR, PRODUCER = "owner", "successor", "producer"
PARTS = ("lock", "asking", "request", "marking", "pull", "delivery")


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


def paused(run: Run, name: str, *, taken_ms: float | None) -> Trial:
    """An owner that stands still for 9 s from its last consumption on; a member that may consume meanwhile."""
    attributes = {"fault": "pause-owners", "asked_ms": 9_000.0, "achieved_ms": 9_000.0, "hold_ms": 9_000.0}
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
    trial.consume(4, at_ms=9_100)
    return trial


def shrunk(run: Run, name: str, *, committed: int) -> Trial:
    """8 write and 4 read queues: ten messages in queue 0, which is read, and ten in queue 5, which is not."""
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
        told = {"group": trial.group, "queue": queue}
        trial.store_max(10, **told, consumer_offset=4 if queue == 0 else committed, moment="held")
        trial.store_max(10, **told, consumer_offset=10, moment="end")
    for offset in range(4):
        trial.consume(offset, at_ms=36_000 + 100 * offset, process="first")
    return trial


@pytest.fixture(scope="module")
def seen(new_run, analysed) -> Analysis:
    run = new_run("ordered-lock-handover", "ordered-lock-ratio", "queue-number-mismatch")
    stamped(run.ordered("clean"))
    stamped(run.ordered("no_pull"), pulled_ms=None)
    marked_late(run.ordered("marked_late"))
    stamped(run.ordered("shut_down", arm="fix-graceful-shutdown")).unlock(OWNER, at_ms=40)
    run.ordered("baseline", arm="baseline")
    paused(run, "kept", taken_ms=None)
    paused(run, "taken", taken_ms=6_000)
    paused(run, "taken_afterwards", taken_ms=9_050)
    shrunk(run, "stranded", committed=0)
    shrunk(run, "nothing_stranded", committed=10)
    scenarios = (ordered_lock_handover.SCENARIO, ordered_lock_ratio.SCENARIO, queue_number_mismatch.SCENARIO)
    return analysed(run, *scenarios)


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
    assert seen.shown_record("taken_while_paused", "taken")["process"] == SUCCESSOR


def test_stranded_messages_lie_where_nobody_reads_and_a_backlog_is_none(seen: Analysis) -> None:
    assert seen.one("stranded_count", "stranded", moment="held") == 10
    assert seen.one("stranded_count", "stranded", moment="end") == 0
    assert seen.one("stranded_count", "nothing_stranded", moment="held") == 0


def test_queues_are_counted_where_messages_go_and_where_members_read(seen: Analysis) -> None:
    assert seen.one("sent_queues_count", "stranded") == 2
    assert seen.one("assigned_queues_count", "stranded") == 4
    assert seen.one("queue_folders_count", "stranded") == 8
    assert seen.one("empty_read_queues_count", "stranded") == 0
    assert seen.one("member_share", "stranded", member="first") == 1.0
