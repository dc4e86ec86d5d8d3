"""Acknowledged sends as chunks of 64 offsets, made by threads of this process from the histories' columns, without Spark."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.evidence.arrow import arrow_columns
from analysis.evidence.row_groups import Columns, Place, RowGroup, numbers_of, placed, row_groups
from analysis.evidence.tables import BITS, SENT

_NAMES = ("trial", "topic", "broker")


def sent_chunks(history: Path, threads: int) -> pa.Table:
    """Of a table of histories, with the columns ``SENT``."""
    with ThreadPoolExecutor(max_workers=threads) as pool:
        found = [one for one in pool.map(_of_group, row_groups(history / "type=send")) if one is not None]
    if not found:
        return pa.table({name: pa.array([], kind) for name, kind in arrow_columns(SENT).items()})
    queues: dict[Place, int] = {}
    numbers = [np.array([queues.setdefault(place, len(queues)) for place in places]) for places, _ in found]
    columns = {name: np.concatenate([one[name] for _, one in found]) for name in found[0][1]}
    columns["place"] = np.concatenate([of[one["place"]] for of, (_, one) in zip(numbers, found, strict=True)])
    order = np.lexsort((columns["chunk"], columns["place"]))
    whole = _chunks({name: values[order] for name, values in columns.items()})
    texts = dict(zip((*_NAMES, "queue"), zip(*queues, strict=True), strict=True))
    made = {name: pa.array(values).take(pa.array(whole["place"])) for name, values in texts.items()}
    made |= {name: pa.array(values) for name, values in whole.items()}
    return pa.table({name: made[name].cast(kind) for name, kind in arrow_columns(SENT).items()})


def _of_group(group: RowGroup) -> tuple[list[Place], Columns] | None:
    table = group.read((*_NAMES, "outcome"), ("queue", "offset"), needed=(*_NAMES, "queue", "offset"))
    table = table.filter(pc.equal(table["outcome"].cast(pa.string()), "ok"))
    if not table.num_rows:
        return None
    places, place = placed(table, _NAMES, "queue")
    order = np.argsort(place, kind="stable")
    offset = numbers_of(table, "offset")[order]
    rows = {
        "place": place[order].astype(np.int64),
        "chunk": offset // BITS,
        "sends": np.ones(len(offset), np.int64),
        "offsets": np.left_shift(np.int64(1), offset % BITS),
        "offset_max": offset,
    }
    return places, _chunks(rows)


def _chunks(rows: Columns) -> Columns:
    """Neighbouring rows of one queue and chunk as one."""
    place, chunk = rows["place"], rows["chunk"]
    first = np.flatnonzero(np.append(True, (place[1:] != place[:-1]) | (chunk[1:] != chunk[:-1])))
    return {
        "place": place[first],
        "chunk": chunk[first],
        "sends": np.add.reduceat(rows["sends"], first),
        "offsets": np.bitwise_or.reduceat(rows["offsets"], first),
        "offset_max": np.maximum.reduceat(rows["offset_max"], first),
    }
