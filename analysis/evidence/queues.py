"""Groups and queues folded of their strides by this process, without Spark; ``consumption.py`` folds Spark's own strides alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from analysis.evidence.arrow import arrow_columns
from analysis.evidence.row_groups import NONE, Numbers, numbers_of
from analysis.evidence.strides import LATE_WITHIN_NS, NEVER, OWNED_BEFORE_NS, Windows
from analysis.evidence.tables import QUEUES

OWNER, SUCCESSOR = "owner", "successor"
"""The client processes that hold every group's first and second member."""

_NAMES = ("trial", "group", "broker", "queue")
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class _Folding:
    """``first`` are the strides that queues begin with; ``queue`` numbers the queue of each stride."""

    strides: pa.Table
    first: Numbers
    queue: Numbers

    def sum(self, values: Numbers | Flags) -> pa.Array:
        """Of each queue."""
        return pa.array(np.add.reduceat(values.astype(np.int64), self.first))

    def greatest(self, values: Numbers, line: str) -> tuple[pa.Array, pa.Array]:
        """Of each queue, and where its stride has that line; null where all are ``NONE``."""
        found = np.maximum.reduceat(values, self.first)
        at = np.flatnonzero(values == found[self.queue])
        _, first = np.unique(self.queue[at], return_index=True)
        none = found == NONE
        place = [self.strides[name].take(pa.array(at[first])).combine_chunks() for name in ("file", line)]
        return pa.array(found, mask=none), pa.StructArray.from_arrays(place, ["file", "line"], mask=pa.array(none))

    def least(self, values: Numbers, line: str) -> tuple[pa.Array, pa.Array]:
        """The same."""
        found, place = self.greatest(np.where(values == NONE, NONE, -values), line)
        return pc.negate(found), place


def queues_of(strides: pa.Table, windows: Mapping[str, Windows]) -> pa.Table:
    """With the columns ``QUEUES``. ``strides`` are in their order; those of a trial without ``windows`` are left out."""
    strides = strides.filter(pc.is_in(strides["trial"], pa.array(list(windows), pa.string())))
    schema = pa.schema(list(arrow_columns(QUEUES).items()))
    if not strides.num_rows:
        return schema.empty_table()
    numbers = [_numbered(strides, name)[0] for name in _NAMES]
    first = np.flatnonzero(np.append(True, np.any([of[1:] != of[:-1] for of in numbers], axis=0)))
    queue = np.repeat(np.arange(len(first)), np.diff(np.append(first, strides.num_rows)))
    folding = _Folding(strides=strides, first=first, queue=queue)
    of_queue = [windows[trial] for trial in strides["trial"].take(pa.array(first)).to_pylist()]
    made = {name: strides[name].take(pa.array(first)) for name in _NAMES}
    made |= {"topic": pa.array([one.topic for one in of_queue])} | _folded(folding, of_queue)
    return pa.table([made[name] for name in schema.names], schema=schema)


def _folded(folding: _Folding, of_queue: Sequence[Windows]) -> dict[str, pa.Array]:
    consumptions, ahead, first, last, finished, intended, over_1s, longest = (
        numbers_of(folding.strides, name)
        for name in (
            "consumptions", "steps_ahead", "first_ns", "last_ns", "finished_ns", "intended_ns", "over_1s", "delay_ns_max",
        )
    )  # fmt: skip
    fault = np.array([NEVER if one.fault_ns is None else one.fault_ns for one in of_queue])[folding.queue]
    hold = np.array([NONE if one.hold_to_ns is None else one.hold_to_ns for one in of_queue])[folding.queue]
    bits = np.bitwise_count(np.asarray(folding.strides["offsets"].fill_null(0)).view(np.uint64))
    process = _processes(folding.strides)
    is_ahead, is_after = ahead > 0, first >= fault
    timed = is_ahead & (intended >= fault - OWNED_BEFORE_NS) & (intended <= hold)
    soon = timed & (intended >= fault) & (intended <= fault + LATE_WITHIN_NS)
    # A listener that is at work when the fault comes has the queue, however long ago it began.
    at_work = np.minimum(np.where(finished == NONE, last, finished), fault)
    owned = (process == OWNER) & ~is_after & (fault != NEVER)
    _, last_at = folding.greatest(last, "last_line")
    _, not_ahead_at = folding.least(np.where(is_ahead, NONE, first), "first_line")
    taken_ns, taken_at = folding.least(np.where((process == SUCCESSOR) & is_after, first, NONE), "first_line")
    owned_ns, owned_at = folding.greatest(np.where(owned, at_work, NONE), "last_line")
    delay_ns_max, delay_max_at = folding.greatest(np.where(timed, longest, NONE), "delay_max_line")
    return {
        "consumptions": folding.sum(consumptions),
        "steps_ahead": folding.sum(ahead),
        "different_offsets": folding.sum(bits),
        "offset_max": pa.array(np.maximum.reduceat(numbers_of(folding.strides, "offset_max"), folding.first)),
        "last_at": last_at,
        "not_ahead_at": not_ahead_at,
        "taken_ns": taken_ns,
        "taken_at": taken_at,
        "owned_ns": owned_ns,
        "owned_at": owned_at,
        "timed": folding.sum(np.where(timed, consumptions, 0)),
        "over_1s": folding.sum(np.where(timed, over_1s, 0)),
        "late_in_10s": folding.sum(np.where(soon, over_1s, 0)),
        "delay_ns_max": delay_ns_max,
        "delay_max_at": delay_max_at,
    }


def _processes(strides: pa.Table) -> npt.NDArray[np.str_]:
    """The process of each stride: a history is named for it."""
    number, files = _numbered(strides, "file")
    return np.array([file.rpartition("/")[2].partition(".")[0] for file in files])[number]


def _numbered(strides: pa.Table, name: str) -> tuple[Numbers, list[str]]:
    """Which of the different values of a column each stride has, and these."""
    encoded = strides[name].combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices), encoded.dictionary.to_pylist()
