"""Histories become the tables that Spark would make of them, whatever lies between their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.evidence import columns
from analysis.evidence.columns import DAMAGED_TEXTS_MAX, pieces_of, tables_of, write_histories
from analysis.evidence.tables import DAMAGED

PLACE = "trials/t1/history/owner.jsonl"
SEND = {"type": "send", "n": 1, "process": "p", "topic": "T", "seq": 5, "queue": 3, "offset": 7, "outcome": "ok"}
LOCK = {"type": "rpc", "n": 2, "process": "p", "code": 41, "asked": ["broker-a:0", "broker-a:1"], "granted": None}


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _read(data: bytes) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, table in tables_of(data, PLACE):
        known = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
        found.setdefault(kind, []).extend(known)
    return found


def test_records_of_each_type_have_its_columns_their_file_and_their_trial() -> None:
    found = _read(_line({**SEND, "client": "java 4.6.0"}) + _line(LOCK))
    assert found == {
        "send": [{**{k: v for k, v in SEND.items() if k != "type"}, "file": PLACE, "trial": "t1"}],
        "rpc": [{**{k: v for k, v in LOCK.items() if k not in {"type", "granted"}}, "file": PLACE, "trial": "t1"}],
    }


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"type":"send","n":2', b'{"type":"send","n":', b'{"type":"send","pro', b'{"type":"send","seq":"x"}', b"{",
        b'{"type":"send","queue":3000000000}', b'{"type":5}', b"5", b"null", b"[1]", b'"text"', b"\x00\x00\x00", b"\xff\xfe{",
        b'{"type":"send"} and more', b'{"type":"send"}{"type":"send"}', b'{"type":"send","key":"\xff"}',
        b'{"type":"send","k\x80":1}', b'{"type":"send","seq":9223372036854775808}', b'{"type":"send","seq":1' + b"0" * 5000 + b"}",
        b'{"type":"send","seq":5.5}', b'{"type":"send","key":{"a":1}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["alone", "between", "at the end"])
def test_a_line_that_is_no_whole_record_is_damaged_and_takes_no_other_with_it(damaged: bytes, place: str) -> None:
    around = _line(SEND)
    data = {"alone": damaged, "between": around + damaged + b"\n" + around, "at the end": around + damaged}[place]
    found = _read(data)
    assert [one["damaged_text"] for one in found[DAMAGED]] == [damaged.decode(errors="replace")]
    assert len(found.get("send", ())) == {"alone": 0, "between": 2, "at the end": 1}[place]


def test_a_number_beyond_every_clock_and_count_damages_its_line() -> None:
    lines = [{**SEND, "seq": seq} for seq in (2**62, 1 - 2**62, 2**62 - 1, -(2**62), 2**63 - 1, -(2**63))]
    found = _read(b"".join(map(_line, lines)))
    assert [one["seq"] for one in found["send"]] == [1 - 2**62, 2**62 - 1]
    assert len(found[DAMAGED]) == 4


def test_lines_without_a_type_are_damaged_empty_ones_are_none_and_unknown_types_are_left_out() -> None:
    found = _read(b"\n\n" + _line({"n": 3}) + b"   \n" + _line({"type": "news", "n": 4}) + _line(SEND) + b"\n\n")
    assert {kind: len(rows) for kind, rows in found.items()} == {DAMAGED: 1, "send": 1}


def test_a_type_that_comes_late_has_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_SAMPLE_BYTES", 100)
    found = _read(_line(SEND) * 10 + _line(LOCK))
    assert found["rpc"][0]["asked"] == LOCK["asked"]
    assert len(found["send"]) == 10


@pytest.mark.parametrize("size", [1, 7, 40, 41, 1000])
def test_pieces_have_each_line_once(tmp_path: Path, size: int) -> None:
    data = b"".join(_line({"type": "send", "n": n, "topic": "T" * (n % 13)}) for n in range(1, 40)) + b'{"type":"se'
    path = tmp_path / "owner.jsonl"
    path.write_bytes(data)
    pieces = [piece.read() for piece in pieces_of(path, size)]
    assert b"".join(pieces) == data
    assert all(piece.endswith(b"\n") for piece in filter(None, pieces) if not piece.endswith(b"se"))


def test_of_many_damaged_lines_all_are_counted_and_some_are_kept() -> None:
    lines = [b"1\n", b"{}\n", b'{"type":"send","seq":"x"}\n', _line(SEND)]
    found = _read(b"".join(lines) * 300)
    texts = [one.get("damaged_text") for one in found[DAMAGED]]
    assert (len(found["send"]), len(texts)) == (300, 900)
    assert {text: texts.count(text) for text in texts} == {"1": DAMAGED_TEXTS_MAX, None: 900 - DAMAGED_TEXTS_MAX}


def test_what_is_kept_of_damaged_lines_does_not_grow_with_them(tmp_path: Path) -> None:
    for line, count in ((b"{}\n", 3_000_000), (b"1\n", 3_000_000), (b'{"type":"send"}\n', 1_000_000)):
        data = line * count
        before = pa.total_allocated_bytes()
        rows = 0
        for _, table in tables_of(data, f"trials/{'t' * 200}/history/owner.jsonl"):
            assert table.nbytes < 2**28
            rows += table.num_rows
        assert rows == count
        assert pa.total_allocated_bytes() - before < 2**28


def test_an_interrupt_ends_the_halving_of_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter([False] * 5 + [True])

    def stop() -> None:
        if next(asked):
            raise KeyboardInterrupt

    monkeypatch.setattr(columns, "stop_if_interrupted", stop)
    with pytest.raises(KeyboardInterrupt):
        _read((_line(SEND) + b'{"type":5}\n') * 1000)


def test_small_histories_share_a_group_of_rows(tmp_path: Path) -> None:
    histories = {f"trials/t{n}/history/owner.jsonl": tmp_path / f"{n}.jsonl" for n in range(20)}
    for path in histories.values():
        path.write_bytes(_line(SEND) * 3)
    write_histories(histories, tmp_path / "tables", threads=1)
    (file,) = (tmp_path / "tables").glob("type=send/*.parquet")
    assert pq.read_metadata(file).num_row_groups == 1
    assert set(pq.read_table(file, partitioning=None)["trial"].to_pylist()) == {f"t{n}" for n in range(20)}
