"""Loads that did not reach their end: nothing is confirmed of them, and nothing held against RocketMQ that nobody looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.load.judged import JudgedLoad
from analysis.report.document import load_findings
from analysis.report.terminal import exit_code
from harness.rundir.integrity import UNVOUCHED
from harness.rundir.reading import read_run_directory
from tests.lib.judged_loads import Shown, judge_load_in, shown
from tests.lib.own_scenarios import own_load, stall
from tests.lib.runs import Run
from tests.lib.trials import OWNER, SUCCESSOR, Trial, at

Judge = Callable[[Trial], tuple[JudgedLoad, dict[str, Shown]]]
CUT = "the load did not reach its end"


@pytest.fixture
def judged(spark: SparkSession, tmp_path: Path) -> Judge:
    def judge(trial: Trial) -> tuple[JudgedLoad, dict[str, Shown]]:
        path = Run(path=tmp_path / "run", incidents=("load",), trials=[trial]).save()
        found = judge_load_in(spark, read_run_directory(path))
        return found, shown(found.findings)

    return judge


def _killed(*, status: str = "running", error: str = "") -> Trial:
    """A load whose queues were read as it began, and that was cut off in its hold, 5 s after the fault that it has not."""
    trial = own_load()
    trial.status, trial.error = status, error
    trial.params["shape"] = "constant"
    _cut(trial, 5_200)
    for event in trial.events:
        if event["type"] == "store_max":
            event |= {"max_offset": 0, "moment": "begin"}
    return trial


def _cut(trial: Trial, at_ms: float) -> None:
    """Take out what is later."""
    stamps = ("started_ns", "at_ns", "mono_ns")
    trial.drop(lambda record: next((record[name] for name in stamps if name in record), 0) >= at(at_ms))


def test_nothing_is_confirmed_nor_refuted_of_a_load_that_was_killed(judged: Judge, tmp_path: Path) -> None:
    found, properties = judged(_killed())
    assert {one.verdict for one in found.findings} == {"undecided"}
    for name in ("all arrived", "nothing lost"):
        assert properties[name].words.startswith(f"{CUT}, and the stores were not read then")
    assert properties["store agrees"].words.startswith(f"{CUT}; 2 of 2 queues were not read at the end: 220 ack")
    assert properties["nothing twice"].words == f"{CUT}; so far: 0 consumptions beyond the first, in 2 queues"
    assert exit_code(found.findings, strict=True) == 2
    unvouched, first, *others = found.lines()
    assert unvouched == UNVOUCHED, "a load made by hand is not sealed"
    assert first == f"{CUT}: it was cut off in its phase hold, and its trial is running still, as a kill leaves it"
    assert not any("%" in line for line in others)
    assert any("/s so far, where 20.0 were asked" in line for line in others)

    assert next(iter(asdict(found))) == "ending"
    assert (found.ending.phase, found.ending.status) == ("hold", "running")
    assert shown(load_findings(tmp_path / "run").findings) == properties
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.index(first[1:]) < page.index("Every accepted message was consumed")


def test_what_went_wrong_before_the_end_is_told_of_a_load_that_the_disk_ended(judged: Judge) -> None:
    trial = _killed(status="failed", error="no space is left on the disk")
    twice = trial.consumptions(group="g0", queue=0)[3]
    trial.consume_again(twice, process=SUCCESSOR, started_ns=at(-2_000))
    trial.consumptions(group="g0", queue=1)[5] |= {"key": "k0"}
    found, properties = judged(trial)
    assert found.lines()[1] == f"{CUT}: it was ended by a failure in its phase hold: no space is left on the disk"
    refuted = {name: one.count for name, one in properties.items() if one.verdict == "refuted"}
    assert refuted == {"nothing twice": 1, "a key, a queue": 1, "one consumer a queue": refuted["one consumer a queue"]}
    assert properties["in order"].verdict == "undecided"
    assert properties["nothing twice"].line > 0
    assert exit_code(found.findings, strict=True) == 1


def test_what_came_as_its_processes_ended_is_not_held_against_the_brokers(judged: Judge, tmp_path: Path) -> None:
    trial = _killed()
    # The owner is gone a second before the successor, which is given its queues.
    trial.history[OWNER] = [record for record in trial.history[OWNER] if record.get("started_ns", 0) < at(4_000)]
    twice = trial.consumptions(group="g0", queue=0)[3]
    trial.consume_again(twice, process=SUCCESSOR, started_ns=at(4_800))
    _, properties = judged(trial)
    assert properties["nothing twice"].verdict == "undecided"
    assert properties["nothing twice"].words == f"{CUT}; so far: 1 consumptions beyond the first, in 2 queues"
    assert not (tmp_path / "run" / "analysis" / "until").exists()


def test_two_acknowledgements_of_one_offset_refute_and_a_queue_that_lags_as_the_load_is_ended_does_not(
    judged: Judge,
) -> None:
    trial = _killed(status="failed", error="no room left")
    trial.store_max(109, queue=0)
    _, properties = judged(trial)
    agrees = properties["store agrees"]
    assert agrees.verdict == "undecided"
    assert agrees.words.startswith(f"{CUT}; 1 of 2 queues were not read at the end: 109 messages in 1 queues, 220 ack")
    assert agrees.words.endswith("0 offsets acknowledged twice, 1 queues shorter than was acknowledged")

    again = next(record for record in trial.history["producer"] if record["type"] == "send")
    trial.record("producer", "send", **{**again, "seq": 999})
    _, properties = judged(trial)
    assert (properties["store agrees"].verdict, properties["store agrees"].count) == ("refuted", 1)


def test_a_queue_that_was_not_read_leaves_a_load_undecided_that_reached_its_end(judged: Judge) -> None:
    trial = own_load()
    trial.drop(lambda record: record["type"] == "store_max" and record["queue"] == 1)
    found, properties = judged(trial)
    undecided = {name: one.words for name, one in properties.items() if one.verdict == "undecided"}
    assert {"all arrived", "nothing lost", "store agrees"} == undecided.keys() - {"Locust agrees"}
    assert undecided["nothing lost"] == "1 of 2 queues were not read at the end"
    assert properties["nothing twice"].verdict == "confirmed"
    assert found.lines()[1].startswith("client java")

    trial.drop(lambda record: record["type"] == "store_max")
    trial.store_max(109, queue=0)
    _, properties = judged(trial)
    assert (properties["store agrees"].verdict, properties["store agrees"].count) == ("refuted", 1)


def test_a_load_that_was_cut_off_in_a_stall_is_not_compared_with_the_model(judged: Judge) -> None:
    trial = stall("load", refused=44)
    trial.params, trial.status = {"rate_hz": 100.0}, "running"
    for event in trial.events:
        if event["type"] == "fault":
            event["number"] = 1
    _cut(trial, 1_500)
    found, properties = judged(trial)
    assert properties["refusals as predicted"].verdict == "undecided"
    assert properties["faults took effect"].words.startswith(f"{CUT}; so far: append-stall")
    assert {one.verdict for one in found.findings} == {"undecided"}
