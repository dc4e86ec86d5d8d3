"""A broker that restarts: what a stranger is granted, and which queues stand still or change hands."""

from __future__ import annotations

import pytest

from scenarios import ordered_lock_restart
from tests.lib.runs import Analysis, Asked, Run
from tests.lib.trials import OWNER, SUCCESSOR, Trial

MEASURES = ("foreign_lock_granted", "granted_after_restart", "restart_handover_s", "restart_delay_max_s", "handover_s")


def restarted(run: Run, name: str, *, granted: bool) -> Trial:
    """The owner has two queues of the broker; a stranger asks for the first before the restart and after it.

    When it is granted, the owner's next message of that queue comes 62 s late.
    """
    trial = run.trial(
        name, "ordered-lock-restart", "incident", fault="restart-broker", groups=[f"{name}-g0"], hold_ms=95_000.0
    )
    trial.lock_probe(asked_broker="broker-a", granted=False)
    trial.lock_probe(asked_broker="broker-a", granted=granted, at_ms=5_000)
    for queue in (0, 1):
        for offset in range(3):
            trial.consume(offset, at_ms=-300 + 100 * offset, queue=queue)
        late_ms = 62_000 if granted and queue == 0 else 2
        trial.consume(3, due_ms=8_000, at_ms=8_000 + late_ms, queue=queue)
    return trial


def killed(run: Run, name: str) -> Trial:
    """The owner had a queue of either broker; the successor gets that of the restarted one 3 s after the kill."""
    trial = run.trial(
        name,
        "ordered-lock-restart",
        "incident-owners-killed",
        fault="kill-owners-restart-broker",
        groups=[f"{name}-g0"],
    )
    for broker, taken_ms in (("broker-a", 3_000), ("broker-b", 58_000)):
        for offset, at_ms, process in ((0, -100, OWNER), (1, taken_ms, SUCCESSOR)):
            trial.consume(offset, at_ms=at_ms, due_ms=-100, process=process)
            trial.history[process][-1]["broker"] = broker
    return trial


def plant(run: Run) -> Asked:
    restarted(run, "given_away", granted=True)
    restarted(run, "renewed_in_time", granted=False)
    killed(run, "killed_with_it")
    return Asked(scenarios=(ordered_lock_restart.SCENARIO,), measures=MEASURES)


def test_what_a_stranger_gets_after_the_restart_is_told_from_what_it_gets_before(seen: Analysis) -> None:
    assert seen.values("granted_after_restart", "given_away") == [1.0]
    assert seen.values("granted_after_restart", "renewed_in_time") == [0.0]
    assert seen.values("foreign_lock_granted", "given_away") == [0.0]


def test_only_the_queue_that_was_given_away_stands_still(seen: Analysis) -> None:
    assert seen.one("restart_delay_max_s", "given_away", queue="given away") == pytest.approx(62.0)
    assert seen.one("restart_delay_max_s", "given_away", queue="restarted") == pytest.approx(0.002)
    assert seen.found("restart_delay_max_s", "renewed_in_time", queue="given away") == []


def test_a_hand_over_is_told_by_the_broker_that_restarted(seen: Analysis) -> None:
    assert seen.one("restart_handover_s", "killed_with_it", queue="restarted") == pytest.approx(3.0)
    assert seen.one("restart_handover_s", "killed_with_it", queue="other") == pytest.approx(58.0)
    assert seen.values("handover_s", "killed_with_it") == pytest.approx([3.0, 58.0])
    assert seen.found("restart_handover_s", "given_away") == []
