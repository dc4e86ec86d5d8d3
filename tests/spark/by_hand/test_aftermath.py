"""What a broker does with the sends after a fault, during its cure and after it: one planted fact a trial."""

from __future__ import annotations

from scenarios import busy_flag_stuck
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import Trial, at

MEASURES = ("refused_after_share", "unaccepted_after_share", "unaccepted_last_share", "unaccepted_in_cure_count")
HOLD_MS, CURED_MS = 8_000.0, 14_000.0


def _trial(run: Run, name: str, *, cured: bool = True) -> Trial:
    """A send that was stored before the fault, and one that failed in it, since its append threw."""
    trial = run.trial(name, "busy-flag-stuck", "fix-restart", fault="append-throws", hold_ms=HOLD_MS, heals=False)
    healed_ms = CURED_MS if cured else 5.0
    healed = {"fault": "append-throws", "state": "healed", "target": "broker-a", "detail": ""}
    trial.event("fault", at_ns=at(healed_ms), **healed)
    trial.send(0, due_ms=-500, offset=0)
    trial.send(1, due_ms=-0.4, outcome="failed", remark="mqlab: this append was told to throw")
    return trial


def plant(run: Run) -> Asked:
    stuck = _trial(run, "stuck_until_cured")
    for seq, due_ms in enumerate((2_000, 4_000, 6_000), start=2):
        stuck.refused(seq, "REJECTREQUEST", due_ms=due_ms, took_ms=1.0)
    stuck.send(5, due_ms=9_000, outcome="unknown")
    stuck.send(6, due_ms=11_000, outcome="failed", remark="connect to 127.0.0.1:20911 failed")
    stuck.send(7, due_ms=13_000, offset=1)
    for seq, due_ms in enumerate((15_000, 17_000), start=8):
        stuck.send(seq, due_ms=due_ms, offset=seq)

    half = _trial(run, "half_refused_and_not_cured")
    half.refused(2, "REJECTREQUEST", due_ms=2_000, took_ms=1.0)
    half.send(3, due_ms=4_000, offset=1)
    half.refused(4, "REJECTREQUEST", due_ms=15_000, took_ms=1.0)

    over = _trial(run, "over_by_itself", cured=False)
    over.send(2, due_ms=2_000, offset=1)
    over.send(3, due_ms=4_000, outcome="unknown")
    over.refused(4, "REJECTREQUEST", due_ms=9_000, took_ms=1.0)

    host = _trial(run, "a_busy_host")
    host.refused(2, "TIMEOUT_CLEAN_QUEUE", due_ms=2_000, period_ms=210, size=3)
    host.refused(3, "OVERLOAD", due_ms=3_000)
    host.refused(4, "PCBUSY_CLEAN_QUEUE", due_ms=4_000, period_ms=210, size=3)
    host.send(5, due_ms=5_000, offset=1)
    return Asked(scenarios=(busy_flag_stuck.SCENARIO,), measures=MEASURES)


def test_sends_count_by_when_they_were_due(seen: Analysis) -> None:
    trial = "stuck_until_cured"
    assert seen.one("refused_after_share", trial, after="fault") == 1
    assert seen.one("unaccepted_in_cure_count", trial) == 2
    assert seen.one("refused_after_share", trial, after="cure") == 0
    assert seen.shown_record("refused_after_share", trial, after="fault")["seq"] == 2


def test_only_what_met_the_busy_flag_was_refused_by_it(seen: Analysis) -> None:
    assert seen.one("refused_after_share", "a_busy_host", after="fault") == 0.25
    assert seen.one("unaccepted_after_share", "a_busy_host", after="fault") == 0.75
    assert seen.shown_record("refused_after_share", "a_busy_host", after="fault")["seq"] == 4


def test_some_may_be_refused_and_a_cure_may_cure_nothing(seen: Analysis) -> None:
    trial = "half_refused_and_not_cured"
    assert seen.one("refused_after_share", trial, after="fault") == 0.5
    assert seen.one("refused_after_share", trial, after="cure") == 1
    assert seen.values("unaccepted_in_cure_count", trial) == []


def test_what_was_over_before_the_hold_ended_has_no_cure(seen: Analysis) -> None:
    trial = "over_by_itself"
    assert seen.one("refused_after_share", trial, after="fault") == 0
    assert seen.values("refused_after_share", trial, after="cure") == []
    assert seen.values("unaccepted_in_cure_count", trial) == []


def test_what_was_not_accepted_need_not_have_been_refused(seen: Analysis) -> None:
    assert seen.one("unaccepted_after_share", "over_by_itself", after="fault") == 0.5
    assert seen.one("unaccepted_after_share", "stuck_until_cured", after="cure") == 0


def test_sends_that_were_due_last_tell_what_a_broker_noticed_late(seen: Analysis) -> None:
    # The hold ends at 8 s: those due before 3 s do not count.
    assert seen.one("unaccepted_last_share", "stuck_until_cured") == 1
    assert seen.one("unaccepted_last_share", "half_refused_and_not_cured") == 0
    assert seen.one("unaccepted_last_share", "over_by_itself") == 1
