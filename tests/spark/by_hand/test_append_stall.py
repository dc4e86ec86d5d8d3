"""The scenario append-stall from end to end: a run made by hand as the brokers behave, and what the analysis makes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.checkers.sends import appends
from analysis.ledger.runs import FINDINGS, read_lines
from analysis.pipeline import analyze
from analysis.report.document import ReportData
from analysis.spark import SparkPlace
from harness.model.rules import Expectation
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from scenarios.append_stall import BUSY_10, SCENARIO
from tests.lib.runs import Analysis, Run
from tests.lib.trials import Trial, log_time

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
TIMEOUT = "TIMEOUT_CLEAN_QUEUE"
DEPLOYMENTS = 8

# From the store.log of 4.6.0 and 5.3.3 with the releases' own logging; the append was 700 ms and 1200 ms long.
STOCK_LINES = {
    700: "WARN SendMessageThread_1 - [NOTIFYME]putMessage in lock cost time(ms)=700, bodyLength=128 "
    "AppendMessageResult=AppendMessageResult{status=PUT_OK, wroteOffset=942702, wroteBytes=336, "
    "msgId='7F00000100006CC700000000000E626E', storeTimestamp=1795250863523, logicsOffset=350, pagecacheRT=0, msgNum=1}",
    1200: "WARN SendMessageThread_1 - [NOTIFYME]putMessage in lock cost time(ms)=1200, bodyLength=128 "
    "AppendMessageResult=AppendMessageResult{status=PUT_OK, wroteOffset=1783863, wroteBytes=375, msgId='null', "
    "storeTimestamp=1795251522621, logicsOffset=594, pagecacheRT=0, msgNum=1}",
}


def _refuse_waiting(trial: Trial, count: int, *, limit_ms: int = 200) -> None:
    """Requests that came right after the append got stuck, refused within 10 ms after their time was up."""
    for index in range(count):
        due_ms = 2 + index * 0.5
        waited = {"took_ms": limit_ms + 6, "period_ms": limit_ms + 4}
        trial.refused(100 + index, TIMEOUT, due_ms=due_ms, size=count - index - 1, **waited)


def _hand_made(run: Run) -> None:
    for repetition in range(1, DEPLOYMENTS + 1):
        d: dict[str, Any] = {"deployment": f"lab-{repetition}", "repetition": repetition}
        run.stalled(f"baseline-{repetition}", stall_ms=0, **d)
        run.stalled(f"short-{repetition}", stall_ms=100, **d)
        for rate_hz in (200, 500, 1000):
            _refuse_waiting(run.stalled(f"middle-{rate_hz}-{repetition}", rate_hz=rate_hz, **d), rate_hz // 4)
        _refuse_waiting(run.stalled(f"long-{repetition}", stall_ms=700, **d), 12)
        busy = run.stalled(f"busy-{repetition}", stall_ms=1200, **d)
        for index in range(12):
            # The lock was taken a little before the append that is stamped, so it is 1 s old just before 1001 ms.
            busy.refused(200 + index, "REJECTREQUEST", due_ms=1_003 + index, took_ms=0.5)
        wait: dict[str, Any] = {"live_conf": {"waitTimeMillsInSendQueue": "400"}, **d}
        fixed = run.stalled(f"fixed-{repetition}", arm="fix-send-queue-wait-400", **wait)
        _refuse_waiting(fixed, 10, limit_ms=400)
        stock = f"stock-{repetition}"
        run.deployment(stock, incident="append-stall", logging="stock", zone="GMT+8")
        for stall_ms in STOCK_LINES:
            name = f"stock-{stall_ms}-{repetition}"
            run.stalled(name, arm="incident-stock-logging", stall_ms=stall_ms, deployment=stock)
        # Written once the lock is released; the stock layout has the time of Shanghai and no milliseconds.
        stamped = [
            f"{log_time(1 + stall_ms, zone_hours=8, millis=False)} {line}" for stall_ms, line in STOCK_LINES.items()
        ]
        run.log(stock, "rocketmqlogs/store.log", *stamped)


@pytest.fixture(scope="module")
def seen(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    run = new_run("append-stall", rules={claim.id: claim.rule_hash() for claim in SCENARIO.claims})
    _hand_made(run)
    return analysed(run, SCENARIO)


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What the second analysis told of its progress, and that it stopped its session."""
    return []


@pytest.fixture(scope="module")
def again(seen: Analysis, analysed: Callable[..., Analysis], told: list[str]) -> Analysis:
    """The same run, analysed a second time over what the first analysis left, as the command does it."""

    def by(path: Path, scenarios: Sequence[Scenario]) -> ReportData:
        with pytest.MonkeyPatch.context() as patch:
            # It gets the session of the tests, which must outlive it.
            patch.setattr(SparkSession, "stop", lambda session: told.append("stopped"))
            return analyze(path, scenarios, SparkPlace(master="local[2]"), told.append)

    return analysed(seen.path, SCENARIO, by=by)


@pytest.fixture(scope="module")
def broken(seen: Analysis, again: Analysis, analysed: Callable[..., Analysis]) -> Analysis:
    """The same run once more: one checker raises, and BUSY-10 was expected to be confirmed."""

    def raises(inputs: object) -> None:
        raise RuntimeError("planted")

    wrong = Expectation(verdict=CONFIRMED, because="somebody thought so", source="nowhere")
    claims = tuple(
        dataclasses.replace(claim, expected={"4.6.0": wrong}) if claim is BUSY_10 else claim
        for claim in SCENARIO.claims
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(appends, "observe", raises)
        return analysed(seen.path, dataclasses.replace(SCENARIO, claims=claims))


@pytest.mark.parametrize(
    ("claim", "verdict", "reason"),
    [
        ("BUSY-07", UNDECIDED, "too few tries"),
        ("BUSY-09", UNDECIDED, "too few tries"),
        ("BUSY-10", REFUTED, ""),
        ("BUSY-11", CONFIRMED, ""),
        ("BUSY-12", UNDECIDED, "not exercised"),
        ("BUSY-14", CONFIRMED, ""),
    ],
)
def test_brokers_that_behave_as_their_code_says_give_the_expected_findings(
    seen: Analysis, claim: str, verdict: VerdictKind, reason: str
) -> None:
    """As far as 8 trials of some of the cells go; the whole history is made by hand in the rules' own test."""
    found = seen.finding(claim)
    assert (found.verdict, found.reason) == (verdict, reason)
    assert all(part.verdict is not UNDECIDED for part in found.parts) == (not reason)


def test_the_estimates_are_the_planted_numbers(seen: Analysis) -> None:
    estimates = {part.name: part.estimate for found in seen.findings.values() for part in found.parts}
    assert estimates["refused above 200 ms"] == 1
    assert estimates["waited"] == 0
    assert estimates["stalls with a refusal"] == 1
    assert estimates["within one second"] == 125
    assert estimates["growth"] == pytest.approx(0.25)
    assert estimates["a stall of 450 ms"] == pytest.approx(10 / 125)
    assert estimates["refused at 1200 ms"] == 1
    assert estimates["not before"] == pytest.approx(1002.5)
    assert estimates["stalls in store.log"] == 0


def test_the_evidence_of_a_logged_append_is_the_stock_line_itself(seen: Analysis) -> None:
    cited = [line for line in seen.finding("BUSY-07").evidence if line.file.endswith("rocketmqlogs/store.log")]
    assert cited
    assert all(line.excerpt.split(" - ", 1)[1] in "".join(STOCK_LINES.values()) for line in cited)


def test_analysing_twice_gives_the_same_findings(seen: Analysis, again: Analysis) -> None:
    assert again.findings == seen.findings
    assert sorted(map(str, again.rows)) == sorted(map(str, seen.rows))


def test_the_command_tells_its_steps_and_stops_its_session(again: Analysis, told: list[str]) -> None:
    assert told[0] == "starting Spark"
    assert "checking" in told
    assert told[-1] == "stopped"
    assert again.path.joinpath("analysis", "findings.jsonl").is_file()


def test_a_checker_that_raises_leaves_its_claims_undecided_and_says_why(broken: Analysis) -> None:
    for claim in ("BUSY-07", "BUSY-09"):
        found = broken.finding(claim)
        assert (found.verdict, found.reason) == (UNDECIDED, "checker failed")
        assert any("the checker appends failed: RuntimeError: planted" in words for words in found.notes)


def test_a_checker_that_raises_takes_no_other_claim_with_it(seen: Analysis, broken: Analysis) -> None:
    for claim in ("BUSY-11", "BUSY-12", "BUSY-14"):
        assert broken.finding(claim) == seen.finding(claim)


def test_an_expectation_that_was_wrong_stays_visible(broken: Analysis) -> None:
    found = broken.finding("BUSY-10")
    assert (found.verdict, found.expected) == (REFUTED, CONFIRMED)
    assert found.expected_from_code == "somebody thought so (nowhere)"
    # What is expected is no part of the rule.
    assert "the rule that judged is not the one that was committed before the run" not in found.notes
    written = read_lines(broken.path / FINDINGS).findings
    assert [(one.verdict, one.expected) for one in written if one.claim == "BUSY-10"] == [(REFUTED, CONFIRMED)]
