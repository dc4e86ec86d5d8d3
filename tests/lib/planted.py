"""Real clean histories with violations planted at random places: what an analysis has to find in them, and nothing else."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from tests.lib.packed_run import packed_files, text_of
from tests.lib.runs import Run
from tests.lib.trials import Record, write_json

INCIDENT = "ordered-lock-handover"
CLEAN = (
    f"{INCIDENT}.4.6.0.baseline.r1",
    f"{INCIDENT}.4.6.0.baseline.r2",
    f"{INCIDENT}.4.6.0.fix-graceful-shutdown.r1",
    f"{INCIDENT}.5.3.3.baseline.r1",
    f"{INCIDENT}.5.3.3.baseline.r2",
)
"""Trials of the recorded run in which nothing was lost, doubled or out of order, and no two members worked on one queue."""
MEASURES = ("lost_count", "duplicate_count", "out_of_order_count", "overlap_ms")

Queue = tuple[str, str, int]
"""Group, broker, queue."""
Seen = tuple[str, str, str, str]
"""Trial, measure, group, broker:queue."""


@dataclass(frozen=True, kw_only=True)
class History:
    """A trial's files; ``records`` are those of its client processes, by file."""

    trial: Record
    deployment: Record
    events: str
    records: dict[str, list[Record]]

    def queues(self) -> dict[Queue, list[Record]]:
        """What each of the trial's groups consumed of each queue, in the order of its start."""
        queues: dict[Queue, list[Record]] = {}
        for records in self.records.values():
            for record in records:
                if record["type"] == "consume" and record["group"] in self.trial["groups"]:
                    queues.setdefault((record["group"], record["broker"], record["queue"]), []).append(record)
        for consumed in queues.values():
            consumed.sort(key=lambda record: (record["started_ns"], record["n"]))
        return queues

    def add(self, like: Record, **values: object) -> None:
        """A record as this one but for these values, at the end of its file."""
        records = next(records for records in self.records.values() if any(one is like for one in records))
        records.append({**like, **values})


def recorded(file: Path) -> dict[str, History]:
    """The clean trials of a packed run, by name."""
    files = packed_files(file)
    found = {}
    for name in CLEAN:
        trial = json.loads(text_of(files[f"trials/{name}/trial.json"]))
        found[name] = History(
            trial=trial,
            deployment=json.loads(text_of(files[f"deployments/{trial['deployment']}/deployment.json"])),
            events=text_of(files[f"trials/{name}/events.jsonl"]),
            records={
                Path(path).name: [json.loads(line) for line in text_of(content).splitlines()]
                for path, content in files.items()
                if path.startswith(f"trials/{name}/history/")
            },
        )
    return found


# --- what is planted, each at one place of one queue ------------------------------------------------------------------

Plant = Callable[[History, random.Random], set[tuple[str, Queue]]]
"""Changes a clean history and says what of which queue is to be found."""


def lost(history: History, draw: random.Random) -> set[tuple[str, Queue]]:
    """A message that was acknowledged, and that one group did not get."""
    queue, consumed = draw.choice(sorted(history.queues().items(), key=lambda item: item[0]))
    gone = draw.choice(consumed)
    for records in history.records.values():
        records[:] = [record for record in records if record is not gone]
    return {("lost_count", queue)}


def absent(history: History, draw: random.Random) -> set[tuple[str, Queue]]:
    """A message that was acknowledged for an offset that the store does not have: all groups lost it."""
    send = draw.choice(
        [
            record
            for records in history.records.values()
            for record in records
            if record["type"] == "send" and record["outcome"] == "ok" and record["topic"] == history.trial["topic"]
        ]
    )
    history.add(send, offset=send["offset"] + 1_000_000)
    place = (send["broker"], send["queue"])
    return {("lost_count", (group, *place)) for group in history.trial["groups"]}


def doubled(history: History, draw: random.Random) -> set[tuple[str, Queue]]:
    """A message that comes again, to the same member, after the last one of its queue."""
    queue, consumed = draw.choice(sorted(history.queues().items(), key=lambda item: item[0]))
    again, last = draw.choice(consumed), consumed[-1]
    times = {"started_ns": last["finished_ns"] + 1_000, "finished_ns": last["finished_ns"] + 2_000}
    history.add(last, **times, **_message(again))
    return {("duplicate_count", queue)}


def reordered(history: History, draw: random.Random) -> set[tuple[str, Queue]]:
    """Two messages that are next to each other, of one member, the other way round."""
    pairs = [
        (queue, one, two)
        for queue, consumed in sorted(history.queues().items(), key=lambda item: item[0])
        for one, two in itertools.pairwise(consumed)
        if one["instance"] == two["instance"]
    ]
    queue, one, two = draw.choice(pairs)
    first, second = _message(one), _message(two)
    one.update(second)
    two.update(first)
    return {("out_of_order_count", queue)}


def _message(record: Record) -> Record:
    """What a consumption has of its message."""
    return {name: record[name] for name in ("offset", "key", "seq", "intended_ns", "stored_ms") if name in record}


def shared(history: History, draw: random.Random) -> set[tuple[str, Queue]]:
    """A member that begins a message while another one is still at work on the one before."""
    queue, consumed = draw.choice(sorted(history.queues().items(), key=lambda item: item[0]))
    at = draw.randrange(len(consumed) - 1)
    before, after = consumed[at], consumed[at + 1]
    after["instance"] = f"{before['instance']}-other"
    # Still at work, by 1 to 400 ms.
    before["finished_ns"] = after["started_ns"] + draw.randrange(1_000_000, 400_000_000)
    return {("overlap_ms", queue)}


PLANTS: tuple[Plant, ...] = (lost, absent, doubled, reordered, shared)


def plant(run: Path, histories: Mapping[str, History], *, planted: int, clean: int, seed: int) -> set[Seen]:
    """Write a run of so many trials with one violation each, and so many without any; what is to be found in it."""
    draw = random.Random(seed)
    expected: set[Seen] = set()
    names = []
    for number in range(planted + clean):
        kind = PLANTS[number % len(PLANTS)] if number < planted else None
        source = histories[draw.choice(sorted(histories))]
        history = deepcopy(source) if kind else source
        name = f"{kind.__name__ if kind else 'clean'}-{number}"
        if kind:
            expected |= {
                (name, measure, group, f"{broker}:{queue}") for measure, (group, broker, queue) in kind(history, draw)
            }
        _save(run, name, history)
        names.append(name)
    releases = tuple(sorted({one.trial["release"] for one in histories.values()}))
    Run(path=run, incidents=(INCIDENT,), releases=releases, planned=names).save()
    return expected


def _save(run: Path, name: str, history: History) -> None:
    folder = run / "trials" / name
    (folder / "history").mkdir(parents=True)
    write_json(folder / "trial.json", {**history.trial, "trial": name})
    (folder / "events.jsonl").write_text(history.events, encoding="utf-8")
    for file, records in history.records.items():
        lines = (json.dumps({**record, "n": n}, separators=(",", ":")) for n, record in enumerate(records, start=1))
        (folder / "history" / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    deployment = run / "deployments" / history.trial["deployment"]
    if not deployment.exists():
        deployment.mkdir(parents=True)
        write_json(deployment / "deployment.json", history.deployment)
