"""Queues and unseen sends say what their records say, one by one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.evidence import columns, unseen
from analysis.evidence.columns import write_histories
from analysis.evidence.queues import OWNER, SUCCESSOR, queues_of
from analysis.evidence.sent import sent_chunks
from analysis.evidence.strides import strides_of
from analysis.evidence.unseen import unseen_sends
from harness.rundir.manifest import TrialRecord
from tests.lib.consumptions import WINDOWS, Told, consumptions, told_by_each, write
from tests.lib.trials import Record

Histories = Mapping[tuple[str, str], Sequence[Record]]
PLACES = ("last_at", "not_ahead_at", "taken_at", "owned_at", "delay_max_at")


def _written(found: Histories, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # One group of rows for all, or many.
    monkeypatch.setattr(columns, "ROWS_OF_GROUP", (100_000, 150)[seed % 2])
    monkeypatch.setattr(columns, "PIECE_BYTES", 20_000)
    write_histories(write(found, tmp_path), tmp_path / "tables", threads=1 + seed % 3)
    return tmp_path / "tables"


# --- queues -----------------------------------------------------------------------------------------------------------


def _members(found: Histories) -> dict[tuple[str, str, int], tuple[int | None, int | None]]:
    """By queue: when the successor took it, and until when the owner had it."""
    taken: dict[tuple[str, str, int], int] = {}
    owned: dict[tuple[str, str, int], int] = {}
    queues = set()
    for (trial, process), records in found.items():
        fault_ns = WINDOWS[trial].fault_ns
        for one in records:
            key, started_ns = (trial, one["group"], one["queue"]), one["started_ns"]
            queues.add(key)
            if fault_ns is None:
                continue
            if process == SUCCESSOR and started_ns >= fault_ns:
                taken[key] = min(started_ns, taken.get(key, started_ns))
            if process == OWNER and started_ns < fault_ns:
                ended_ns = min(one["finished_ns"] or started_ns, fault_ns)
                owned[key] = max(ended_ns, owned.get(key, ended_ns))
    return {key: (taken.get(key), owned.get(key)) for key in queues}


def _numbers(told: Told, members: tuple[int | None, int | None]) -> dict[str, int | None]:
    return {
        "consumptions": told.consumptions,
        "steps_ahead": told.steps_ahead,
        "different_offsets": len(told.offsets),
        "offset_max": max(told.offsets),
        "taken_ns": members[0],
        "owned_ns": members[1],
        "timed": told.timed,
        "over_1s": told.over_1s,
        "late_in_10s": told.late_in_10s,
        "delay_ns_max": told.delay_ns_max,
    }


def _shown(found: Histories, row: Mapping[str, Any]) -> dict[str, int | None]:
    """What the records show that are cited."""
    cited = {name: None if row[name] is None else _record(found, row[name]) for name in PLACES}
    begun = {name: None if one is None else one["started_ns"] for name, one in cited.items()}
    late = cited["delay_max_at"]
    return {**begun, "delay_max_at": None if late is None else late["started_ns"] - late["intended_ns"]}


def _record(found: Histories, place: Mapping[str, Any]) -> Record:
    _, trial, _, file = place["file"].split("/")
    record: Record = found[trial, file.removesuffix(".jsonl")][place["line"] - 1]
    return record


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_of_queues_is_what_their_consumptions_say(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = consumptions(seed)
    strides = strides_of(_written(found, seed, tmp_path, monkeypatch), WINDOWS, threads=2)
    assert strides is not None
    rows = {(row["trial"], row["group"], row["queue"]): row for row in queues_of(strides, WINDOWS).to_pylist()}
    each, members = told_by_each(found), _members(found)
    assert {key: {name: row[name] for name in _numbers(Told(offsets={0}), (0, 0))} for key, row in rows.items()} == {
        key: _numbers(told, members[key]) for key, told in each.items()
    }
    for key, row in rows.items():
        shown, told = _shown(found, row), each[key]
        assert shown["last_at"] == (told.last or [None])[0]
        assert shown["not_ahead_at"] == (told.not_ahead or [None])[0]
        assert (shown["taken_at"], shown["delay_max_at"]) == (row["taken_ns"], row["delay_ns_max"])
        assert (shown["owned_at"] is None) == (row["owned_ns"] is None)


def test_queues_of_a_trial_that_the_run_does_not_know_are_left_out(tmp_path: Path) -> None:
    write_histories(write(consumptions(1), tmp_path), tmp_path / "tables", threads=1)
    strides = strides_of(tmp_path / "tables", WINDOWS, threads=1)
    assert strides is not None
    assert set(queues_of(strides, {"two": WINDOWS["two"]})["trial"].to_pylist()) == {"two"}
    assert queues_of(strides, {}).num_rows == 0


# --- sends ------------------------------------------------------------------------------------------------------------


def _trial(name: str) -> TrialRecord:
    return TrialRecord(
        trial=name, incident="load", arm="load", params={}, release="4.6.0", client="java 4.6.0", backend="local",
        injection="none", deployment="d1", repetition=1, seed=1, topic=f"T-{name}", groups=("g0", "g1"),
    )  # fmt: skip


def _sends(seed: int, messages: int = 400) -> list[dict[str, Any]]:
    """To two queues that are consumed from, one that is not, and another topic; some twice, some failed, some without a place."""
    chance = random.Random(seed)
    return [
        {
            "type": "send", "process": "producer", "instance": "p", "topic": topic, "broker": "broker-a", "queue": queue,
            "offset": None if chance.random() < 0.01 else offset, "seq": offset,
            "outcome": "failed" if chance.random() < 0.01 else "ok", "started_ns": offset, "finished_ns": offset,
        }
        for offset in range(messages)
        for topic, queue in (("T-one", 0), ("T-one", 3), ("T-one", 5), ("T-other", 0))
        for _ in range(1 + (chance.random() < 0.01))
    ]  # fmt: skip


def _unseen_by_each(found: Histories, sends: Sequence[Record]) -> list[tuple[Any, ...]]:
    seen: dict[str, set[tuple[str, int, int]]] = defaultdict(set)
    for (trial, _), records in found.items():
        for one in records:
            if trial == "one" and one["type"] == "consume":
                seen[one["group"]].add(("T-one", one["queue"], one["offset"]))
    return sorted(
        (
            "one",
            group,
            one["topic"],
            "broker-a",
            one["queue"],
            one["offset"],
            "trials/one/history/producer.jsonl",
            one["n"],
        )
        for one in sends
        for group in ("g0", "g1")
        if one["outcome"] == "ok" and one["offset"] is not None
        if (one["topic"], one["queue"], one["offset"]) not in seen[group]
    )


@pytest.mark.parametrize("seed", range(8))
def test_unseen_are_the_acknowledged_sends_that_a_group_did_not_consume(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sends = _sends(seed)
    found = {**consumptions(seed), ("one", "producer"): sends}
    history = _written(found, seed, tmp_path, monkeypatch)
    strides, sent = strides_of(history, WINDOWS, threads=2), sent_chunks(history, threads=2)
    assert strides is not None
    made = unseen_sends(history, strides, sent, [_trial("one")], threads=2)
    assert made is not None
    rows = sorted(tuple(row.values()) for row in made.to_pylist())
    assert rows == _unseen_by_each(found, sends)
    assert len(rows) > 800
    none = unseen_sends(history, strides, sent, [], threads=2)
    assert none is not None
    assert none.num_rows == 0


def test_very_many_of_them_are_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen, "UNSEEN_MAX", 100)
    history = _written({**consumptions(1), ("one", "producer"): _sends(1)}, 1, tmp_path, monkeypatch)
    strides, sent = strides_of(history, WINDOWS, threads=2), sent_chunks(history, threads=2)
    assert strides is not None
    assert unseen_sends(history, strides, sent, [_trial("one")], threads=2) is None
