"""Run directories made by hand, and their analysis in one Spark session.

A hand-made trial is a frame (phases, fault, hiccups, anchors, drain) that a clean trial has, and a few records. All
times are milliseconds after the fault, which every trial has at the same moment; ``n`` is given when the run is written,
so that it is the record's line. Each trial has a deployment of its own unless it is told another one.

Planning costs more than a few records do, so the tests of a file put all of their trials into one run and analyse it
once; each then looks at its own trial.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from analysis.pipeline import analyze_in
from analysis.spark import SparkPlace, spark_session
from harness.model.cells import ParameterValue
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from harness.rundir.events import EVENTS
from harness.rundir.history import HISTORY
from harness.rundir.reading import read_run_directory
from harness.rundir.records import problem_of

MS, S = 1_000_000, 1_000_000_000
FAULT_NS = 2_000 * S
FAULT_WALL = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)

OWNER, SUCCESSOR, PRODUCER = "owner", "successor", "producer"
LOCK_THREAD, REBALANCE_THREAD = "ConsumeMessageScheduledThread_1", "RebalanceService"

Record = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.spark)


# --- times ------------------------------------------------------------------------------------------------------------


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


# --- a trial ----------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Trial:
    """One trial in the making: the frame as attributes, one function for each kind of record."""

    name: str
    incident: str
    arm: str
    params: dict[str, ParameterValue]
    deployment: str
    release: str = "4.6.0"
    fault: str = "none"
    asked_ms: float | None = None
    achieved_ms: float | None = None
    heals: bool = True
    bites_after_ms: float | None = 5.0
    """When the fault is done, after its beginning; None when it never is."""
    hold_ms: float = 60_000.0
    hiccup_ms: float = 1.5
    drained: bool | None = True
    """None: the drain left no record."""
    remaining: int = 0
    wall_step_ms: float = 0.0
    status: str = "complete"
    error: str = ""
    superseded_by: str = ""
    repetition: int = 1
    groups: list[str] = field(default_factory=list)
    live_conf: dict[str, str] = field(default_factory=dict)
    history: dict[str, list[Record]] = field(default_factory=dict)
    own_events: list[Record] = field(default_factory=list)
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

    def moment(self, after_ms: float) -> int:
        """Monotonic nanoseconds of a moment that is ``after_ms`` after the fault."""
        return at(after_ms)

    # --- records of a client process

    def write(self, process: str, **record: Any) -> None:
        self.history.setdefault(process, []).append({"process": process, **record})

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
    ) -> None:
        failed = {"code": 2, "error": "MQBrokerException", "remark": remark} if remark is not None else {}
        ok = {"broker": "broker-a", "queue": queue, "offset": offset, "msg_id": f"M{seq}"} if outcome == "ok" else {}
        self.write(
            PRODUCER,
            type="send",
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
            **ok,
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
        self.write(
            process,
            type="consume",
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
    ) -> None:
        asked = [f"broker-a:{queue}" for queue in queues]
        answer = {"granted": asked if granted else [], "answered": answered, "topic": topic}
        self._rpc(process, 41, at_ms, thread, asked, **answer)

    def unlock(self, process: str, *, at_ms: float, queues: Sequence[int] = (0,)) -> None:
        self._rpc(process, 42, at_ms, "main", [f"broker-a:{queue}" for queue in queues], granted=None, answered=True)

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
    ) -> None:
        self.write(
            process,
            type="rpc",
            instance=f"{self.group}-{process}",
            group=self.group,
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
        self.write(
            process,
            type="rpc",
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
        self.write(
            process,
            type="queue",
            instance=f"{self.group}-{member or process}",
            group=self.group,
            event=event,
            broker=broker,
            queue=queue,
            at_ns=at(at_ms),
        )

    def threads(self, process: str, *, at_ms: float, parked: int = 4, busy: int = 0) -> None:
        """How many consuming threads are parked, which a process counts once a second."""
        self.write(process, type="threads", parked=parked, busy=busy, at_ns=at(at_ms))

    def instance(self, process: str, *, event: str, at_ms: float, group: str | None = None) -> None:
        name = group or self.group
        self.write(
            process,
            type="instance",
            instance=f"{name}-{process}",
            group=name,
            event=event,
            at_ns=at(at_ms),
            client_id="" if event == "starting" else self.client_id(process, name),
        )

    def anchor(self, process: str, *, at_ms: float, off_ms: float = 0.0) -> None:
        self.write(process, type="anchor", mono_ns=at(at_ms), wall_us=wall_us(at_ms + off_ms))

    # --- events

    def event(self, **record: Any) -> None:
        self.own_events.append(record)

    def append(self, *, entry_ms: float, exit_ms: float, node: str = "broker-a") -> None:
        stamps = {"entry_ns": at(entry_ms), "delay_end_ns": at(exit_ms) - 50_000, "exit_ns": at(exit_ms)}
        self.event(type="append", node=node, **stamps)

    def lock_probe(self, *, asked_broker: str, granted: bool, queue: str = "broker-a:0", at_ms: float = -500) -> None:
        names = {"group": self.group, "as_group": self.group, "queue": queue, "asked_broker": asked_broker}
        self.event(type="lock_probe", at_ns=at(at_ms), granted=granted, **names)

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
        self.event(type="store_max", **place, **offsets, **of_group, moment=moment)

    def topic_shape(self, *, write_queues: int, read_queues: int, folders: int, moment: str = "held") -> None:
        numbers = {"write_queues": write_queues, "read_queues": read_queues, "folders": folders}
        self.event(type="topic_shape", topic=self.topic, broker="broker-a", **numbers, moment=moment)

    def without(self, process: str, kind: str, **fields: Any) -> None:
        """Take the process's records of that type and with those fields out; at least one must be there."""
        kept = [
            record
            for record in self.history[process]
            if record["type"] != kind or any(record[name] != value for name, value in fields.items())
        ]
        assert len(kept) < len(self.history[process]), f"no {kind} of {process} has {fields}"
        self.history[process] = kept

    # --- the frame

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
            if self.bites_after_ms is not None:
                fault("injected", self.bites_after_ms)
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


# --- a run ------------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Run:
    """A run directory in the making. ``save`` writes it and gives its folder."""

    path: Path
    incidents: tuple[str, ...]
    releases: tuple[str, ...] = ("4.6.0",)
    rules: dict[str, str] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    deployments: dict[str, Record] = field(default_factory=dict)
    planned: list[str] = field(default_factory=list)

    def trial(self, name: str, incident: str, arm: str, *, deployment: str | None = None, **attributes: Any) -> Trial:
        place = deployment or f"d-{name}"
        made = Trial(name=name, incident=incident, arm=arm, deployment=place, **{"params": {}, **attributes})
        if place not in self.deployments:
            self.deployment(place, incident=incident, release=made.release)
        self.trials.append(made)
        return made

    def deployment(
        self,
        name: str,
        *,
        incident: str,
        release: str = "4.6.0",
        logging: str = "lab",
        zone: str = "UTC",
        conf: Mapping[str, str] | None = None,
    ) -> None:
        nodes = [
            {"name": "namesrv-1", "kind": "namesrv", "role": "", "address": "127.0.0.1:9876", "pid": 1},
            {"name": "broker-a", "kind": "broker", "role": "MASTER", "address": "127.0.0.1:20911", "pid": 2},
        ]
        about = {"deployment": name, "incident": incident, "release": release, "logging": logging, "log_zone": zone}
        settings = {"conf": dict(conf or {}), "properties": {}, "environment": {}}
        self.deployments[name] = {
            "schema": 1,
            "index": 1,
            "topology": {},
            **about,
            "nodes": nodes,
            "settings": settings,
        }

    def log(self, deployment: str, name: str, *lines: str, node: str = "broker-a") -> None:
        """Write a node's log; ``name`` may have a folder, as stock logging has."""
        path = self.path / "deployments" / deployment / "nodes" / node / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))

    def ordered(self, name: str, *, arm: str = "incident", queues: Sequence[int] = (0,), **attributes: Any) -> Trial:
        """A clean trial of ordered-lock-handover: one group, twelve messages in each queue.

        The owner consumes the first five, 5 ms after each was due (-500, -400, ... ms). It renewed its locks 24 and 4 s
        before the fault; the successor is refused at 16 and 36 s and granted at 56 s, and consumes from 56.010 s on.
        In the baseline the owner goes on, and the successor is never granted.
        """
        fault = {"baseline": "none", "fix-graceful-shutdown": "shut-down-owners"}.get(arm, "kill-owners")
        trial = self.trial(
            name, "ordered-lock-handover", arm, **{"fault": fault, "groups": [f"{name}-g0"], **attributes}
        )
        for process in (OWNER, SUCCESSOR):
            trial.instance(process, event="starting", at_ms=-30_000)
            trial.instance(process, event="started", at_ms=-29_000)
        for renewed_ms in (-24_000, -4_000):
            trial.lock(OWNER, at_ms=renewed_ms, granted=True, queues=queues, thread=LOCK_THREAD)
        for queue in queues:
            # A client renews all of its locks in one request, and takes over by its rebalance, a queue at a time.
            for asked_ms in (16_000, 36_000, 56_000):
                is_granted = asked_ms == 56_000 and fault != "none"
                trial.lock(SUCCESSOR, at_ms=asked_ms, granted=is_granted, queues=(queue,))
            for offset in range(12):
                due_ms = -500 + 100 * offset
                trial.send(100 * queue + offset, due_ms=due_ms, queue=queue, offset=offset)
                who = OWNER if offset < 5 or fault == "none" else SUCCESSOR
                at_ms = due_ms + 5 if who == OWNER else 56_010 + 10 * (offset - 5)
                trial.consume(offset, at_ms=at_ms, process=who, due_ms=due_ms, queue=queue)
            trial.store_max(12, queue=queue, group=trial.group, consumer_offset=12)
        return trial

    def stalled(
        self,
        name: str,
        *,
        incident: str = "append-stall",
        arm: str = "incident",
        stall_ms: int = 450,
        rate_hz: int = 500,
        **attributes: Any,
    ) -> Trial:
        """A clean trial of append-stall without a refusal: eleven accepted sends, every 200 ms from -1000 ms on.

        The stalled append is entered 1 ms after the fault began and left ``stall_ms`` later; ``stall_ms`` of 0 is the
        baseline's trial, without a fault.
        """
        is_stall = stall_ms > 0
        trial = self.trial(
            name,
            incident,
            arm if is_stall else "baseline",
            **{
                "params": {"stall_ms": stall_ms, "rate_hz": rate_hz},
                "fault": "append-stall" if is_stall else "none",
                "asked_ms": float(stall_ms) if is_stall else None,
                "achieved_ms": stall_ms + 0.2 if is_stall else None,
                "hold_ms": 2_000.0,
                **attributes,
            },
        )
        if is_stall:
            trial.append(entry_ms=1, exit_ms=1 + stall_ms)
        for index in range(11):
            trial.send(index, due_ms=-1000 + 200 * index, took_ms=2 + index, queue=index % 8, offset=index)
        return trial

    def save(self) -> Path:
        self._json(
            "manifest.json",
            {
                "schema": 1,
                "run": "made-by-hand",
                "created": "2026-11-21T08:00:00Z",
                "command": "",
                "commit": "abc",
                "dirty": False,
                "seed": 7,
                "incidents": list(self.incidents),
                "releases": list(self.releases),
                "client_releases": {release: release for release in self.releases},
                "backend": "local",
                "effort": "full",
                "rules": self.rules,
                "host": {"cores": 2, "java": "17.0.15"},
                "trials": [*(trial.name for trial in self.trials), *self.planned],
                "notes": [],
                "status": "complete",
            },
        )
        for name, record in self.deployments.items():
            self._json(f"deployments/{name}/deployment.json", record)
        for trial in self.trials:
            self._save_trial(trial)
        return self.path

    def _save_trial(self, trial: Trial) -> None:
        folder = f"trials/{trial.name}"
        self._json(
            f"{folder}/trial.json",
            {
                "schema": 1,
                "trial": trial.name,
                "incident": trial.incident,
                "arm": trial.arm,
                "params": trial.params,
                "release": trial.release,
                "client": f"java {trial.release}",
                "backend": "local",
                "injection": {"append-stall": "byteman", "kill-owners": "signal"}.get(trial.fault, "none"),
                "deployment": trial.deployment,
                "repetition": trial.repetition,
                "seed": 1,
                "topic": trial.topic,
                "groups": trial.groups,
                "live_conf": trial.live_conf,
                "status": trial.status,
                "error": trial.error,
                "attempt": 1,
                "superseded_by": trial.superseded_by,
            },
        )
        self._lines(f"{folder}/events.jsonl", [*trial.frame(), *trial.own_events])
        for process, records in trial.history.items():
            self._lines(f"{folder}/history/{process}.jsonl", records, trial.tails.get(process, ""))

    def _lines(self, name: str, records: Sequence[Record], tail: str = "") -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        known = EVENTS if path.name == "events.jsonl" else HISTORY
        for record in records:
            values = {name: value for name, value in record.items() if name != "type"}
            assert problem_of(known, record["type"], values) == ""
        numbered = [json.dumps({**record, "n": number}) for number, record in enumerate(records, start=1)]
        path.write_text("".join(f"{line}\n" for line in numbered) + tail)

    def _json(self, name: str, value: Record) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))


# --- what an analysis left --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What an analysis returned and wrote. ``rows`` are all observations, also of trials that do not count."""

    path: Path
    findings: Mapping[tuple[str, str], Finding]
    rows: Sequence[Row]
    report: Mapping[str, Any]

    def found(self, measure: str, trial: str, **params: str) -> list[Row]:
        """The observations of a trial (or deployment), in the order of their values."""
        return sorted(
            (
                row
                for row in self.rows
                if row.measure == measure
                and trial in (row.trial, row.deployment)
                and params.items() <= json.loads(row.params).items()
            ),
            key=lambda row: row.value,
        )

    def values(self, measure: str, trial: str, **params: str) -> list[float]:
        return [row.value for row in self.found(measure, trial, **params)]

    def one(self, measure: str, trial: str, **params: str) -> float:
        """The value of a measure that a trial has once."""
        (value,) = self.values(measure, trial, **params)
        return value

    def shown(self, row: Row) -> str:
        """The line that the observation names as the place to look."""
        return (self.path / row.file).read_text().splitlines()[row.line - 1]

    def shown_record(self, measure: str, trial: str, **params: str) -> Record:
        (row,) = self.found(measure, trial, **params)
        return json.loads(self.shown(row))

    def finding(self, claim: str, release: str = "4.6.0") -> Finding:
        return self.findings[claim, release]

    def trial(self, name: str) -> Mapping[str, Any]:
        """What the report says of a trial: whether it counts, and the reasons in words."""
        return next(trial for trial in self.report["trials"] if trial["trial"] == name)

    def unmatched(self, name: str) -> Mapping[str, Any] | None:
        """The count of unknown lines of the log file whose place ends in ``name``; None when it has none."""
        return next((item for item in self.report["logs"]["unmatched"] if item["file"].endswith(name)), None)


# --- fixtures ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that is there, or a new one; only a session of its own is stopped."""
    is_new = SparkSession.getActiveSession() is None
    session = spark_session(SparkPlace(master="local[2]"))
    yield session
    if is_new:
        session.stop()


@pytest.fixture(scope="session", name="log_time")
def log_time_() -> Callable[..., str]:
    return log_time


@pytest.fixture(scope="session")
def new_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """A new run directory of the named incidents."""

    def make(*incidents: str, **attributes: Any) -> Run:
        return Run(path=tmp_path_factory.mktemp("run"), incidents=incidents, **attributes)

    return make


@pytest.fixture(scope="session")
def analysed(spark: SparkSession) -> Callable[..., Analysis]:
    """Save a run (or take one that was saved) and analyse it with the given scenarios, or let ``by`` do that.

    ``measures`` are made beside what the claims ask for; where ``judging`` is off nothing else is. Planning all of the
    checkers takes long.
    """

    def analyse(
        run: Run | Path,
        *scenarios: Scenario,
        measures: Sequence[str] = (),
        judging: bool = True,
        by: Callable[[Path, Sequence[Scenario]], list[Finding]] | None = None,
    ) -> Analysis:
        path = run.save() if isinstance(run, Run) else run
        wanted = {"shown": tuple(measures)} if judging else {"shown": tuple(measures), "claims": ()}
        scenarios = tuple(dataclasses.replace(one, **wanted) for one in scenarios)
        findings = by(path, scenarios) if by else analyze_in(spark, read_run_directory(path), scenarios)
        return Analysis(
            path=path,
            findings={(found.claim, found.release): found for found in findings},
            rows=spark.read.parquet(str(path / "analysis" / "observations.parquet")).collect(),
            report=json.loads((path / "analysis" / "report_data.json").read_text()),
        )

    return analyse
