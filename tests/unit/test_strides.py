"""Strides say the same of a queue as all of its consumptions do, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.evidence import columns, strides
from analysis.evidence.columns import write_histories
from analysis.evidence.strides import strides_of
from tests.lib.consumptions import WINDOWS, consumptions, told_by_each, told_by_strides, write
from tests.lib.trials import FAULT_NS, MS


@pytest.mark.parametrize("seed", range(12))
def test_what_strides_say_of_queues_is_what_their_consumptions_say(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One group of rows for all, or many.
    monkeypatch.setattr(columns, "ROWS_OF_GROUP", (100_000, 150)[seed % 2])
    monkeypatch.setattr(columns, "PIECE_BYTES", 20_000)
    found = consumptions(seed)
    write_histories(write(found, tmp_path), tmp_path / "tables", threads=1 + seed % 3)
    made = strides_of(tmp_path / "tables", WINDOWS, threads=2)
    assert made is not None
    assert told_by_strides(made.to_pylist()) == told_by_each(found)


def _in_order(count: int) -> list[dict[str, object]]:
    return [
        {
            "type": "consume", "process": "owner", "instance": "g0-owner", "group": "g0", "topic": "T-one", "broker": "broker-a",
            "queue": 0, "offset": offset, "started_ns": FAULT_NS + offset * MS, "finished_ns": FAULT_NS + offset * MS + 1,
            "intended_ns": FAULT_NS + offset * MS, "outcome": "ok",
        }
        for offset in range(count)
    ]  # fmt: skip


def test_what_is_in_order_is_one_stride_a_chunk(tmp_path: Path) -> None:
    write_histories(write({("one", "owner"): _in_order(640)}, tmp_path), tmp_path / "tables", threads=1)
    made = strides_of(tmp_path / "tables", WINDOWS, threads=1)
    assert made is not None
    assert made["consumptions"].to_pylist() == [64] * 10
    assert made["steps_ahead"].to_pylist() == [64] * 10
    # All 64 bits, as Spark's numbers have a sign.
    assert set(made["offsets"].to_pylist()) == {-1}


def test_the_last_offset_of_a_chunk_alone_has_its_bit(tmp_path: Path) -> None:
    write_histories(write({("one", "owner"): _in_order(64)[63:]}, tmp_path), tmp_path / "tables", threads=1)
    made = strides_of(tmp_path / "tables", WINDOWS, threads=1)
    assert made is not None
    assert made["offsets"].to_pylist() == [-(2**63)]


def test_where_nearly_nothing_is_in_order_there_are_no_strides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_histories(write(consumptions(1), tmp_path), tmp_path / "tables", threads=1)
    monkeypatch.setattr(strides, "STRIDES_MAX", 10)
    assert strides_of(tmp_path / "tables", WINDOWS, threads=1) is None


def test_a_run_that_consumed_nothing_has_none(tmp_path: Path) -> None:
    write_histories({}, tmp_path / "tables", threads=1)
    made = strides_of(tmp_path / "tables", WINDOWS, threads=1)
    assert made is not None
    assert made.num_rows == 0
