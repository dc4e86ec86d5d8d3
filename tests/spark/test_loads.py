"""A load judged: what a client did not tell is found by the numbers in bodies, or not decided; never green for want of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.load import figures
from analysis.load.judged import JudgedLoad
from harness.rundir.reading import read_run_directory
from tests.lib.judged_loads import Shown, judge_load_in, shown
from tests.lib.own_scenarios import own_load
from tests.lib.runs import Run
from tests.lib.trials import Record, Trial

PLACE = ("broker", "queue", "offset")

Judge = Callable[..., tuple[JudgedLoad, dict[str, Shown]]]


@pytest.fixture
def load() -> Trial:
    """One whose every property holds."""
    return own_load()


@pytest.fixture
def judged(spark: SparkSession, tmp_path: Path) -> Judge:
    def judge(trial: Trial, run: str = "run") -> tuple[JudgedLoad, dict[str, Shown]]:
        path = Run(path=tmp_path / run, incidents=("handover",), trials=[trial]).save()
        found = judge_load_in(spark, read_run_directory(path))
        return found, shown(found.findings)

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
    assert {properties[name].verdict for name in names} == {"confirmed"}
    assert (found.figures.unplaced, found.figures.unknown) == (0, 0)

    _tell_no_place(load)
    found, properties = judged(load, "without")
    assert {properties[name].verdict for name in names} == {"confirmed"}
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
    assert (lost.verdict, lost.count) == ("refuted", 1)
    assert "of 219 messages in the stores 219 were consumed" in lost.words
    cited = json.loads((tmp_path / "run" / lost.file).read_text().splitlines()[lost.line - 1])
    assert (cited["type"], cited["seq"]) == ("send", last["seq"])
    assert (properties["store agrees"].verdict, properties["store agrees"].count) == ("refuted", 1)


def test_a_client_that_sends_again_by_itself_is_found_by_its_numbers(load: Trial, judged: Judge) -> None:
    _tell_no_place(load)
    first = load.consumptions(group="g0", queue=0)[0]
    load.consume_again(first, process="owner", started_ns=first["started_ns"] + 1_000)
    load.history["owner"][-1]["offset"] = 110
    _, properties = judged(load)
    assert (properties["stored once"].verdict, properties["stored once"].count) == ("refuted", 1)
    assert properties["nothing twice"].verdict == "confirmed"


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
    assert properties["a key, a queue"].verdict == "undecided"


def test_unknown_sends_are_set_apart_and_those_that_arrived_are_told(load: Trial, judged: Judge) -> None:
    for send in _sends(load)[:3]:
        send |= {"outcome": "unknown", "remark": "the client did not return"}
    gone = _sends(load)[0]
    load.drop(lambda record: record["type"] == "consume" and record["seq"] == gone["seq"])
    found, properties = judged(load)
    assert (found.figures.unknown, found.figures.unknown_arrived) == (3, 2)
    assert properties["all arrived"].verdict == "confirmed"


def test_what_others_send_to_a_users_topic_is_left_out_and_a_changed_body_is_not(load: Trial, judged: Judge) -> None:
    others, changed = load.consumptions(group="g0", queue=0)[:2], load.consumptions(group="g0", queue=1)[0]
    for record in others:
        record |= {"outcome": "foreign"}
    _, properties = judged(load, "own")
    assert (properties["bodies whole"].verdict, properties["bodies whole"].count) == ("refuted", 2)

    load.backend = "given"
    _, properties = judged(load, "given")
    assert (properties["bodies whole"].verdict, properties["bodies whole"].count) == ("confirmed", 0)
    assert properties["bodies whole"].words.startswith("218 of 218 bodies")
    assert properties["bodies whole"].words.endswith("; 2 messages of others are left out")

    changed |= {"outcome": "failed", "error": "changed body"}
    _, properties = judged(load, "changed")
    assert (properties["bodies whole"].verdict, properties["bodies whole"].count) == ("refuted", 1)


def test_what_lay_in_a_users_topic_before_does_not_stand_in_for_what_was_lost(load: Trial, judged: Judge) -> None:
    _tell_no_place(load)
    for queue in (0, 1):
        load.store_max(110, queue=queue, moment="begin")
    _, properties = judged(load)
    assert (properties["store agrees"].verdict, properties["store agrees"].count) == ("refuted", 220)
    assert properties["store agrees"].words.startswith("0 messages in 2 queues, 220 acknowledged")
    assert "of 0 messages in the stores 220 were consumed" in properties["nothing lost"].words


def test_a_load_whose_parts_lie_on_other_machines_is_not_whole(load: Trial, judged: Judge) -> None:
    load.params["workers"] = 3
    _, properties = judged(load)
    for name in ("history whole", "Locust agrees"):
        assert properties[name].verdict == "undecided"
        assert "the histories of 3 workers are missing" in properties[name].words


def test_of_many_sends_percentiles_are_within_a_rank(
    load: Trial, judged: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, send in enumerate(_sends(load)):
        send["started_ns"] = send["intended_ns"] + 1_000 * number
        send["finished_ns"] = send["intended_ns"] + 1_000_000 * (1 + number)
    exact, _ = judged(load)
    monkeypatch.setattr(figures, "EXACT_SENDS_MAX", 219)
    close, _ = judged(load, "many")
    # Exact ones lie between two sends, the others are one of the two.
    assert exact.figures.latency_ms == pytest.approx((110.5, 217.81, 219.781))
    assert close.figures.latency_ms == pytest.approx((110.5, 217.81, 219.781), abs=0.9)
    assert close.figures.late_ms == pytest.approx((0.1095, 0.21681, 0.218781), abs=0.0009)
    assert set(close.figures.latency_ms) <= {1.0 + number for number in range(220)}


def test_no_gap_of_a_clean_load_is_told(load: Trial, judged: Judge) -> None:
    found, _ = judged(load)
    gaps = found.unavailable
    assert gaps.sends is not None
    assert gaps.sends.seconds < 1.0
    assert gaps.key is not None
    assert gaps.key.seconds < 1.0
    assert not any(" was acknowledged for " in line or "was consumed for" in line for line in found.lines())


def test_the_longest_time_without_an_acknowledged_send_is_told_and_that_of_a_key_and_a_consumption(
    load: Trial, judged: Judge
) -> None:
    sends = _sends(load)
    start_ns = min(send["intended_ns"] for send in sends)
    for send in sends:
        second = (send["intended_ns"] - start_ns) / 1e9
        # For two seconds nobody gets an answer, and one key for two more.
        if 3.0 <= second < (7.0 if send["key"] == "k1" else 5.0):
            send |= {"outcome": "failed", "remark": "no master"}
            load.drop(lambda record, seq=send["seq"]: record["type"] == "consume" and record["seq"] == seq)  # type: ignore[misc]
    found, _ = judged(load)
    gaps = found.unavailable
    assert gaps.sends is not None
    assert gaps.key is not None
    assert gaps.consumption is not None
    assert gaps.sends.seconds == pytest.approx(2.0, abs=0.25)
    assert gaps.key.key == "k1"
    assert gaps.key.seconds == pytest.approx(4.0, abs=0.25)
    assert gaps.consumption.seconds == pytest.approx(2.0, abs=0.25)
    assert any(line.startswith("no send was acknowledged for ") for line in found.lines())
    assert any(line.startswith("none of key k1 for 4") for line in found.lines())


def test_what_is_never_acknowledged_again_counts_to_the_last_send_that_was_due(load: Trial, judged: Judge) -> None:
    sends = _sends(load)
    last_ns = max(send["intended_ns"] for send in sends)
    for send in sends:
        if send["intended_ns"] > last_ns - 3_000_000_000:
            send |= {"outcome": "failed", "remark": "no master"}
    found, _ = judged(load)
    assert found.unavailable.sends is not None
    assert found.unavailable.sends.seconds == pytest.approx(3.0, abs=0.25)
    assert found.unavailable.key is not None
    assert found.unavailable.key.seconds == pytest.approx(3.0, abs=0.25)
