"""A load judged: what a client did not tell is found by the numbers in bodies, or not decided; never green for want of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.load.judge import JudgedLoad, judge_load_in
from analysis.load.properties import Property
from harness.rundir.reading import read_run_directory
from tests.lib.own_scenarios import handover
from tests.lib.runs import Run
from tests.lib.trials import Record, Trial

PLACE = ("broker", "queue", "offset")

Judge = Callable[..., tuple[JudgedLoad, dict[str, Property]]]


@pytest.fixture
def load() -> Trial:
    """A load without a fault: 110 messages in each of two queues, ordered by two keys, consumed by one group."""
    trial = handover("load", arm="baseline", fault="none")
    trial.groups, trial.params = ["g0"], {"route": "selector", "ordered": "yes", "rate_hz": 20.0}
    trial.drop(lambda record: record.get("group") == "g1")
    return trial


@pytest.fixture
def judged(spark: SparkSession, tmp_path: Path) -> Judge:
    def judge(trial: Trial, run: str = "run") -> tuple[JudgedLoad, dict[str, Property]]:
        path = Run(path=tmp_path / run, incidents=("handover",), trials=[trial]).save()
        found = judge_load_in(spark, read_run_directory(path))
        return found, {item.name: item for item in found.properties}

    return judge


def _sends(trial: Trial) -> list[Record]:
    return [record for record in trial.history["producer"] if record["type"] == "send"]


def _tell_no_place(trial: Trial) -> None:
    for send in _sends(trial):
        for name in PLACE:
            del send[name]


def test_a_clean_load_holds_whether_its_client_names_queues_or_not(load: Trial, judged: Judge) -> None:
    found, properties = judged(load)
    names = (
        "all arrived",
        "nothing lost",
        "nothing twice",
        "stored once",
        "in order",
        "store agrees",
        "a key, a queue",
    )
    assert {properties[name].holds for name in names} == {"holds"}
    assert (found.figures.unplaced, found.figures.unknown) == (0, 0)

    _tell_no_place(load)
    found, properties = judged(load, "without")
    assert {properties[name].holds for name in names} == {"holds"}
    assert found.figures.unplaced == 220
    assert "220 acknowledged, none of them with queue and offset" in properties["store agrees"].words
    assert any("did not tell queue and offset of 220" in line for line in found.lines())


def test_a_message_that_is_in_no_store_is_lost_though_its_client_named_no_queue(
    load: Trial, judged: Judge, tmp_path: Path
) -> None:
    _tell_no_place(load)
    last = _sends(load)[-1]
    load.drop(lambda record: record["type"] == "consume" and record["seq"] == last["seq"])
    for event in load.events:
        if event["type"] == "store_max" and event["queue"] == last["seq"] % 2:
            event["max_offset"] -= 1
    _, properties = judged(load)
    lost = properties["nothing lost"]
    assert (lost.holds, lost.count) == ("violated", 1)
    assert "of 219 messages in the stores 219 were consumed" in lost.words
    cited = json.loads((tmp_path / "run" / lost.file).read_text().splitlines()[lost.line - 1])
    assert (cited["type"], cited["seq"]) == ("send", last["seq"])
    assert (properties["store agrees"].holds, properties["store agrees"].count) == ("violated", 1)


def test_a_client_that_sends_again_by_itself_is_found_by_its_numbers(load: Trial, judged: Judge) -> None:
    _tell_no_place(load)
    first = load.consumptions(group="g0", queue=0)[0]
    load.consume_again(first, process="owner", started_ns=first["started_ns"] + 1_000)
    load.history["owner"][-1]["offset"] = 110
    _, properties = judged(load)
    assert (properties["stored once"].holds, properties["stored once"].count) == ("violated", 1)
    assert properties["nothing twice"].holds == "holds"


def test_a_key_that_moved_is_found_where_consumers_met_it(load: Trial, judged: Judge) -> None:
    _tell_no_place(load)
    moved = load.consumptions(group="g0", queue=1)[3]
    moved["key"] = "k0"
    of_another_run = load.consumptions(group="g0", queue=0)[3]
    of_another_run |= {"key": "k1", "outcome": "failed"}
    _, properties = judged(load)
    assert properties["a key, a queue"].count == 1
    assert "1 of 2 keys moved; k0 was in broker-a:0, broker-a:1" in properties["a key, a queue"].words


def test_keys_of_which_no_queue_is_known_are_not_taken_to_have_stayed(load: Trial, judged: Judge) -> None:
    _tell_no_place(load)
    for name in ("owner", "successor"):
        load.history[name] = [record for record in load.history[name] if record["type"] != "consume"]
    _, properties = judged(load)
    assert properties["a key, a queue"].holds == "undecided"


def test_unknown_sends_are_set_apart_and_those_that_arrived_are_told(load: Trial, judged: Judge) -> None:
    for send in _sends(load)[:3]:
        send |= {"outcome": "unknown", "remark": "the client did not return"}
    gone = _sends(load)[0]
    load.drop(lambda record: record["type"] == "consume" and record["seq"] == gone["seq"])
    found, properties = judged(load)
    assert (found.figures.unknown, found.figures.unknown_arrived) == (3, 2)
    assert properties["all arrived"].holds == "holds"
