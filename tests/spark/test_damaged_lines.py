"""Bytes that are no text, and numbers that no column has, make damaged lines, whoever reads them. A run with such is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.evidence import records
from analysis.evidence.records import load_records
from analysis.evidence.trials import trial_facts
from harness.rundir.reading import read_run_directory
from tests.lib.judged_loads import judge_load_in, shown
from tests.lib.own_scenarios import handover, own_load, stall
from tests.lib.runs import Analysis, Run
from tests.lib.trials import OWNER, at

HOSTILE = (
    b'"offset":9223372036854775808', b'"offset":9223372036854775807', b'"offset":-4611686018427387904',
    b'"offset":1' + b"0" * 5000, b'"offset":1.5', b'"offset":"x"', b'"offset":[[1]]', b'"key":"\x80"', b'"key":"\xff\xfe"',
    b'"key":"\xe4\xbd"', b'"k\xffy":1', b'"key":' + b"[" * 3000, b'"queue":2147483648', b'"key":"a\rb"', b"'key':1",
)  # fmt: skip
HARMLESS = (b'"key":"\xe4\xbd\xa0"', b'"offset":4611686018427387903', b'"queue":-2147483648', b'"unknown":1')


def _damage(path: Path, run: Path) -> None:
    """A line for each hostile value, and one for each that is none, in the owner's history and in the events."""
    history, events = path / "history" / f"{OWNER}.jsonl", path / "events.jsonl"
    started = (
        b'"process":"owner","instance":"g0-owner","group":"g0","topic":"T-%s","broker":"broker-a"' % run.name.encode()
    )
    for value in (*HOSTILE, *HARMLESS):
        with history.open("ab") as out:
            out.write(b'{"type":"consume","n":1,' + started + b',"started_ns":1,"outcome":"ok",' + value + b"}\n")
    with events.open("ab") as out:
        for value in HOSTILE:
            named = value.replace(b"offset", b"max_offset").replace(b"key", b"topic")
            out.write(b'{"type":"log_end","n":1,"broker":"broker-a","queue":0,' + named + b"}\n")


@pytest.mark.parametrize("by_spark", [False, True], ids=["by Arrow", "by Spark"])
def test_both_readers_find_the_same_lines_damaged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_spark: bool
) -> None:
    monkeypatch.setattr(records, "is_read_here", lambda run, master: not by_spark)
    path = Run(path=tmp_path / "run", incidents=("load",), trials=[own_load()]).save()
    run = read_run_directory(path)
    before = _counts(spark, path)
    _damage(path / "trials" / "load", path)
    (path / "analysis").rename(path / "before")
    after = _counts(spark, path)
    assert after - before == Counter(damaged=len(HOSTILE), consume=len(HARMLESS))
    (facts,) = trial_facts(records.stored_records(spark, run), run)
    assert facts.damaged_lines == 2 * len(HOSTILE)


def _counts(spark: SparkSession, path: Path) -> Counter[str]:
    (path / "analysis").mkdir()
    whole = load_records(spark, read_run_directory(path)).whole
    return Counter({row["type"]: row["count"] for row in whole.groupBy("type").count().collect()})


def test_a_load_with_hostile_lines_is_judged(spark: SparkSession, tmp_path: Path) -> None:
    path = Run(path=tmp_path / "run", incidents=("load",), trials=[own_load()]).save()
    _damage(path / "trials" / "load", path)
    found = judge_load_in(spark, read_run_directory(path))
    told = shown(found.findings)
    assert (told["history whole"].verdict, told["history whole"].count) == ("refuted", 2 * len(HOSTILE))
    assert "\n".join(found.lines()).encode()


def test_a_load_whose_records_say_what_cannot_be_is_judged(spark: SparkSession, tmp_path: Path) -> None:
    trial = stall("load", refused=24)
    trial.params = {"rate_hz": "many", "shape": "constant", "workers": "all"}
    for event in trial.events:
        if event["type"] == "fault":
            event["number"] = 1
        if event["type"] == "append":
            event["exit_ns"] = event["entry_ns"]
    trial.event("fault", fault="kill-nobody", state="injecting", at_ns=at(1_000), target="", detail="", number=2)
    late = [record for record in trial.history["producer"] if record["type"] == "send"][-1]
    late["intended_ns"] = 2**61
    run = Run(path=tmp_path / "run", incidents=("load",), trials=[trial])
    run.deployment("d2", incident="load", conf={"waitTimeMillsInSendQueue": "nan", "osPageCacheBusyTimeOutMills": "-"})
    found = judge_load_in(spark, read_run_directory(run.save()))
    told = shown(found.findings)
    assert "kill-nobody at 0.8 s: no fault is named 'kill-nobody'" in told["faults took effect"].words
    assert [one.refused for one in found.faults] == [(), ()]
    assert found.figures.asked_per_s is None


def test_an_incident_with_hostile_lines_is_judged(
    analysed: Callable[..., Analysis], new_run: Callable[..., Run]
) -> None:
    path = new_run("handover", trials=[handover("one"), handover("two", deployment="d2")]).save()
    _damage(path / "trials" / "one", path)
    found = analysed(path)
    assert any(f"{2 * len(HOSTILE)} lines are no whole records" in note for note in found.notes("one"))
    assert found.notes("two") == []
