"""Trials' events. There are few of them, so that this process reads them; checkers find them in a table, too."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from analysis.evidence.arrow import arrow_columns
from analysis.evidence.tables import CORRUPT_COLUMN, DAMAGED, EVENTS, WHOLE_BELOW
from harness.bounded import read_whole
from harness.rundir import events
from harness.rundir.reading import RunDirectory
from harness.rundir.records import Kind

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TrialEvents:
    """A trial's, in their order, and the lines of its file that are none. ``file`` is relative to the run."""

    trial: str
    file: str
    events: Sequence[Event]
    damaged: Sequence[str]

    def of_type(self, kind: str, **having: str) -> list[Event]:
        """The events of a type that have those values."""
        return [
            one for one in self.events if one["type"] == kind and all(one.get(key) == having[key] for key in having)
        ]

    def values(self, name: str, kind: str, /, **having: str) -> list[Any]:
        """A field of these, where they have it."""
        return [one[name] for one in self.of_type(kind, **having) if one.get(name) is not None]

    def phase(self, phase: str, event: str, name: str = "at_ns") -> list[int]:
        """When a phase began or ended, or another field of it."""
        return self.values(name, "phase", phase=phase, event=event)

    @functools.cached_property
    def own(self) -> TrialEvents:
        """Where its arm has steps, without the faults among them, which have numbers; a load's are its own."""
        if not self.of_type("step"):
            return self
        kept = [one for one in self.events if one["type"] != "fault" or one.get("number") is None]
        return dataclasses.replace(self, events=kept)

    def first_state(self, state: str, name: str = "at_ns") -> int | None:
        """When the trial's fault came to a state, or another field of it."""
        return min(self.own.values(name, "fault", state=state), default=None)

    @functools.cached_property
    def numbered(self) -> Mapping[int, Sequence[Event]]:
        """The records of each fault of a load, or of a step, in their order."""
        found: dict[int, list[Event]] = {}
        for one in self.of_type("fault"):
            if one.get("number") is not None:
                found.setdefault(one["number"], []).append(one)
        return found

    @property
    def fault_ns(self) -> int | None:
        """When the fault began, or would have begun."""
        begun = (self.phase("inject", "begin"), self.phase("hold", "begin"))
        return first_known(self.first_state("injecting"), *(min(stamps, default=None) for stamps in begun))

    @property
    def hold_to_ns(self) -> int | None:
        """When the hold ended."""
        return max(self.phase("hold", "end"), default=None)

    @property
    def drain(self) -> Event:
        """The last word of the drain; nothing where there was none."""
        return max(self.of_type("drain"), key=lambda one: int(one["n"]), default={})


def first_known(*values: int | None) -> int | None:
    """The first of them that is not None."""
    return next((value for value in values if value is not None), None)


def read_events(run: RunDirectory) -> list[TrialEvents]:
    """Those of all trials that have any."""
    found = []
    for path in run.event_files():
        whole: list[Event] = []
        damaged: list[str] = []
        for line in filter(bytes.strip, read_whole(path).split(b"\n")):
            event = _event_of(line)
            if event is None:
                damaged.append(line.decode(errors="replace"))
            else:
                whole.append(event)
        trial, file = path.parent.name, str(path.relative_to(run.path))
        found.append(TrialEvents(trial=trial, file=file, events=whole, damaged=damaged))
    return found


def events_of(run: RunDirectory, trial: str) -> TrialEvents:
    """Those of one trial, which may have none."""
    none = TrialEvents(trial=trial, file="", events=(), damaged=())
    return next((one for one in read_events(run) if one.trial == trial), none)


def _event_of(line: bytes) -> Event | None:
    """The record in the line, with the fields that are declared of its type; None where it is no whole one."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not _has(Kind.TEXT, found.get("type")) or not _has(Kind.LONG, found.get("n")):
        return None
    declared = events.EVENTS.get(found["type"])
    event = {"type": found["type"], "n": found["n"]}
    for field in () if declared is None else declared.fields:
        value = found.get(field.name)
        if value is None and field.optional:
            continue
        if not _has(field.kind, value):
            return None
        event[field.name] = value
    return event


def _has(kind: Kind, value: Any) -> bool:
    """Whether that is a value of this kind that its column can have: JSON has numbers and texts that no column has."""
    return kind.has(value) and _FITS[kind](value)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # Half of a character, which JSON can spell.
        return False
    return True


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # A whole number beyond what a float has.
        return False


_FITS: Mapping[Kind, Callable[[Any], bool]] = {
    Kind.TEXT: _is_text,
    Kind.LONG: lambda value: abs(value) < WHOLE_BELOW,
    Kind.INT: lambda value: -(2**31) <= value < 2**31,
    Kind.NUMBER: _is_finite,
    Kind.FLAG: lambda value: True,
    Kind.TEXTS: lambda value: all(isinstance(one, str) and _is_text(one) for one in value),
}


def events_table(trials: Iterable[TrialEvents]) -> pa.Table:
    """All of them, with ``file`` and ``trial``; a line that is none has type ``damaged``."""
    rows = [
        {**row, "file": one.file, "trial": one.trial}
        for one in trials
        for row in (*one.events, *({"type": DAMAGED, CORRUPT_COLUMN: text} for text in one.damaged))
    ]
    columns = {**arrow_columns(EVENTS), "file": pa.string(), "trial": pa.string()}
    return pa.table({name: pa.array(_values(rows, name, kind), kind) for name, kind in columns.items()})


def _values(rows: Sequence[Event], name: str, kind: pa.DataType) -> list[Any]:
    found = [row.get(name) for row in rows]
    if pa.types.is_string(kind):
        # A queue is a number in some records, and in others broker-a:3.
        return [None if one is None else str(one) for one in found]
    # Arrow makes no float of a large whole number.
    return [None if one is None else float(one) for one in found] if pa.types.is_floating(kind) else found
