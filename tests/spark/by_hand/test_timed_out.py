"""Messages whose consumption takes longer than consumeTimeout, in histories made by hand: when they come again."""

from __future__ import annotations

import pytest

from scenarios import dead_letter
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial, at, log_time, started

INCIDENT = dead_letter.SCENARIO
MEASURES = ("consumption_count", "retry_late_s", "timed_out_retry_off_s")
FIRST_MS, SECOND_MS = 75_000, 195_000
"""When what had timed out was given back, and 10 s after each of them, the delay of level 3, it came again."""


def _took_long(trial: Trial, seq: int, at_ms: float, retry: int) -> None:
    """A consumption of 130 s, through the topic at first and through the retry topic later."""
    trial.record(
        "clients", "consume", instance="consumer", group=trial.group, topic=f"%RETRY%{trial.group}" if retry else trial.topic,
        broker="broker-a", queue=0, offset=seq, seq=seq, intended_ns=at(0), started_ns=at(at_ms),
        finished_ns=at(at_ms + 130_000), outcome="failed", error="took too long", reconsume=retry, stored_ms=0,
    )  # fmt: skip


def _given_back(trial: Trial, at_ms: float) -> str:
    words = (
        f"send expire msg back. topic={trial.topic}, msgId=7F0001, storeHost=/127.0.0.1:20911, queueId=0, queueOffset=0"
    )
    return f"{log_time(at_ms)} INFO CleanExpireMsgScheduledThread_1 - {words}"


def _timed_out(run: Run, name: str, second_delay_ms: float, *, has_log: bool = True) -> Trial:
    """Two messages that time out twice; the second time they come again so long after that."""
    trial = run.trial(name, INCIDENT.name, "incident-timed-out", groups=[f"{name}-g0"], hold_ms=400_000.0)
    for seq in (0, 5):
        for retry, at_ms in enumerate((seq, FIRST_MS + 10_020, SECOND_MS + second_delay_ms)):
            _took_long(trial, seq, at_ms, retry)
    if has_log:
        given_back = (FIRST_MS, FIRST_MS + 4, SECOND_MS, SECOND_MS + 120_000)
        trial.logs["clients"] = [started(), *(_given_back(trial, ms) for ms in given_back)]
    return trial


def plant(run: Run) -> Asked:
    _timed_out(run, "level_3_again", 10_020)
    _timed_out(run, "next_level", 30_020)
    _timed_out(run, "without_a_log", 30_020, has_log=False)
    cut = _timed_out(run, "begun_too_late", 30_020)
    cut.logs["clients"] = cut.logs["clients"][2:]
    other = _timed_out(run, "without_another_log", 30_020)
    _took_long(other, 10, 3.0, 0)
    # A process whose log is gone had a message that took too long as well.
    other.history["others"] = [other.history["clients"].pop()]
    other.history["others"][0]["process"] = "others"
    return Asked(scenarios=(INCIDENT,), measures=MEASURES)


def test_a_timed_out_message_is_measured_from_when_it_was_given_back(seen: Analysis) -> None:
    first = seen.values("timed_out_retry_off_s", "next_level", retry="1")
    assert first == pytest.approx([0.016, 0.016], abs=1e-3)
    assert seen.values("timed_out_retry_off_s", "next_level", retry="2") == pytest.approx([0.02, 0.02], abs=1e-3)
    assert seen.values("timed_out_retry_off_s", "level_3_again", retry="2") == pytest.approx([19.98, 19.98], abs=1e-3)


def test_every_consumption_counts_and_none_is_taken_for_a_refusal(seen: Analysis) -> None:
    assert seen.values("consumption_count", "level_3_again") == [3, 3]
    assert seen.values("retry_late_s", "level_3_again") == []


@pytest.mark.parametrize("trial", ["without_a_log", "begun_too_late", "without_another_log"])
def test_without_the_clients_whole_log_nobody_knows_when_it_was_given_back(seen: Analysis, trial: str) -> None:
    assert seen.values("timed_out_retry_off_s", trial) == []
