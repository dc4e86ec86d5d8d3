"""Consumptions at random, and what they come to when each is looked at by itself."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.evidence.strides import LATE_WITHIN_NS, OWNED_BEFORE_NS, SECOND_NS, Windows
from tests.lib.trials import FAULT_NS, MS, Record, S

WINDOWS = {
    "one": Windows(fault_ns=FAULT_NS, hold_to_ns=FAULT_NS + 20 * S),
    "two": Windows(fault_ns=None, hold_to_ns=None),
}
PROCESSES = ("owner", "successor")


@dataclass
class Told:
    """What is asked of a queue; lines are with their files."""

    consumptions: int = 0
    steps_ahead: int = 0
    offsets: set[int] = field(default_factory=set)
    not_ahead: tuple[int, str, int] | None = None
    last: tuple[int, str, int] | None = None
    timed: int = 0
    over_1s: int = 0
    late_in_10s: int = 0
    delay_ns_max: int | None = None
    runs: list[tuple[str, int, int]] = field(default_factory=list)
    """Instance, its first start and line."""


def consumptions(seed: int, messages: int = 400) -> dict[tuple[str, str], list[Record]]:
    """By trial and process: mostly in order, with some late, some again, some by another one, some of which little is known."""
    chance = random.Random(seed)
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for trial in WINDOWS:
        for group, queue in ((group, queue) for group in ("g0", "g1") for queue in (0, 3)):
            at_ns, process = FAULT_NS - 10 * S, "owner"
            for offset in range(messages):
                at_ns += chance.choice((0, 1, 7 * MS, 50 * MS, 400 * MS))
                process = chance.choice(PROCESSES) if chance.random() < 0.02 else process
                for _ in range(chance.choices((0, 1, 2), (1, 30, 1))[0]):
                    started_ns = at_ns + chance.choices((0, 60 * MS, 3 * S), (30, 2, 1))[0]
                    due_ns = started_ns - chance.choice((MS, 900 * MS, 1100 * MS, 4 * S))
                    found[trial, process].append(
                        {
                            "type": "consume", "process": process, "instance": f"{group}-{process}", "group": group,
                            "topic": f"T-{trial}", "broker": "broker-a", "queue": queue, "offset": offset,
                            "started_ns": started_ns, "finished_ns": None if chance.random() < 0.01 else started_ns + MS,
                            "intended_ns": None if chance.random() < 0.01 else due_ns, "outcome": "ok",
                        }
                    )  # fmt: skip
    for records in found.values():
        # A record is written when a listener returns.
        records.sort(key=lambda one: one["started_ns"] + chance.randrange(100 * MS))
    return found


def write(found: Mapping[tuple[str, str], Sequence[Record]], folder: Path) -> dict[str, Path]:
    """The histories in a run's folder, by their places there. Each record gets its line."""
    histories = {}
    for (trial, process), records in found.items():
        place = f"trials/{trial}/history/{process}.jsonl"
        histories[place] = folder / place
        histories[place].parent.mkdir(parents=True, exist_ok=True)
        for line, record in enumerate(records, 1):
            record["n"] = line
        histories[place].write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records))
    return histories


def told_by_each(found: Mapping[tuple[str, str], Sequence[Record]]) -> dict[tuple[str, str, int], Told]:
    """By trial, group and queue, of consumptions in the order of their starts and lines."""
    queues: dict[tuple[str, str, int], list[tuple[int, int, str, Record]]] = defaultdict(list)
    for (trial, process), records in found.items():
        for record in records:
            file = f"trials/{trial}/history/{process}.jsonl"
            queues[trial, record["group"], record["queue"]].append((record["started_ns"], record["n"], file, record))
    return {key: _told(rows, WINDOWS[key[0]]) for key, rows in queues.items()}


def _told(rows: Iterable[tuple[int, int, str, Record]], windows: Windows) -> Told:
    told, highest = Told(), -1
    for started_ns, line, file, record in sorted(rows, key=lambda row: row[:2]):
        is_ahead, offset, intended = record["offset"] > highest, record["offset"], record["intended_ns"]
        highest = max(highest, offset)
        told.consumptions += 1
        told.steps_ahead += is_ahead
        told.offsets.add(offset)
        told.last = (started_ns, file, line)
        if not is_ahead and told.not_ahead is None:
            told.not_ahead = told.last
        if not told.runs or told.runs[-1][0] != record["instance"]:
            told.runs.append((record["instance"], started_ns, line))
        if is_ahead and _is_timed(windows, intended):
            delay = started_ns - intended
            told.timed += 1
            told.over_1s += delay > SECOND_NS
            told.late_in_10s += delay > SECOND_NS and _is_soon(windows, intended)
            told.delay_ns_max = max(delay, told.delay_ns_max or delay)
    return told


def _is_timed(windows: Windows, intended: int | None) -> bool:
    if windows.fault_ns is None or windows.hold_to_ns is None or intended is None:
        return False
    return windows.fault_ns - OWNED_BEFORE_NS <= intended <= windows.hold_to_ns


def _is_soon(windows: Windows, intended: int) -> bool:
    return windows.fault_ns is not None and windows.fault_ns <= intended <= windows.fault_ns + LATE_WITHIN_NS


def told_by_strides(strides: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, int], Told]:
    """The same of strides, by themselves."""
    found: dict[tuple[str, str, int], Told] = defaultdict(Told)
    runs: dict[tuple[tuple[str, str, int], int], tuple[int, int, str]] = {}
    for one in strides:
        key = (one["trial"], one["group"], one["queue"])
        told, windows, intended = found[key], WINDOWS[one["trial"]], one["intended_ns"]
        told.consumptions += one["consumptions"]
        told.steps_ahead += one["steps_ahead"]
        if one["offsets"] is not None:
            told.offsets |= {one["chunk"] * 64 + bit for bit in range(64) if one["offsets"] >> bit & 1}
        told.last = max(told.last or (0, "", 0), (one["last_ns"], one["file"], one["last_line"]))
        if not one["steps_ahead"]:
            first = (one["first_ns"], one["file"], one["first_line"])
            told.not_ahead = min(told.not_ahead or first, first)
        run = (one["first_ns"], one["first_line"], one["instance"])
        runs[key, one["run"]] = min(runs.get((key, one["run"]), run), run)
        if one["steps_ahead"] and _is_timed(windows, intended):
            told.timed += one["consumptions"]
            told.over_1s += one["over_1s"]
            told.late_in_10s += one["over_1s"] if _is_soon(windows, intended) else 0
            told.delay_ns_max = max(one["delay_ns_max"], told.delay_ns_max or one["delay_ns_max"])
    for (key, _), (first_ns, line, instance) in sorted(runs.items()):
        found[key].runs.append((instance, first_ns, line))
    return dict(found)
