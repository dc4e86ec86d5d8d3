"""A member that joins an ordered group, in histories made by hand."""

from __future__ import annotations

import pytest

from scenarios import orderly_start_waits
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import SUCCESSOR, Trial, log_time, started

INCIDENT = orderly_start_waits.SCENARIO
MEASURES = ("join_gap_s", "lock_wait_s", "put_off_pull_count")


def _owned(run: Run, name: str, arm: str, starts_ms: float) -> Trial:
    """A group whose first member consumed a message of each of two queues, and whose second one starts at that moment."""
    trial = run.trial(name, INCIDENT.name, arm, groups=[f"{name}-g0"])
    trial.instance(SUCCESSOR, event="starting", at_ms=starts_ms)
    for queue in (0, 1):
        trial.consume(0, at_ms=starts_ms + 100, queue=queue)
    return trial


def _put_off(trial: Trial, at_ms: float, queue: int, topic: str = "") -> str:
    where = f"MessageQueue [topic={topic or trial.topic}, brokerName=broker-a, queueId={queue}]"
    request = f"PullRequest [consumerGroup={trial.group}, messageQueue={where}, nextOffset=7]"
    return f"{log_time(at_ms)} INFO PullMessageService - pull message later because not locked in broker, {request}"


def plant(run: Run) -> Asked:
    waits = _owned(run, "waits", "incident", starts_ms=1_000)
    waits.lock(SUCCESSOR, at_ms=1_098, granted=False, queues=(0,))
    waits.lock(SUCCESSOR, at_ms=21_098, granted=True, queues=(0,))
    waits.lock(SUCCESSOR, at_ms=22_098, granted=True, queues=(0,))
    waits.lock(SUCCESSOR, at_ms=21_098, granted=True, queues=(1,))
    waits.consume(1, at_ms=24_100, process=SUCCESSOR)
    waits.consume(1, at_ms=21_150, process=SUCCESSOR, queue=1)
    later, retries = _put_off(waits, 25_000, queue=1), _put_off(waits, 21_120, queue=1, topic=f"%RETRY%{waits.group}")
    waits.logs[SUCCESSOR] = [*(_put_off(waits, ms, queue=0) for ms in (21_110, 22_111, 23_112)), later, retries]

    for name, first in (("cut", 3_000), ("begun_before_it", 1_000)):
        cut = _owned(run, name, "incident", starts_ms=500)
        cut.lock(SUCCESSOR, at_ms=1_500, granted=True, queues=(1,))
        cut.consume(1, at_ms=4_000, process=SUCCESSOR, queue=1)
        cut.logs[SUCCESSOR] = [started(first), _put_off(cut, 3_500, queue=1)]

    nothing = _owned(run, "nothing", "incident", starts_ms=1_000)
    nothing.lock(SUCCESSOR, at_ms=1_998, granted=True, queues=(1,))

    before = _owned(run, "before", "baseline", starts_ms=-9_000)
    before.lock(SUCCESSOR, at_ms=-8_000, granted=True, queues=(0,))
    before.consume(1, at_ms=-7_000, process=SUCCESSOR)
    return Asked(scenarios=(INCIDENT,), measures=MEASURES)


def test_the_wait_begins_with_the_first_grant_and_the_gap_with_the_owners_last_message(seen: Analysis) -> None:
    assert sorted(seen.values("lock_wait_s", "waits")) == pytest.approx([0.05, 3.0])
    assert sorted(seen.values("join_gap_s", "waits")) == pytest.approx([21.15 - 1.101, 24.1 - 1.101])


def test_pulls_that_its_log_puts_off_count_until_the_first_message_of_their_queue(seen: Analysis) -> None:
    assert sorted(seen.values("put_off_pull_count", "waits")) == [0, 3]
    first = max(seen.found("put_off_pull_count", "waits"), key=lambda row: row.value)
    assert (first.file.endswith("clients/successor/rocketmq_client.log"), first.line) == (True, 1)


def test_a_member_without_a_log_says_nothing_of_its_pulls(seen: Analysis) -> None:
    assert seen.values("put_off_pull_count", "nothing") == []


def test_a_log_that_begins_after_the_grant_may_have_lost_pulls(seen: Analysis) -> None:
    assert seen.values("put_off_pull_count", "cut") == []
    assert seen.values("put_off_pull_count", "begun_before_it") == [1]


def test_a_queue_that_is_granted_and_never_consumed_waits_to_the_trials_end(seen: Analysis) -> None:
    (wait,) = seen.found("lock_wait_s", "nothing")
    assert wait.censored
    assert wait.value == pytest.approx(60.0)


def test_a_member_that_was_there_before_did_not_join(seen: Analysis) -> None:
    assert [seen.values(name, "before") for name in MEASURES] == [[], [], []]
