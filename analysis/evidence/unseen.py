"""Acknowledged sends that a group did not consume, found by this process among the histories' columns, without Spark.

Chunks of sends are compared with those of consumptions, as bits. What differs is little: its sends are looked up, in those groups
of rows alone that may have one of these offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.evidence.arrow import arrow_columns
from analysis.evidence.row_groups import RowGroup, row_groups
from analysis.evidence.tables import BITS, UNSEEN
from analysis.interrupts import stop_if_interrupted
from harness.rundir.manifest import TrialRecord

UNSEEN_MAX = 100_000
"""More of them are looked for by Spark."""

_SENT_KEY = ("trial", "topic", "broker", "queue")
_CHUNK_KEY = (*_SENT_KEY, "group", "chunk")
_TEXTS = ("trial", "topic", "broker", "outcome", "file")


def unseen_sends(
    history: Path, strides: pa.Table, sent: pa.Table, trials: Sequence[TrialRecord], threads: int
) -> pa.Table | None:
    """Of those trials in a table of histories, with the columns ``UNSEEN``; None where they are too many.

    ``strides`` and ``sent`` are made of the same table. A trial's groups consume from its topic.
    """
    chunks = _chunks(strides, sent, trials)
    if np.bitwise_count(np.asarray(chunks["bits"]).view(np.uint64)).sum() > UNSEEN_MAX:
        return None
    offsets = _offsets(chunks)
    columns = arrow_columns(UNSEEN)
    found = [pa.table({name: pa.array([], kind) for name, kind in columns.items()})]
    if offsets.num_rows:
        with ThreadPoolExecutor(max_workers=threads) as pool:
            looked_up = pool.map(lambda group: _of_group(group, offsets), row_groups(history / "type=send"))
            found += [one.select(list(columns)).cast(found[0].schema) for one in looked_up if one is not None]
    return pa.concat_tables(found)


def _chunks(strides: pa.Table, sent: pa.Table, trials: Sequence[TrialRecord]) -> pa.Table:
    """The chunks of sends of which a group did not consume all; ``bits`` are those that it did not."""
    rows = [{"trial": one.trial, "group": group, "topic": one.topic} for one in trials for group in one.groups]
    names = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in ("trial", "group", "topic")]))
    consumed = strides.select(["trial", "group", "broker", "queue", "chunk", "offsets"])
    consumed = consumed.filter(pc.is_valid(consumed["offsets"])).join(names, ["trial", "group"], join_type="inner")
    asked = sent.select([*_SENT_KEY, "chunk", "offsets"]).join(names.drop(["topic"]), "trial", join_type="inner")
    both = asked.join(consumed, list(_CHUNK_KEY), right_suffix="_consumed")
    bits = pc.bit_wise_and(both["offsets"], pc.bit_wise_not(both["offsets_consumed"].fill_null(0)))
    return both.append_column("bits", bits).filter(pc.not_equal(bits, 0)).select([*_CHUNK_KEY, "bits"])


def _offsets(chunks: pa.Table) -> pa.Table:
    """A row for each of the bits, with its ``offset``."""
    bits = np.asarray(chunks["bits"])[:, None] >> np.arange(BITS) & 1
    row, position = np.nonzero(bits)
    offset = np.asarray(chunks["chunk"])[row] * BITS + position
    return chunks.select([*_SENT_KEY, "group"]).take(pa.array(row)).append_column("offset", pa.array(offset))


def _of_group(group: RowGroup, offsets: pa.Table) -> pa.Table | None:
    """The acknowledged sends in it that have one of the offsets; None where its statistics tell that there is none."""
    stop_if_interrupted()
    wanted, told = np.unique(offsets["offset"]), group.statistics("offset")
    if told is not None and not np.any((wanted >= told.min) & (wanted <= told.max)):
        return None
    table = group.columns(*_TEXTS, "queue", "offset", "n", as_numbers=_TEXTS)
    few = table.filter(pc.is_in(table["offset"], pa.array(wanted)))
    few = few.cast(pa.schema([(one.name, pa.string() if one.name in _TEXTS else one.type) for one in few.schema]))
    return few.filter(pc.equal(few["outcome"], "ok")).join(offsets, [*_SENT_KEY, "offset"], join_type="inner")
