"""A broker that is back: how long groups wait for its messages, and what they are given twice of the other broker's."""

from __future__ import annotations

import pytest

from scenarios import restarted_broker_forgets_consumers
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import OWNER, PRODUCER, SUCCESSOR, Trial, at

MEASURES = ("again_s", "median_again_s", "slowest_again_s", "doubled_elsewhere_count", "heartbeats_per_s")
FIRST, SECOND = "fast", "slow"


def _send(trial: Trial, seq: int, due_ms: float, broker: str) -> None:
    trial.send(seq, due_ms=due_ms, offset=seq)
    trial.history[PRODUCER][-1]["broker"] = broker


def _consume(trial: Trial, seq: int, at_ms: float, group: str, broker: str, process: str = OWNER) -> None:
    trial.consume(seq, at_ms=at_ms, group=group, process=process)
    trial.history[process][-1]["broker"] = broker


def _trial(run: Run, name: str, *, fault: str = "restart-broker", slow_ms: float | None = 30_002.0) -> Trial:
    """Two groups; broker-a is back at 4,000 ms, when it accepts its first send. The first group has that 2 ms later."""
    trial = run.trial(
        name, "restarted-broker-forgets-consumers", "incident" if fault != "none" else "baseline", fault=fault,
        groups=[FIRST, SECOND], hold_ms=34_000.0,
    )  # fmt: skip
    for group in trial.groups:
        for process in (OWNER, SUCCESSOR):
            trial.event("member", group=group, instance=f"{group}-{process}", topic=trial.topic, tags="*")
    _send(trial, 0, -200, "broker-a")
    _send(trial, 1, 100, "broker-b")
    _send(trial, 2, 3_998, "broker-a")
    _send(trial, 3, 4_100, "broker-a")
    for group in trial.groups:
        # What had been fetched before the end is consumed after it, and is no sign of a return.
        _consume(trial, 0, 50, group, "broker-a")
        _consume(trial, 1, 105, group, "broker-b", SUCCESSOR)
    _consume(trial, 2, 4_002, FIRST, "broker-a")
    if slow_ms is not None:
        _consume(trial, 3, slow_ms, SECOND, "broker-a")
    return trial


def plant(run: Run) -> Asked:
    _trial(run, "one_waits")
    _trial(run, "one_waits_for_ever", slow_ms=None)
    _trial(run, "nothing_ends", fault="none", slow_ms=4_110.0)
    twice = _trial(run, "twice")
    _consume(twice, 1, 6_000, SECOND, "broker-b")
    # A message of the broker that restarted, and one that the same member is given again, do not count.
    _consume(twice, 3, 32_000, SECOND, "broker-a", SUCCESSOR)
    _consume(twice, 1, 6_500, FIRST, "broker-b", SUCCESSOR)
    # 36 s after the fault members have been told to stop.
    _consume(twice, 1, 36_500, FIRST, "broker-b")
    for index in range(17):
        twice.record(
            OWNER, "heartbeat", instance=f"{FIRST}-{OWNER}", group=FIRST, address="127.0.0.1:20911", started_ns=at(2_000 * index)
        )  # fmt: skip
    twice.record(OWNER, "heartbeat", instance=FIRST, group=FIRST, address="127.0.0.1:20911", started_ns=at(-5_000))
    return Asked(scenarios=(restarted_broker_forgets_consumers.SCENARIO,), measures=MEASURES)


def test_a_group_waits_until_it_has_a_message_that_the_broker_has_accepted_since(seen: Analysis) -> None:
    assert seen.values("again_s", "one_waits") == pytest.approx([0.002, 26.002])
    assert seen.one("slowest_again_s", "one_waits") == pytest.approx(26.002)
    assert seen.one("median_again_s", "one_waits") == pytest.approx(13.002)


def test_a_group_that_gets_nothing_waits_at_least_until_the_end(seen: Analysis) -> None:
    (row,) = seen.found("slowest_again_s", "one_waits_for_ever")
    assert row.censored
    assert row.value >= 30.0


def test_without_a_restart_any_broker_will_do_from_the_moment_of_the_fault_on(seen: Analysis) -> None:
    assert seen.one("slowest_again_s", "nothing_ends") == pytest.approx(0.110)


def test_what_two_members_are_given_of_the_other_broker_is_counted_by_group(seen: Analysis) -> None:
    assert seen.values("doubled_elsewhere_count", "twice") == [0, 1]
    assert seen.values("doubled_elsewhere_count", "one_waits") == [0, 0]


def test_heartbeats_count_from_the_fault_to_the_end_of_the_hold(seen: Analysis) -> None:
    assert seen.one("heartbeats_per_s", "twice") == pytest.approx(0.5)
    assert seen.values("heartbeats_per_s", "one_waits") == []
