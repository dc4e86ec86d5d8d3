"""Groups of rows of tables in Parquet, one at a time, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.interrupts import stop_if_interrupted

NONE = int(np.iinfo(np.int64).min)
"""In an array of numbers: there is no value."""

_COUNTED_MAX = 2**20
"""Numbers below it are counted, others sorted."""

Numbers = npt.NDArray[np.int64]
Columns = dict[str, Numbers]
Place = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """A group of rows in a file."""

    path: Path
    metadata: pq.FileMetaData
    names: Sequence[str]
    """Its columns."""
    number: int

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.metadata.row_group(self.number).num_rows)

    def statistics(self, name: str) -> pq.Statistics | None:
        """The least and the greatest value of a column that has no null, where they are told."""
        if name not in self.names:
            return None
        told = self.metadata.row_group(self.number).column(self.names.index(name)).statistics
        return told if told is not None and told.has_min_max and told.null_count == 0 else None

    def columns(self, *names: str, as_numbers: Sequence[str] = ()) -> pa.Table:
        """Some columns; of ``as_numbers`` each text is a number in a dictionary."""
        with pq.ParquetFile(self.path, metadata=self.metadata, read_dictionary=as_numbers, memory_map=True) as file:
            return file.read_row_group(self.number, columns=names, use_threads=False)

    def read(self, texts: Sequence[str], numbers: Sequence[str], needed: Sequence[str]) -> pa.Table:
        """Those columns, texts as dictionaries, of the rows that have all ``needed`` ones."""
        stop_if_interrupted()
        # In a large history most texts are alike in all rows of a group.
        told = {name: self.statistics(name) for name in texts}
        alike = {name: str(one.min) for name, one in told.items() if one is not None and one.min == one.max}
        table = self.columns(*(name for name in (*texts, *numbers) if name not in alike), as_numbers=texts)
        for name, value in alike.items():
            same = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), table.num_rows), [value])
            table = table.append_column(name, same)
        for name in needed:
            if table[name].null_count:
                table = table.filter(pc.is_valid(table[name]))
        return table


def row_groups(folder: Path) -> Iterator[RowGroup]:
    """All of the files in a folder; none where there is none."""
    for path in sorted(folder.glob("*.parquet")):
        metadata = pq.read_metadata(path)
        names = metadata.schema.to_arrow_schema().names
        for number in range(metadata.num_row_groups):
            yield RowGroup(path=path, metadata=metadata, names=names, number=number)


def numbers_of(table: pa.Table, name: str) -> Numbers:
    """A column of whole numbers; ``NONE`` where there is no value."""
    column = table[name]
    return np.asarray(column.cast(pa.int64()).fill_null(NONE) if column.null_count else column, np.int64)


def placed(table: pa.Table, texts: Sequence[str], number: str) -> tuple[list[Place], npt.NDArray[np.uint16] | Numbers]:
    """The different values of these columns together, and which of them each row has: small numbers are sorted in one pass."""
    columns = [table[name].unify_dictionaries().combine_chunks() for name in texts]
    # What all rows have alike tells none from another.
    varied = [at for at, one in enumerate(columns) if len(one.dictionary) > 1]
    last = numbers_of(table, number)
    # No queue has such a number, whatever a record says, and no place in an array.
    is_strange = last.min(initial=0) < 0 or last.max(initial=0) > _COUNTED_MAX
    known, last = np.unique(last, return_inverse=True) if is_strange else (None, last)
    parts = [*(np.asarray(columns[at].indices, np.int64) for at in varied), last]
    sizes = [*(len(columns[at].dictionary) for at in varied), int(parts[-1].max(initial=0)) + 1]
    distinct, which = _ranked(np.ravel_multi_index(parts, sizes), int(np.prod(sizes)))
    codes = dict(zip((*varied, len(columns)), np.unravel_index(distinct, sizes), strict=True))
    same = np.zeros(len(distinct), np.int64)
    names = [one.dictionary.take(pa.array(codes.get(at, same))).to_pylist() for at, one in enumerate(columns)]
    numbers = codes[len(columns)] if known is None else known[codes[len(columns)]]
    places: list[Place] = list(zip(*names, numbers.tolist(), strict=True))
    return places, which.astype(np.uint16) if len(places) <= np.iinfo(np.uint16).max else which


def _ranked(numbers: Numbers, below: int) -> tuple[Numbers, Numbers]:
    """The different numbers in their order, and for each number which of them it is."""
    if below > _COUNTED_MAX:
        distinct, which = np.unique(numbers, return_inverse=True)
        return distinct, which
    distinct = np.flatnonzero(np.bincount(numbers, minlength=below))
    rank = np.zeros(below, np.int64)
    rank[distinct] = np.arange(len(distinct))
    return distinct, rank[numbers]
