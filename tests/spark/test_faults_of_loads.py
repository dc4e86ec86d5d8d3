"""Faults of a load: what was around each, who took queues over, and refusals beside the model's number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.load.judged import JudgedLoad
from analysis.report.terminal import exit_code
from harness.rundir.reading import read_run_directory
from mqlab.testing import assert_confirmed
from tests.lib.judged_loads import judge_load_in, shown
from tests.lib.own_scenarios import handover, stall
from tests.lib.runs import Run
from tests.lib.trials import Trial, at


def _judged(spark: SparkSession, path: Path, trial: Trial) -> JudgedLoad:
    saved = Run(path=path, incidents=("load",), trials=[trial]).save()
    return judge_load_in(spark, read_run_directory(saved))


def _number(trial: Trial, number: int | None = 1, detail: str = "") -> None:
    for event in trial.events:
        if event["type"] == "fault":
            event |= {"number": number, "detail": detail if event["state"] == "injected" else ""}


def test_of_a_killed_consumer_each_queue_says_how_long_nobody_had_it(spark: SparkSession, tmp_path: Path) -> None:
    trial = handover("load")
    trial.groups, trial.params = ["g0"], {"route": "selector", "ordered": "yes", "rate_hz": 20.0}
    trial.drop(lambda record: record.get("group") == "g1")
    _number(trial, detail="owner")
    found = _judged(spark, tmp_path / "run", trial)
    (fault,) = found.faults
    assert (fault.fault, fault.target, fault.not_shown) == ("kill-owners", "owner", ())
    assert [(one.queue, one.by) for one in fault.taken_over] == [
        ("broker-a:0", "successor"),
        ("broker-a:1", "successor"),
    ]
    assert [one.nobody_s for one in fault.taken_over] == [pytest.approx(3.0, abs=0.2)] * 2
    before, during, after = fault.around
    assert (before.phase, during.phase, after.phase) == ("before", "during", "after")
    assert before.sent_per_s > 0
    assert before.consumed_per_s > during.consumed_per_s == 0
    told = shown(found.findings)
    assert {told[name].verdict for name in ("faults took effect", "queues taken over", "nothing lost")} == {"confirmed"}
    page = (tmp_path / "run" / "report.html").read_text()
    for words in ("Sends and consumptions around each fault", "Hand-over after the kill-owners", "broker-a:1", "3.0"):
        assert words in page
    assert (tmp_path / "run" / "junit.xml").exists()


def test_a_queue_that_nobody_takes_refutes_and_a_fault_that_is_not_shown_leaves_undecided(
    spark: SparkSession, tmp_path: Path
) -> None:
    trial = handover("load")
    trial.groups, trial.params = ["g0"], {"route": "selector", "ordered": "yes", "rate_hz": 20.0}
    trial.drop(lambda record: record.get("group") == "g1" or record.get("process") == "successor")
    _number(trial, detail="owner")
    trial.events = [event for event in trial.events if event.get("state") != "injected"]
    for event in trial.events:
        if event.get("state") == "healed":
            event["detail"] = "owner"
    found = _judged(spark, tmp_path / "run", trial)
    told = shown(found.findings)
    assert [one.nobody_s for one in found.faults[0].taken_over] == [None, None]
    assert (told["queues taken over"].verdict, told["queues taken over"].count) == ("refuted", 2)
    assert told["faults took effect"].verdict == "undecided"
    assert "the owners did not end" in told["faults took effect"].words
    assert exit_code(found.findings, strict=True) == 1


def test_a_fault_that_denies_its_effect_once_is_not_shown_whatever_its_end_says(
    spark: SparkSession, tmp_path: Path
) -> None:
    trial = handover("load")
    trial.groups, trial.params = ["g0"], {"route": "selector", "ordered": "yes", "rate_hz": 20.0}
    trial.drop(lambda record: record.get("group") == "g1")
    _number(trial, detail="owner")
    for event in trial.events:
        if event.get("state") == "healed":
            event |= {"detail": "3 packets were dropped", "exercised": True}
        elif event.get("state") == "injected":
            event |= {"exercised": False}
    found = _judged(spark, tmp_path / "run", trial)
    assert found.faults[0].not_shown == ("owner",)
    assert len(found.faults[0].taken_over) == 2, "what its end achieved is no name of the one that ended"
    for event in trial.events:
        if event["type"] == "fault":
            event["detail"] = ""
    found = _judged(spark, tmp_path / "other", trial)
    assert found.faults[0].not_shown == ("it says itself that it took no effect",)
    told = shown(found.findings)
    assert told["faults took effect"].verdict == "undecided"


STALLED, KILLED = "append-stall:450ms@0s", "kill-consumer@99s"


@pytest.mark.parametrize(
    ("asked", "made", "refused", "never"),
    [
        ([STALLED], None, None, STALLED),
        ([STALLED], None, 1, STALLED),
        ([STALLED], 1, 2, "append-stall, again"),
        ([KILLED, STALLED], 2, None, KILLED),
    ],
    ids=["its time never came", "it could not be made", "it could not be made again", "one of two did not come"],
)
def test_a_fault_that_was_never_made_leaves_the_load_undecided_whatever_else_it_shows(
    spark: SparkSession, tmp_path: Path, asked: list[str], made: int | None, refused: int | None, never: str
) -> None:
    trial = stall("load", refused=24)
    trial.params, trial.faults = {"rate_hz": 100.0}, asked
    _number(trial, made)
    trial.drop(lambda event: event["type"] == "fault" and event["number"] is None)
    if refused:
        trial.event("fault", fault="append-stall", state="asked", at_ns=at(100), target="", detail="", number=refused)
    told = shown(_judged(spark, tmp_path / "run", trial).findings)
    found = told["faults took effect"]
    assert (found.verdict, found.words) == ("undecided", f"{never}: never made")
    assert told["history whole"].verdict == "confirmed"
    with pytest.raises(AssertionError, match=r"^faults-took-effect on 4\.6\.0: undecided"):
        assert_confirmed(tmp_path / "run", "history-whole")


def test_refusals_of_a_stall_stand_beside_what_the_model_predicts(spark: SparkSession, tmp_path: Path) -> None:
    trial = stall("load", refused=24)
    trial.params = {"rate_hz": 100.0}
    _number(trial)
    found = _judged(spark, tmp_path / "run", trial)
    (fault,) = found.faults
    rows = {row.keyword: row for row in fault.refused}
    # 100 a second for 450 ms, less the 200 ms of waiting and half a period of the cleaner.
    assert rows["TIMEOUT_CLEAN_QUEUE"].predicted == pytest.approx(24.5, abs=0.6)
    assert rows["TIMEOUT_CLEAN_QUEUE"].measured == 24
    assert {row.within for row in fault.refused} == {True}
    told = shown(found.findings)
    assert told["refusals as predicted"].verdict == "confirmed"
    score = json.loads((tmp_path / "run" / "model.json").read_text())
    assert (score["cells"], score["within"]) == (1, 1)
    # The stall begins 3.5 s after the first send, and its first refusal comes 205 ms later: the plot has nothing of it before.
    (series,) = json.loads((tmp_path / "run" / "analysis" / "page.json").read_text())["series"]
    first = {
        name: next(t for t, count in zip(series["t_s"], series[name], strict=True) if count)
        for name in ("sent", "failed")
    }
    assert first["failed"] - first["sent"] == pytest.approx(3.7, abs=0.1)

    trial = stall("load", refused=44)
    trial.params = {"rate_hz": 100.0}
    _number(trial)
    found = _judged(spark, tmp_path / "more", trial)
    told = shown(found.findings)
    assert (told["refusals as predicted"].verdict, told["refusals as predicted"].count) == ("refuted", 1)
