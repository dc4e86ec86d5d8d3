"""Trials made by hand: a function for each kind of record.

All times are milliseconds after the fault, which every trial has at the same moment; ``n`` is given when the trial is
written, so that it is the record's line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness.model.cells import ParameterValue
from harness.rundir.events import EVENTS
from harness.rundir.records import HISTORY, problem_of

MS, S = 1_000_000, 1_000_000_000
FAULT_NS = 2_000 * S
FAULT_WALL = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)

OWNER, SUCCESSOR, PRODUCER = "owner", "successor", "producer"
LOCK_THREAD, REBALANCE_THREAD = "ConsumeMessageScheduledThread_1", "RebalanceService"

Record = dict[str, Any]


def at(after_ms: float) -> int:
    """Monotonic nanoseconds of a moment that is ``after_ms`` after the fault."""
    return FAULT_NS + round(after_ms * MS)


def wall_us(after_ms: float) -> int:
    """The same moment as microseconds since 1970."""
    return round(FAULT_WALL.timestamp() * 1_000_000) + round(after_ms * 1_000)


def log_time(after_ms: float, *, zone_hours: int = 0, millis: bool = True) -> str:
    """The same moment as a log line begins: the lab's layout, or a stock one of another zone without milliseconds."""
    local = FAULT_WALL + timedelta(milliseconds=after_ms, hours=zone_hours)
    seconds = local.strftime("%Y-%m-%d %H:%M:%S")
    return f"{seconds},{local.microsecond // 1000:03d}" if millis else seconds


def stopped(after_ms: float, for_ms: float, *, age_s: float = 600.0) -> str:
    """A line of the JVM's log, whose process is so old by then: a safepoint of that length that ended at that moment."""
    day, time = log_time(after_ms).replace(",", ".").split()
    times = f"Reaching safepoint: 9 ns, At safepoint: 9 ns, Total: {round(for_ms * MS)} ns"
    text = f'Safepoint "ICBufferFull", Time since last: 1 ns, {times}'
    return f"[{day}T{time}+0000][{age_s:.3f}s][info][safepoint   ] {text}"


def started(after_ms: float = -120_000, *, zone_hours: int = 0, millis: bool = True) -> str:
    """A line with which a process begins its own log as it starts, and that no parser asks for."""
    return f"{log_time(after_ms, zone_hours=zone_hours, millis=millis)} INFO [main] started"


# --- a trial ----------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Trial:
    """One trial in the making: its record, its history, its events.

    It has a frame (phases, fault, hiccups, anchors, drain), which is made of the attributes when the trial is written,
    unless ``has_frame`` is off: then its events are all there is.
    """

    name: str
    incident: str
    arm: str
    deployment: str
    params: dict[str, ParameterValue] = field(default_factory=dict)
    release: str = "4.6.0"
    backend: str = "local"
    injection: str | None = None
    """None: what usually makes the fault."""
    chosen_injection: str | None = None
    status: str = "complete"
    error: str = ""
    superseded_by: str = ""
    repetition: int = 1
    groups: list[str] = field(default_factory=list)
    live_conf: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """Of a load, as they were asked for."""

    has_frame: bool = True
    fault: str = "none"
    asked_ms: float | None = None
    achieved_ms: float | None = None
    heals: bool = True
    injected_after_ms: float | None = 5.0
    """When the fault is done, after its beginning; None when it never is."""
    hold_ms: float = 60_000.0
    hiccup_ms: float = 1.5
    logs: dict[str, Sequence[str]] = field(default_factory=dict)
    """Lines of each client process's own log, or of another file of it, such as ``successor/gc.log``."""
    drained: bool | None = True
    """None: the drain left no record."""
    remaining: int = 0
    wall_step_ms: float = 0.0

    history: dict[str, list[Record]] = field(default_factory=dict)
    events: list[Record] = field(default_factory=list)
    """Events beside those of the frame."""
    tails: dict[str, str] = field(default_factory=dict)
    """Text behind the last record of a process's history: what a kill leaves of the next one."""

    @property
    def topic(self) -> str:
        return f"T-{self.name}"

    @property
    def group(self) -> str:
        """The first group; its name differs from trial to trial, as in real runs."""
        return self.groups[0]

    def client_id(self, process: str, group: str | None = None) -> str:
        return f"127.0.0.1@{group or self.group}-{process}"

    # --- records of a client process

    def record(self, process: str, kind: str, /, **values: Any) -> None:
        self.history.setdefault(process, []).append({"type": kind, "process": process, **values})

    def send(
        self,
        seq: int,
        *,
        due_ms: float,
        took_ms: float = 2.0,
        outcome: str = "ok",
        queue: int = 0,
        offset: int | None = None,
        remark: str | None = None,
        status: str | None = None,
    ) -> None:
        failed = {"code": 2, "error": "MQBrokerException", "remark": remark} if remark is not None else {}
        unsure = {"error": status, "status": status} if status is not None else {}
        place = {"broker": "broker-a", "queue": queue, "offset": offset, "msg_id": f"M{seq}"}
        stored = place if outcome == "ok" or unsure else {}
        self.record(
            PRODUCER,
            "send",
            instance="p0",
            client=f"java {self.release}",
            topic=self.topic,
            key=f"k{seq}",
            seq=seq,
            intended_ns=at(due_ms),
            started_ns=at(due_ms) + 1000,
            finished_ns=at(due_ms + took_ms),
            outcome=outcome,
            **failed,
            **unsure,
            **stored,
        )

    def refused(
        self,
        seq: int,
        keyword: str,
        *,
        due_ms: float,
        took_ms: float = 210.0,
        period_ms: int | None = None,
        size: int | None = None,
    ) -> None:
        """A send that the broker refused, with the remark of that keyword."""
        words = {
            "REJECTREQUEST": "[REJECTREQUEST]system busy, start flow control for a while",
            "OVERLOAD": "[OVERLOAD]system busy, start flow control for a while",
            "PC_SYNCHRONIZED": "[PC_SYNCHRONIZED]broker busy, start flow control for a while",
        }
        queued = f"[{keyword}]broker busy, start flow control for a while, period in queue: {period_ms}ms, "
        remark = words.get(keyword, f"{queued}size of queue: {size}")
        self.send(seq, due_ms=due_ms, took_ms=took_ms, outcome="failed", remark=remark)

    def consume(
        self,
        offset: int,
        *,
        at_ms: float,
        process: str = OWNER,
        due_ms: float | None = None,
        took_ms: float = 1.0,
        queue: int = 0,
        group: str | None = None,
    ) -> None:
        name = group or self.group
        self.record(
            process,
            "consume",
            instance=f"{name}-{process}",
            group=name,
            topic=self.topic,
            broker="broker-a",
            queue=queue,
            offset=offset,
            key=f"k{offset}",
            seq=offset,
            intended_ns=at(at_ms if due_ms is None else due_ms),
            stored_ms=wall_us(at_ms) // 1000,
            started_ns=at(at_ms),
            finished_ns=at(at_ms + took_ms),
            outcome="ok",
            reconsume=0,
        )

    def consume_again(self, record: Mapping[str, Any], *, process: str, started_ns: int, took_ns: int = MS) -> None:
        """The same message once more, of its consumption or of its send."""
        fields = {field.name for field in HISTORY["consume"].fields} - {"process"}
        copy = {"reconsume": 0, "stored_ms": 0, **{key: value for key, value in record.items() if key in fields}}
        instance = f"{record['group']}-{process}"
        copy |= {"instance": instance, "started_ns": started_ns, "finished_ns": started_ns + took_ns}
        self.record(process, "consume", **copy)

    def consumptions(self, *, group: str, queue: int, process: str | None = None) -> list[Record]:
        return [
            record
            for name, records in self.history.items()
            for record in records
            if (record["type"], record.get("group"), record.get("queue")) == ("consume", group, queue)
            and process in (None, name)
        ]

    def lock(
        self,
        process: str,
        *,
        at_ms: float,
        granted: bool,
        queues: Sequence[int] = (0,),
        thread: str = REBALANCE_THREAD,
        answered: bool = True,
        topic: str | None = None,
        group: str | None = None,
    ) -> None:
        asked = [f"broker-a:{queue}" for queue in queues]
        answer: dict[str, Any] = {"granted": asked if granted else [], "answered": answered, "topic": topic}
        self._rpc(process, 41, at_ms, thread, asked, **answer, group=group)

    def unlock(self, process: str, *, at_ms: float, queues: Sequence[int] = (0,), group: str | None = None) -> None:
        asked = [f"broker-a:{queue}" for queue in queues]
        self._rpc(process, 42, at_ms, "main", asked, granted=None, answered=True, group=group)

    def _rpc(
        self,
        process: str,
        code: int,
        at_ms: float,
        thread: str,
        asked: list[str],
        *,
        granted: list[str] | None,
        answered: bool,
        topic: str | None = None,
        group: str | None = None,
    ) -> None:
        name = group or self.group
        self.record(
            process,
            "rpc",
            instance=f"{name}-{process}",
            group=name,
            code=code,
            thread=thread,
            address="127.0.0.1:20911",
            topic=topic or self.topic,
            asked=asked,
            granted=granted if answered else None,
            response=0 if answered else None,
            started_ns=at(at_ms),
            finished_ns=at(at_ms + 2) if answered else None,
        )

    def pull(self, process: str, *, at_ms: float, queue: int = 0) -> None:
        """The first pull of a queue after its lock, which is all that is recorded of pulling."""
        self.record(
            process,
            "rpc",
            instance=f"{self.group}-{process}",
            group=self.group,
            code=11,
            thread="PullMessageService",
            address="127.0.0.1:20911",
            topic=self.topic,
            asked=[f"broker-a:{queue}"],
            started_ns=at(at_ms),
        )

    def flag(
        self,
        process: str,
        event: str,
        *,
        at_ms: float,
        queue: int = 0,
        broker: str = "broker-a",
        member: str | None = None,
    ) -> None:
        """What was seen of a process queue: assigned, locked, unlocked, dropped."""
        self.record(
            process,
            "queue",
            instance=f"{self.group}-{member or process}",
            group=self.group,
            event=event,
            broker=broker,
            queue=queue,
            at_ns=at(at_ms),
        )

    def threads(self, process: str, *, at_ms: float, parked: int = 4, busy: int = 0) -> None:
        """How many consuming threads are parked, which a process counts once a second."""
        self.record(process, "threads", parked=parked, busy=busy, at_ns=at(at_ms))

    def instance(self, process: str, *, event: str, at_ms: float, group: str | None = None) -> None:
        name = group or self.group
        self.record(
            process,
            "instance",
            instance=f"{name}-{process}",
            group=name,
            event=event,
            at_ns=at(at_ms),
            client_id="" if event == "starting" else self.client_id(process, name),
        )

    def anchor(self, process: str, *, at_ms: float, off_ms: float = 0.0) -> None:
        self.record(process, "anchor", mono_ns=at(at_ms), wall_us=wall_us(at_ms + off_ms))

    def without(self, process: str, kind: str, **fields: Any) -> None:
        """Take the process's records of that type and with those fields out; at least one must be there."""
        kept = [
            record
            for record in self.history[process]
            if record["type"] != kind or any(record[name] != value for name, value in fields.items())
        ]
        assert len(kept) < len(self.history[process]), f"no {kind} of {process} has {fields}"
        self.history[process] = kept

    def drop(self, unwanted: Callable[[Record], bool]) -> None:
        """Take what is unwanted out of all histories and of the events that are no part of a frame."""
        for process, records in self.history.items():
            self.history[process] = [record for record in records if not unwanted(record)]
        self.events = [record for record in self.events if not unwanted(record)]

    # --- events

    def event(self, kind: str, /, **values: Any) -> None:
        self.events.append({"type": kind, **values})

    def append(self, *, entry_ms: float, exit_ms: float, node: str = "broker-a") -> None:
        stamps = {"entry_ns": at(entry_ms), "delay_end_ns": at(exit_ms) - 50_000, "exit_ns": at(exit_ms)}
        self.event("append", node=node, **stamps)

    def lock_probe(self, *, asked_broker: str, granted: bool, queue: str = "broker-a:0", at_ms: float = -500) -> None:
        names = {"group": self.group, "as_group": self.group, "queue": queue, "asked_broker": asked_broker}
        self.event("lock_probe", at_ns=at(at_ms), granted=granted, **names)

    def store_max(
        self,
        max_offset: int,
        *,
        min_offset: int = 0,
        queue: int = 0,
        group: str | None = None,
        consumer_offset: int | None = None,
        moment: str = "end",
    ) -> None:
        place = {"topic": self.topic, "broker": "broker-a", "queue": queue}
        offsets = {"min_offset": min_offset, "max_offset": max_offset}
        of_group = {"group": group, "consumer_offset": consumer_offset}
        self.event("store_max", **place, **offsets, **of_group, moment=moment)

    def topic_shape(self, *, write_queues: int, read_queues: int, folders: int, moment: str = "held") -> None:
        numbers = {"write_queues": write_queues, "read_queues": read_queues, "folders": folders}
        self.event("topic_shape", topic=self.topic, broker="broker-a", **numbers, moment=moment)

    def frame(self) -> list[Record]:
        records: list[Record] = []
        drain_ms, end_ms = self.hold_ms + 1_000, self.hold_ms + 2_000

        def add(kind: str, after_ms: float, **fields: Any) -> None:
            records.append({"type": kind, "at_ns": at(after_ms), **fields})

        def phase(name: str, begin_ms: float, end_ms: float) -> None:
            add("phase", begin_ms, phase=name, event="begin")
            add("phase", end_ms, phase=name, event="end")

        def fault(state: str, after_ms: float) -> None:
            lengths = {"asked_ms": self.asked_ms, "achieved_ms": self.achieved_ms if state != "asked" else None}
            add("fault", after_ms, fault=self.fault, state=state, target="broker-a", detail="", **lengths)

        # The step, when there is one, lies between the two anchors.
        for after_ms, off_ms in ((-10_000, 0.0), (self.hold_ms, self.wall_step_ms)):
            moment = {"mono_ns": at(after_ms), "wall_us": wall_us(after_ms + off_ms)}
            records.append({"type": "anchor", "process": "harness", **moment})
        phase("steady", -10_000, -2)
        add("phase", -1, phase="inject", event="begin")
        fault("asked", -0.5)
        if self.fault != "none":
            fault("injecting", 0)
            if self.injected_after_ms is not None:
                fault("injected", self.injected_after_ms)
        else:
            # A trial without a fault has its moment where the fault would have begun.
            records[-2]["at_ns"] = at(0)
        add("phase", self.hold_ms and 6, phase="inject", event="end")
        phase("hold", 7, self.hold_ms)
        if self.heals:
            fault("healed", self.hold_ms + 1)
        phase("recover", self.hold_ms + 2, drain_ms)
        for from_ms, late_ms in ((-200, 1.0), (100, self.hiccup_ms), (self.hold_ms + 500, 500.0)):
            # The last one is after the hold, where the machine may be as noisy as it likes.
            add("hiccup", from_ms + 100, from_ns=at(from_ms), late_ms_max=late_ms, samples=50)
        add("phase", drain_ms, phase="drain", event="begin")
        if self.drained is not None:
            add("drain", end_ms - 1, complete=self.drained, remaining=self.remaining)
        add("phase", end_ms, phase="drain", event="end")
        return records

    # --- the trial's folder

    def about(self) -> Record:
        """``trial.json``."""
        usual = {"append-stall": "byteman", "kill-owners": "signal"}.get(self.fault, "none")
        return {
            "schema": 1,
            "trial": self.name,
            "incident": self.incident,
            "arm": self.arm,
            "params": self.params,
            "release": self.release,
            "client": f"java {self.release}",
            "backend": self.backend,
            "injection": self.injection or usual,
            **({"chosen_injection": self.chosen_injection} if self.chosen_injection else {}),
            "deployment": self.deployment,
            "repetition": self.repetition,
            "seed": 1,
            "topic": self.topic,
            "groups": self.groups,
            "live_conf": self.live_conf,
            "faults": self.faults,
            "status": self.status,
            "error": self.error,
            "attempt": 1,
            "superseded_by": self.superseded_by,
        }

    def save(self, folder: Path) -> None:
        write_json(folder / "trial.json", self.about())
        _lines(folder / "events.jsonl", [*(self.frame() if self.has_frame else ()), *self.events])
        for process, records in self.history.items():
            _lines(folder / "history" / f"{process}.jsonl", records, self.tails.get(process, ""))
        for name, lines in self.logs.items():
            process, _, file = name.partition("/")
            path = folder / "clients" / process / (file or "rocketmq_client.log")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))


def _lines(path: Path, records: Sequence[Record], tail: str = "") -> None:
    known = EVENTS if path.name == "events.jsonl" else HISTORY
    for record in records:
        values = {name: value for name, value in record.items() if name != "type"}
        assert problem_of(known, str(record["type"]), values) == ""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbered = [json.dumps({**record, "n": number}) for number, record in enumerate(records, start=1)]
    path.write_text("".join(f"{line}\n" for line in numbered) + tail)


def write_json(path: Path, value: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
