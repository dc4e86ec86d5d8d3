"""Trials whose queues were not all read at the end: what was lost is seen, and never that nothing was."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios import (
    ordered_lock_handover,
    pool_loss,
    queue_number_mismatch,
    subscriptions_that_differ,
)
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import PRODUCER, Trial, at

MEASURES = ("lost_count", "refused_stored_count", "unanswered_absent_count", "passed_over_share", "stranded_count")
FAILED = {"status": "failed", "error": "the disk is full"}


def _ordered(run: Run, name: str, **attributes: Any) -> Trial:
    """Its queue is read before it begins, too."""
    trial = run.ordered(name, **attributes)
    trial.store_max(0, group=trial.group, consumer_offset=0, moment="begin")
    return trial


def _without_end(trial: Trial) -> Trial:
    trial.drop(lambda record: record["type"] == "store_max" and record["moment"] == "end")
    return trial


def _without_last(trial: Trial) -> Trial:
    trial.drop(lambda record: record["type"] == "consume" and record["offset"] == 10)
    return trial


def _stored(run: Run, name: str, **attributes: Any) -> Trial:
    """Ten acknowledged messages, which the queue has at the end."""
    trial = run.trial(name, pool_loss.SCENARIO.name, "baseline", params={"flush": "async"}, **attributes)
    trial.store_max(0, moment="begin")
    for seq in range(10):
        trial.send(seq, due_ms=-500 + 20 * seq, offset=seq)
    trial.store_max(10)
    return trial


def _passed_over(run: Run, name: str, **attributes: Any) -> Trial:
    """A message in each of two queues that no member wants, below the group's offset in both."""
    trial = run.trial(name, subscriptions_that_differ.SCENARIO.name, "incident", groups=[f"{name}-g0"], **attributes)
    for process in ("first", "second"):
        instance = f"{trial.group}-{process}"
        trial.event("member", group=trial.group, instance=instance, topic=trial.topic, tags="*")
    for queue in (0, 1):
        trial.record(
            PRODUCER, "send", instance="p0", client="java 4.6.0", topic=trial.topic, seq=queue, intended_ns=at(1_000),
            started_ns=at(1_000), finished_ns=at(1_001), outcome="ok", broker="broker-a", queue=queue, offset=0,
        )  # fmt: skip
        trial.store_max(1, queue=queue, group=trial.group, consumer_offset=1)
    return trial


def _stranded(run: Run, name: str, *, left: int, **attributes: Any) -> Trial:
    """A queue beyond the read ones with ``left`` messages at the end that the group has not committed."""
    trial = run.trial(name, queue_number_mismatch.SCENARIO.name, "incident", groups=[f"{name}-g0"], **attributes)
    for moment in ("held", "end"):
        trial.topic_shape(write_queues=8, read_queues=4, folders=8, moment=moment)
        trial.store_max(2, queue=5, group=trial.group, consumer_offset=2 - left, moment=moment)
    for offset in range(2):
        trial.send(offset, due_ms=1_000, queue=5, offset=offset)
    return trial


def plant(run: Run) -> Asked:
    _ordered(run, "ends_read")
    _without_end(_ordered(run, "ends_unread", **FAILED))
    _without_end(_ordered(run, "ends_unread_of_complete"))
    _ordered(run, "ends_partly_read", **FAILED)
    _without_last(_ordered(run, "ends_partly_read_and_lost", **FAILED))
    _stored(run, "stores_read")
    _without_end(_stored(run, "stores_unread", **FAILED))
    _without_end(_stored(run, "stores_unread_of_complete"))
    _stored(run, "stores_partly_read", **FAILED)
    _stored(run, "stores_partly_read_and_lost", **FAILED).send(10, due_ms=0, offset=10)
    _passed_over(run, "offsets_read")
    _passed_over(run, "offsets_partly_read").drop(lambda record: record["type"] == "store_max" and record["queue"] == 1)
    _stranded(run, "left_stranded", left=1)
    _stranded(run, "none_left_stranded", left=0)
    _stranded(run, "left_partly_read", left=1, **FAILED)
    _stranded(run, "none_left_partly_read", left=0, **FAILED)
    scenarios = (ordered_lock_handover, pool_loss, subscriptions_that_differ, queue_number_mismatch)
    return Asked(scenarios=tuple(one.SCENARIO for one in scenarios), measures=MEASURES)


@pytest.mark.parametrize("read", ["ends", "stores"])
def test_a_queue_that_was_not_read_at_the_end_has_not_lost_what_it_had_not_then(seen: Analysis, read: str) -> None:
    assert seen.one("lost_count", f"{read}_read") == 0
    assert seen.values("lost_count", f"{read}_unread") == []
    assert seen.values("lost_count", f"{read}_unread_of_complete") == []


@pytest.mark.parametrize("read", ["ends", "stores"])
def test_a_trial_that_failed_shows_what_was_lost_and_not_that_nothing_was(seen: Analysis, read: str) -> None:
    assert seen.values("lost_count", f"{read}_partly_read") == []
    assert seen.one("lost_count", f"{read}_partly_read_and_lost") == 1


def test_what_stores_took_beside_what_they_acknowledged_is_known_where_all_were_read(seen: Analysis) -> None:
    names = ("stores_read", "stores_unread", "stores_unread_of_complete", "stores_partly_read")
    for measure in ("refused_stored_count", "unanswered_absent_count"):
        assert [seen.values(measure, name) for name in names] == [[0], [], [], []]


def test_messages_are_passed_over_where_all_offsets_are_known(seen: Analysis) -> None:
    assert seen.one("passed_over_share", "offsets_read") == 1
    assert seen.values("passed_over_share", "offsets_partly_read") == []


def test_none_is_stranded_at_the_end_where_the_trial_came_to_it(seen: Analysis) -> None:
    names = ("left_stranded", "none_left_stranded", "left_partly_read", "none_left_partly_read")
    assert [seen.values("stranded_count", name, moment="end") for name in names] == [[1], [0], [1], []]
    assert [seen.values("stranded_count", name, moment="held") for name in names] == [[1], [0], [1], [0]]
