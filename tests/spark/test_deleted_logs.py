"""Verdicts of a run whose lock.log was deleted: that never refutes what the log was to say, nor confirms that it says nothing."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind
from scenarios.ordered_lock_handover import SCENARIO
from scenarios.ordered_lock_signs import ORDER_14, ORDER_16
from scenarios.rules import claim, confirmed, fact, of, side
from tests.lib.runs import Analysis, Run
from tests.lib.trials import SUCCESSOR, Trial, log_time

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
DEPLOYMENTS = 6
SILENT = claim(
    "TEST-01",
    "A3",
    "A take-over leaves no line.",
    reading="No queue has one.",
    expected=confirmed("the test", "the test"),
    parts={"lines": fact(of("takeover_lines", "incident"), side(0, 1, "a line, or none", bound=0))},
    summary="Lines were there {!lines}.",
)
JUDGED = dataclasses.replace(SCENARIO, claims=(ORDER_14, ORDER_16, SILENT))
WORDS = {
    "first": "message queue not locked, I got it. Group: {group} NewClientId: {owner} {queue}",
    "waiting": "message queue locked by other client. Group: {group} OtherClientId: {owner} NewClientId: {successor} {queue}",
    "taken": "message queue lock expired, I got it. Group: {group} OldClientId: {owner} NewClientId: {successor} {queue}",
}
LINES = {-24_000: "first", **dict.fromkeys(range(1_000, 56_000, 1_000), "waiting"), 56_000: "taken"}
"""As a broker writes them whose successor asks each second."""


def _line(trial: Trial, at_ms: float, words: str) -> str:
    names = {"group": trial.group, "owner": trial.client_id("owner"), "successor": trial.client_id(SUCCESSOR)}
    queue = f"MessageQueue [topic={trial.topic}, brokerName=broker-a, queueId=0]"
    return f"{log_time(at_ms)} WARN [t] RocketmqRebalanceLock - tryLockBatch, {words.format(queue=queue, **names)}"


@pytest.fixture(scope="module")
def whole(new_run: Callable[..., Run]) -> Path:
    """A run in whose six deployments the log says all that the claims want of it, but for TEST-01."""
    run = new_run(SCENARIO.name, rules={judged.id: judged.rule_hash() for judged in JUDGED.claims})
    for number in range(1, DEPLOYMENTS + 1):
        trial = run.ordered(f"t{number}", repetition=number)
        for second in range(1, 56):
            trial.threads(SUCCESSOR, at_ms=second * 1_000)
        run.log(trial.deployment, "lock.log", *(_line(trial, at_ms, WORDS[kind]) for at_ms, kind in LINES.items()))
    return run.save()


Judge = Callable[..., Mapping[str, Finding]]


@pytest.fixture(scope="module")
def judged(whole: Path, analysed: Callable[..., Analysis], tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """The findings of a copy of the run, some of whose logs are changed."""

    def judge(change: Callable[[Path], object], deployments: int) -> Mapping[str, Finding]:
        copy = tmp_path_factory.mktemp("run") / "copy"
        shutil.copytree(whole, copy, ignore=shutil.ignore_patterns("analysis"))
        for number in range(1, deployments + 1):
            change(copy / "deployments" / f"d-t{number}" / "nodes" / "broker-a" / "logs" / "lock.log")
        return {finding.claim: finding for finding in analysed(copy, JUDGED).judged}

    return judge


def _emptied(log: Path) -> None:
    log.write_text("")


def test_a_whole_log_decides_and_an_empty_one_refutes_what_it_was_to_say(judged: Judge) -> None:
    findings = judged(Path.unlink, 0)
    assert {name: finding.verdict for name, finding in findings.items()} == {
        "ORDER-14": CONFIRMED,
        "ORDER-16": UNDECIDED,  # six owners are too few for "each"
        "TEST-01": REFUTED,
    }
    findings = judged(_emptied, DEPLOYMENTS)
    assert {name: finding.verdict for name, finding in findings.items()} == {
        "ORDER-14": REFUTED,
        "ORDER-16": REFUTED,
        "TEST-01": CONFIRMED,
    }


def test_a_deleted_log_decides_nothing(judged: Judge) -> None:
    findings = judged(Path.unlink, DEPLOYMENTS)
    assert {name: finding.verdict for name, finding in findings.items()} == dict.fromkeys(findings, UNDECIDED)
    assert findings["TEST-01"].reason == "missing evidence"


def test_one_log_that_is_deleted_does_not_turn_a_verdict(judged: Judge) -> None:
    findings = judged(Path.unlink, 1)
    assert findings["ORDER-14"].verdict is not REFUTED
    assert findings["ORDER-16"].verdict is not REFUTED
    assert findings["TEST-01"].verdict is not CONFIRMED


def test_logs_that_are_left_do_not_confirm_that_there_is_no_line(judged: Judge) -> None:
    """Five are emptied, and the one that has its lines is gone."""

    def change(log: Path) -> None:
        if "d-t1" in log.parts:
            log.unlink()
        else:
            _emptied(log)

    assert judged(change, DEPLOYMENTS)["TEST-01"].verdict is UNDECIDED
