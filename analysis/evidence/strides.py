"""Consumptions as strides, made by threads of this process from the histories' columns, without Spark.

A *stride* is a sequence of consumptions of a queue by one instance in one history: each starts later than the one before, and has a
higher offset of the same chunk of 64; all lie on one side of each moment that a measure of the trial counts from or to; and no
other consumption of the queue starts in between. It is a step ahead as a whole or not at all, so that what is asked of its
consumptions can be asked of it. Of ordered consumption most chunks are one stride; what is out of order is a stride of its own.

They are made of one group of rows at a time, and those that another one lies within are taken apart once all are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.evidence.arrow import arrow_columns
from analysis.evidence.row_groups import NONE, Columns, Numbers, Place, RowGroup, numbers_of, placed, row_groups
from analysis.evidence.tables import BITS, STRIDES

STRIDES_MAX = 4_000_000
"""More of them, 160 bytes each, are not worth their memory: little is in order then, and Spark sorts all consumptions."""

SECOND_NS = 1_000_000_000

OWNED_BEFORE_NS = 5 * SECOND_NS
"""A queue is the owner's when the owner began to consume a message of it in the 5 s before the fault: queues get one every
three seconds at least. Where a listener works for ten seconds that is true of half of the owner's queues, and the others
are left out. Message delays are taken from the same moment on."""

LATE_WITHIN_NS = 10 * SECOND_NS

_NAMES = ("file", "instance", "group", "broker")
_NUMBERS = ("queue", "offset", "n", "started_ns", "finished_ns", "intended_ns")
NEVER = 2**62
"""Later than any time."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The moments of a trial that measures count from or to, None where there is none, and the topic of its messages."""

    topic: str = ""
    fault_ns: int | None
    hold_to_ns: int | None


@dataclass(frozen=True, kw_only=True)
class _Strides:
    """``columns`` are the numbers of ``STRIDES``, and ``place``, which numbers the ``places``: file, instance, group, broker,
    queue."""

    places: Sequence[Place]
    columns: Columns


def strides_of(history: Path, windows: Mapping[str, Windows], threads: int) -> pa.Table | None:
    """All consumptions of a table of histories as strides, with the columns ``STRIDES``; None where they are too many.

    ``windows`` are by trial.
    """
    groups = list(row_groups(history / "type=consume"))
    if not groups:
        return pa.table({name: pa.array([], kind) for name, kind in arrow_columns(STRIDES).items()})
    found: list[_Strides] = []
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for one in pool.map(lambda group: _of_group(group, windows), groups):
            found.append(one)
            if sum(len(strides.columns["place"]) for strides in found) > STRIDES_MAX:
                pool.shutdown(cancel_futures=True)
                return None
        apart = _taken_apart(_together(found))
        bounds = list(itertools.accumulate((len(one.columns["place"]) for one in found), initial=0))
        of_group = [apart[low:high] for low, high in itertools.pairwise(bounds)]
        again = [number for number, flags in enumerate(of_group) if flags.any()]
        mended = pool.map(lambda number: _of_group(groups[number], windows, of_group[number]), again)
        for number, one in zip(again, mended, strict=True):
            found[number] = one
    return _table(_together(found))


# --- of one group of rows ---------------------------------------------------------------------------------------------


def _of_group(group: RowGroup, windows: Mapping[str, Windows], apart: Flags | None = None) -> _Strides:
    """Its strides, but for those of them that are to be taken apart: each of their consumptions is one then."""
    table = group.read(_NAMES, _NUMBERS, needed=(*_NAMES, "queue", "offset", "n", "started_ns"))
    places, place = placed(table, _NAMES, "queue")
    numbers = {name: numbers_of(table, name) for name in _NUMBERS if name != "queue"}
    # A history is nearly in the order of its starts.
    by_start = np.argsort(numbers["started_ns"], kind="stable")
    order = by_start[np.argsort(place[by_start], kind="stable")]
    rows = {"place": place[order].astype(np.int64), **{name: values[order] for name, values in numbers.items()}}
    begins = _begins(places, rows, windows)
    if apart is not None:
        begins |= apart[np.cumsum(begins) - 1]
    return _Strides(places=places, columns=_packed(rows, np.flatnonzero(begins)))


def _begins(places: Sequence[Place], rows: Columns, windows: Mapping[str, Windows]) -> Flags:
    """Where a stride begins, as far as one group of rows can tell."""
    of_place = [windows.get(_trial_of(place), Windows(fault_ns=None, hold_to_ns=None)) for place in places]
    fault, hold = (
        np.array([NEVER if ns is None else ns for ns in moments])[rows["place"]]
        for moments in ([one.fault_ns for one in of_place], [one.hold_to_ns for one in of_place])
    )
    started, intended, offset = rows["started_ns"], rows["intended_ns"], rows["offset"]
    sides = (
        rows["place"],
        offset // BITS,
        started >= fault,
        intended >= fault - OWNED_BEFORE_NS,
        intended >= fault,
        intended > fault + LATE_WITHIN_NS,
        intended > hold,
        rows["finished_ns"] == NONE,
    )
    begins = np.ones(len(offset), np.bool_)
    begins[1:] = (offset[1:] <= offset[:-1]) | (started[1:] <= started[:-1])
    for side in sides:
        begins[1:] |= side[1:] != side[:-1]
    return begins


def _packed(rows: Columns, first: Numbers) -> Columns:
    """The strides that begin at those rows."""
    last = np.append(first[1:], len(rows["place"])) - 1
    consumptions = last - first + 1
    delay = np.where(rows["intended_ns"] == NONE, NONE, rows["started_ns"] - rows["intended_ns"])
    longest = np.maximum.reduceat(delay, first)
    stride = np.repeat(np.arange(len(first)), consumptions)
    # The first of equal ones.
    at_longest = np.flatnonzero(delay == longest[stride])
    _, one_each = np.unique(stride[at_longest], return_index=True)
    bits = np.left_shift(np.int64(1), rows["offset"] % BITS)
    return {
        "place": rows["place"][first],
        "chunk": rows["offset"][first] // BITS,
        "consumptions": consumptions,
        "bits": np.bitwise_or.reduceat(bits, first),
        "offset_min": rows["offset"][first],
        "offset_max": rows["offset"][last],
        "first_ns": rows["started_ns"][first],
        "first_line": rows["n"][first],
        "last_ns": rows["started_ns"][last],
        "last_line": rows["n"][last],
        "finished_ns": np.maximum.reduceat(rows["finished_ns"], first),
        "intended_ns": rows["intended_ns"][first],
        "over_1s": np.add.reduceat((delay > SECOND_NS).astype(np.int64), first),
        "delay_ns_max": longest,
        "delay_max_line": rows["n"][at_longest[one_each]],
    }


def _trial_of(place: Place) -> str:
    # trials/TRIAL/history/PROCESS.jsonl
    return str(place[0]).split("/")[-3]


# --- of all groups ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _InOrder:
    """Strides by queue and start. ``begins`` is where a queue begins."""

    order: Numbers
    columns: Columns
    begins: Flags

    def before(self, name: str) -> Numbers:
        """The highest value of those before each in its queue; ``NONE`` of the first."""
        values = self.columns[name]
        found = np.full(len(values), NONE)
        for low, high in itertools.pairwise([*np.flatnonzero(self.begins), len(values)]):
            np.maximum.accumulate(values[low : high - 1], out=found[low + 1 : high])
        return found

    def follows(self, name: str) -> Numbers:
        """The value of the next one in the queue; ``NEVER`` of the last."""
        return np.where(np.append(self.begins[1:], True), NEVER, np.append(self.columns[name][1:], NEVER))


def _together(found: Sequence[_Strides]) -> _Strides:
    places: dict[Place, int] = {}
    numbers = [np.array([places.setdefault(place, len(places)) for place in one.places]) for one in found]
    columns = {name: np.concatenate([one.columns[name] for one in found]) for name in found[0].columns}
    columns["place"] = np.concatenate([of[one.columns["place"]] for of, one in zip(numbers, found, strict=True)])
    return _Strides(places=list(places), columns=columns)


def _in_order(strides: _Strides) -> _InOrder:
    queues: dict[tuple[str, ...], int] = {}
    named = [(_trial_of(place), *map(str, place[2:])) for place in strides.places]
    queue = np.array([queues.setdefault(name, len(queues)) for name in named])[strides.columns["place"]]
    order = np.lexsort((strides.columns["first_line"], strides.columns["first_ns"], queue))
    queue = queue[order]
    return _InOrder(
        order=order,
        columns={name: values[order] for name, values in strides.columns.items()},
        begins=np.append(True, queue[1:] != queue[:-1]),
    )


def _taken_apart(strides: _Strides) -> Flags:
    """Those of several consumptions between which another one of the queue starts, or of which some alone are a step ahead."""
    ordered = _in_order(strides)
    columns, highest = ordered.columns, ordered.before("offset_max")
    shared = (columns["first_ns"] <= ordered.before("last_ns")) | (columns["last_ns"] >= ordered.follows("first_ns"))
    mixed = (columns["offset_min"] <= highest) & (highest < columns["offset_max"])
    flags = np.empty(len(shared), np.bool_)
    flags[ordered.order] = (shared | mixed) & (columns["consumptions"] > 1)
    return flags


def _table(strides: _Strides) -> pa.Table:
    ordered = _in_order(strides)
    columns, place = ordered.columns, pa.array(ordered.columns["place"])
    is_ahead = columns["offset_min"] > ordered.before("offset_max")
    numbers = {
        **columns,
        "steps_ahead": np.where(is_ahead, columns["consumptions"], 0),
        "run": _runs(ordered, [instance for _, instance, *_ in strides.places]),
    }
    texts = dict(zip((*_NAMES, "queue"), zip(*strides.places, strict=True), strict=True))
    texts["trial"] = tuple(map(_trial_of, strides.places))
    made = {
        **{name: pa.array(values).take(place) for name, values in texts.items()},
        **{name: pa.array(values, mask=values == NONE) for name, values in numbers.items()},
        "offsets": _of_chunks(columns, np.cumsum(ordered.begins)),
    }
    return pa.table({name: made[name].cast(kind) for name, kind in arrow_columns(STRIDES).items()})


def _runs(ordered: _InOrder, instances: Sequence[str | int]) -> Numbers:
    """Which run of an instance each stride is of, from 0 in each queue."""
    names = {name: number for number, name in enumerate(instances)}
    instance = np.array([names[name] for name in instances])[ordered.columns["place"]]
    changes = np.cumsum(np.append(False, instance[1:] != instance[:-1]) & ~ordered.begins)
    first = np.flatnonzero(ordered.begins)
    return changes - np.repeat(changes[first], np.diff(np.append(first, len(changes))))


def _of_chunks(columns: Columns, queue: Numbers) -> pa.Array:
    """The bits of each chunk together, in its first stride; null in the others."""
    by_chunk = np.lexsort((columns["chunk"], queue))
    queue, chunk = queue[by_chunk], columns["chunk"][by_chunk]
    first = np.flatnonzero(np.append(True, (queue[1:] != queue[:-1]) | (chunk[1:] != chunk[:-1])))
    bits, is_other = np.zeros(len(chunk), np.int64), np.ones(len(chunk), np.bool_)
    # Of bits any number may be.
    bits[by_chunk[first]] = np.bitwise_or.reduceat(columns["bits"][by_chunk], first)
    is_other[by_chunk[first]] = False
    return pa.array(bits, mask=is_other)
