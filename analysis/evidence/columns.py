"""Histories as columns: JSON lines into Parquet by threads of this process, at twice the speed of Spark's own reading.

It needs no Spark, so that it is done while that starts. A history is cut into pieces of whole lines; each thread takes the next
piece, and writes the records of each type to a file of its own.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from analysis.evidence.arrow import arrow_columns
from analysis.evidence.tables import CORRUPT_COLUMN, DAMAGED, HISTORY, WHOLE_BELOW
from analysis.interrupts import stop_if_interrupted
from harness.rundir import records

PIECE_BYTES = 32 * 2**20
"""Of a history at a time: with the columns made of it, each thread needs 150 MB."""

ROWS_OF_GROUP = 100_000
"""Small histories share a group of rows: to open one takes as long as to read thousands of rows."""

ROWS_PLACED = 2**18
"""Of a table at a time: more than a piece of whole records has."""

DAMAGED_TEXTS_MAX = 100
DAMAGED_BYTES_MAX = 2**16
"""Of the damaged lines of a piece so many are kept, and of each its beginning; the others are counted."""
TABLES_MAX = 64

_SAMPLE_BYTES = 64 * 2**10
_TYPE = re.compile(rb'"type":"(\w+)"')

_COLUMNS = arrow_columns(HISTORY)

_FIELDS: Mapping[str, Sequence[str]] = {
    kind.name: ["n", *(field.name for field in kind.fields if field.name in _COLUMNS)]
    for kind in records.HISTORY.values()
}


@dataclass(frozen=True, kw_only=True)
class Piece:
    """The lines of a history that begin at or after one byte and before another."""

    path: Path
    first: int
    end: int

    def read(self) -> bytes:
        """Its lines, which are all whole but for the last one of the file."""
        with self.path.open("rb") as file:
            if self.first:
                file.seek(self.first - 1)
                file.readline()
            data = file.read(max(0, self.end - file.tell()))
            return data + file.readline() if data and not data.endswith(b"\n") else data


def pieces_of(path: Path, size: int = PIECE_BYTES) -> Iterator[Piece]:
    """The file in pieces of about so many bytes."""
    length = path.stat().st_size
    return (Piece(path=path, first=first, end=min(first + size, length)) for first in range(0, length, size))


def write_histories(histories: Mapping[str, Path], folder: Path, threads: int) -> None:
    """Write the records by type to ``folder/type=send/`` and so on; a line that is no whole record has type ``damaged``.

    ``histories`` are the files by their place in the run, which becomes the column ``file``. ``folder`` must not be there.
    """
    folder.mkdir(parents=True)
    waiting: SimpleQueue[tuple[str, Piece]] = SimpleQueue()
    for place, path in histories.items():
        for piece in pieces_of(path):
            waiting.put((place, piece))
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for done in [pool.submit(_write_some, waiting, folder, number) for number in range(threads)]:
            done.result()


def _write_some(waiting: SimpleQueue[tuple[str, Piece]], folder: Path, number: int) -> None:
    with ExitStack() as closing:
        writers: dict[str, _Writer] = {}
        while True:
            stop_if_interrupted()
            try:
                place, piece = waiting.get_nowait()
            except Empty:
                return
            for kind, table in tables_of(piece.read(), place):
                if kind not in writers:
                    path = folder / f"type={kind}" / f"part-{number:05}.parquet"
                    writers[kind] = closing.enter_context(_Writer(path, table.schema))
                writers[kind].write(table)


class _Writer:
    """A file of Parquet, whose groups have enough rows each."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(exist_ok=True)
        # Numbers differ from row to row: a dictionary of them would be tried, and given up, in each group.
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        self._file = pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=texts)
        self._tables: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        self._tables.append(table)
        if sum(one.num_rows for one in self._tables) >= ROWS_OF_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._tables:
            self._file.write_table(pa.concat_tables(self._tables))
            self._tables.clear()

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._file.close()


@dataclass(kw_only=True)
class _Damaged:
    """The lines of a piece that are no whole records: how many, and the first of them. There may be one for every other byte."""

    count: int = 0
    texts: list[str] = dataclasses.field(default_factory=list)

    def add(self, line: bytes) -> None:
        self.count += 1
        if len(self.texts) < DAMAGED_TEXTS_MAX:
            self.texts.append(line[:DAMAGED_BYTES_MAX].decode(errors="replace"))

    def table(self) -> pa.Table:
        """A row for each; the text of one that is not among the first, or that has no text, is null."""
        rest = pa.nulls(self.count - len(self.texts), pa.string())
        return pa.table({CORRUPT_COLUMN: pa.chunked_array([pa.array(self.texts, pa.string()), rest])})


def tables_of(data: bytes, place: str) -> Iterator[tuple[str, pa.Table]]:
    """The records among the lines by type, each with its own columns, ``file`` and ``trial``, some rows at a time."""
    tables, damaged = _parsed(data)
    for parsed in tables:
        table = _below(parsed)
        kinds = table["type"]
        damaged.count += kinds.null_count + parsed.num_rows - table.num_rows
        present = pc.unique(kinds).to_pylist()
        # Of a type that is not declared nothing is known.
        for kind in filter(_FIELDS.__contains__, present):
            rows = table if len(present) == 1 else table.filter(pc.equal(kinds, kind))
            yield from ((kind, some) for some in _placed(rows.select(_FIELDS[kind]), place))
    if damaged.count:
        yield from ((DAMAGED, some) for some in _placed(damaged.table(), place))


def _below(table: pa.Table) -> pa.Table:
    """The rows whose numbers are those of a record."""
    for name in (field.name for field in table.schema if pa.types.is_int64(field.type)):
        least, most = pc.min_max(table[name]).values()
        if most.is_valid and (most.as_py() >= WHOLE_BELOW or least.as_py() <= -WHOLE_BELOW):
            is_below = pc.and_(pc.less(table[name], WHOLE_BELOW), pc.greater(table[name], -WHOLE_BELOW))
            table = table.filter(is_below.fill_null(True))
    return table


def _placed(table: pa.Table, place: str) -> Iterator[pa.Table]:
    """With its file and its trial, which take more memory than a short record: only so many rows have them at a time."""
    for first in range(0, table.num_rows, ROWS_PLACED):
        some = table.slice(first, ROWS_PLACED)
        # trials/TRIAL/history/PROCESS.jsonl
        for name, value in (("file", place), ("trial", place.split("/")[-3])):
            some = some.append_column(name, pa.repeat(value, some.num_rows))
        yield some


def _parsed(data: bytes) -> tuple[list[pa.Table], _Damaged]:
    """The records, and the lines that are none. Of all columns those of the types that are there: each takes time."""
    others = _Damaged()
    data, begun = _objects(data, others)
    expected = {name.decode() for name in _TYPE.findall(data, 0, _SAMPLE_BYTES)}
    damaged = dataclasses.replace(others, texts=[*others.texts])
    tables = _whole(data, begun, _schema(expected), damaged)
    present = {kind for table in tables for kind in pc.unique(table["type"]).to_pylist() if kind in _FIELDS}
    if not present <= expected:
        damaged = others
        tables = _whole(data, begun, _schema(expected | present), damaged)
    return tables, damaged


def _objects(data: bytes, others: _Damaged) -> tuple[bytes, int]:
    """The lines of text that begin as an object does, and how many these are. ``others`` gets the rest: Arrow takes ``null`` for a
    record, and falls over it, and bytes that are no UTF-8 for text, over which whoever reads the text falls."""
    lines, begun = _counted(data)
    if begun == lines and _is_text(data):
        return data, begun
    whole, begun = io.BytesIO(), 0
    for line in filter(bytes.strip, io.BytesIO(data)):
        if line.startswith(b"{") and _is_text(line):
            whole.write(line)
            begun += 1
        else:
            others.add(line.removesuffix(b"\n"))
    return whole.getvalue(), begun


def _counted(data: bytes) -> tuple[int, int]:
    """How many lines there are, and how many of them begin as an object does. Unlike methods of bytes, it leaves the other threads
    their turn meanwhile."""
    content = np.frombuffer(data, np.uint8)
    firsts = np.flatnonzero(content[:-1] == ord("\n")) + 1
    lines = len(firsts) + bool(data)
    return lines, int(np.count_nonzero(content[firsts] == ord("{"))) + data.startswith(b"{")


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _schema(kinds: Collection[str]) -> pa.Schema:
    names = dict.fromkeys(["type", "n", *(name for kind in sorted(kinds) for name in _FIELDS.get(kind, ()))])
    return pa.schema([(name, _COLUMNS[name]) for name in names])


def _whole(data: bytes, begun: int, schema: pa.Schema, damaged: _Damaged) -> list[pa.Table]:
    """The records of lines, of which so many begin as an object does. Lines with one that is no record, or that has two, are halved
    until it stands alone."""
    # To halve a piece until a million lines stand alone takes minutes.
    stop_if_interrupted()
    if not data:
        return []
    try:
        table = _read(data, schema)
        if table.num_rows == begun:
            return [table]
    except pa.ArrowInvalid:
        pass
    data = data.removesuffix(b"\n")
    half = len(data) // 2
    if (cut := data.find(b"\n", half)) < 0 and (cut := data.rfind(b"\n", 0, half)) < 0:
        damaged.add(data)
        return []
    halves = (data[:cut], data[cut + 1 :])
    tables = [table for some in halves for table in _whole(some, some.count(b"\n") + 1, schema, damaged)]
    # A table for a line each would take a hundred times the memory of the lines.
    return tables if len(tables) < TABLES_MAX else [pa.concat_tables(tables).combine_chunks()]


def _read(data: bytes, schema: pa.Schema) -> pa.Table:
    return pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data)),
        parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
