"""One Spark session, and run directories made by hand: small, exact, with room for one planted violation each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.observe import showing_everything
from analysis.pipeline import analyze_in
from analysis.spark import SparkPlace, spark_session
from harness.model.claims import Claim, Expectation, Part, Quantity, Statistic
from harness.model.cluster import Topology
from harness.model.faults import AppendStall, KillOwners, NoFault, ShutDownOwners
from harness.model.findings import Finding
from harness.model.loads import OpenLoopSends, OrderedGroups
from harness.model.scenario import Arm, Effort, Phases, Scenario
from harness.model.verdicts import VerdictKind
from harness.rundir.events import EVENTS
from harness.rundir.history import HISTORY
from harness.rundir.reading import read_run_directory
from harness.rundir.records import problem_of

S = 1_000_000_000
MS = 1_000_000
WALL_MINUS_MONO_US = 1_795_000_000_000_000
"""The wall clock of these histories: monotonic zero is a day in November 2026."""

Record = dict[str, object]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(SparkPlace(master="local[2]"))
    yield session
    session.stop()


# --- one trial --------------------------------------------------------------------------------------------------------


@dataclass
class HandMade:
    """A trial's records before they are written; a test changes what it likes."""

    name: str
    about: Record
    events: list[Record] = field(default_factory=list)
    histories: dict[str, list[Record]] = field(default_factory=dict)
    tails: dict[str, str] = field(default_factory=dict)
    """Text that follows the last whole line of a process's history."""

    def event(self, kind: str, **values: object) -> None:
        self.events.append({"type": kind, **values})

    def record(self, process: str, kind: str, **values: object) -> None:
        self.histories.setdefault(process, []).append({"type": kind, "process": process, **values})

    def consumptions(self, *, group: str, queue: int, process: str | None = None) -> list[Record]:
        return [
            record
            for name, records in self.histories.items()
            for record in records
            if record["type"] == "consume"
            and record["group"] == group
            and record["queue"] == queue
            and process in (None, name)
        ]

    def consume_again(self, record: Mapping[str, object], *, process: str, started_ns: int, took_ns: int = MS) -> None:
        """The same message once more, of its consumption or of its send."""
        fields = {field.name for field in HISTORY["consume"].fields} - {"process"}
        copy = {"reconsume": 0, "stored_ms": 0, **{key: value for key, value in record.items() if key in fields}}
        instance = f"{record['group']}-{process}"
        copy |= {"instance": instance, "started_ns": started_ns, "finished_ns": started_ns + took_ns}
        self.record(process, "consume", **copy)

    def drop(self, unwanted: Callable[[Record], bool]) -> None:
        for process, records in self.histories.items():
            self.histories[process] = [record for record in records if not unwanted(record)]
        self.events = [record for record in self.events if not unwanted(record)]

    def write(self, run_path: Path) -> None:
        folder = run_path / "trials" / self.name
        (folder / "history").mkdir(parents=True)
        (folder / "trial.json").write_text(json.dumps(self.about))
        _write_records(folder / "events.jsonl", self.events)
        for process, records in self.histories.items():
            _write_records(folder / "history" / f"{process}.jsonl", records, self.tails.get(process, ""))


def _write_records(path: Path, records: Iterable[Record], tail: str = "") -> None:
    known = EVENTS if path.name == "events.jsonl" else HISTORY
    for record in records:
        values = {name: value for name, value in record.items() if name != "type"}
        assert problem_of(known, str(record["type"]), values) == ""
    lines = [json.dumps({**record, "n": number}) for number, record in enumerate(records, start=1)]
    path.write_text("".join(f"{line}\n" for line in lines) + tail)


def _trial_json(name: str, incident: str, arm: str, *, deployment: str, **more: object) -> Record:
    return {
        "schema": 1,
        "trial": name,
        "incident": incident,
        "arm": arm,
        "params": {},
        "release": "4.6.0",
        "client": "java 4.6.0",
        "backend": "local",
        "injection": "signal",
        "deployment": deployment,
        "repetition": 1,
        "seed": 1,
        "topic": f"T-{name}",
        "groups": [],
        "live_conf": {},
        "status": "complete",
        "error": "",
        "attempt": 1,
        "superseded_by": "",
        **more,
    }


def _phases(trial: HandMade, start_ns: int, ends_s: Mapping[str, float]) -> None:
    from_s = 0.0
    for phase, to_s in ends_s.items():
        trial.event("phase", phase=phase, event="begin", at_ns=start_ns + round(from_s * S))
        trial.event("phase", phase=phase, event="end", at_ns=start_ns + round(to_s * S))
        from_s = to_s


def _clock(trial: HandMade, start_ns: int, processes: Iterable[str]) -> None:
    for second in (0, 10, 20):
        anchor = {"mono_ns": start_ns + second * S, "wall_us": (start_ns + second * S) // 1000 + WALL_MINUS_MONO_US}
        trial.event("anchor", process="harness", **anchor)
        for process in processes:
            trial.record(process, "anchor", **anchor)


def _hiccups(trial: HandMade, start_ns: int, seconds: int) -> None:
    for tenth in range(seconds * 10):
        at_ns = start_ns + tenth * S // 10
        trial.event("hiccup", from_ns=at_ns, at_ns=at_ns + S // 10, late_ms_max=1.0, samples=50)


QUEUES = 2
FAULT_S, TAKEN_S, HOLD_S, END_S = 6, 9, 12, 15
SENDS_HZ = 10


def handover(
    name: str, *, arm: str = "incident", fault: str = "kill-owners", start_s: int = 1_000, deployment: str = "d1"
) -> HandMade:
    """Two groups consume two queues in order; after 6 s the owners end, and 3 s later the successors take over.

    Message i of a queue has offset i and is sent at i / 10 s. Until the fault the owner consumes it 5 ms later, what
    is sent from then on is consumed by the successor, from 9 s on.
    """
    start_ns = start_s * S
    trial = HandMade(name=name, about=_trial_json(name, "handover", arm, deployment=deployment, groups=["g0", "g1"]))
    topic = trial.about["topic"]
    _clock(trial, start_ns, ("producer", "owner", "successor"))
    steps = {"up": 0.5, "steady": FAULT_S, "inject": FAULT_S + 0.1, "hold": HOLD_S, "recover": 13, "drain": 14}
    _phases(trial, start_ns, {**steps, "down": END_S})
    fault_ns = start_ns + FAULT_S * S
    states = {"asked": -MS, "injecting": 0, "injected": 3 * MS, "healing": 4 * MS, "healed": 5 * MS}
    for state, after_ns in states.items():
        if fault != "none" or state in ("asked", "injecting"):
            trial.event("fault", fault=fault, state=state, at_ns=fault_ns + after_ns, target="pid 1", detail="")
    _hiccups(trial, start_ns, END_S)
    trial.event("drain", at_ns=start_ns + 14 * S, complete=True, remaining=0)
    messages = 11 * SENDS_HZ
    for queue in range(QUEUES):
        place = {"topic": topic, "broker": "broker-a", "queue": queue, "moment": "end"}
        trial.event("store_max", **place, min_offset=0, max_offset=messages)
    for group in ("g0", "g1"):
        for process in ("owner", "successor"):
            instance = f"{group}-{process}"
            client = f"127.0.0.1@{name}-{instance}"
            told = {"event": "started", "at_ns": start_ns, "client_id": client}
            trial.record(process, "instance", instance=instance, group=group, **told)
    _locks(trial, start_ns, changed=fault != "none")
    for offset in range(messages):
        for queue in range(QUEUES):
            _message(trial, start_ns, offset=offset, queue=queue, handed_over=fault != "none")
    return trial


def _message(trial: HandMade, start_ns: int, *, offset: int, queue: int, handed_over: bool) -> None:
    """One message: its send, and its consumption by each group."""
    sent_ns = start_ns + offset * S // SENDS_HZ
    message: Record = {
        "topic": trial.about["topic"],
        "broker": "broker-a",
        "queue": queue,
        "offset": offset,
        "key": f"k{queue}",
        "seq": offset * QUEUES + queue,
        "intended_ns": sent_ns,
        "started_ns": sent_ns,
        "finished_ns": sent_ns + MS,
        "outcome": "ok",
    }
    trial.record("producer", "send", instance="p0", client="java", remark="", error="", **message)
    by_owner = offset < FAULT_S * SENDS_HZ or not handed_over
    started_ns = sent_ns + 5 * MS
    if not by_owner:
        started_ns = max(started_ns, start_ns + TAKEN_S * S + offset * 10_000)
    message |= {"started_ns": started_ns, "finished_ns": started_ns + 5_000, "reconsume": 0, "stored_ms": 0}
    process = "owner" if by_owner else "successor"
    for group in ("g0", "g1"):
        trial.record(process, "consume", instance=f"{group}-{process}", group=group, **message)


def _locks(trial: HandMade, start_ns: int, *, changed: bool) -> None:
    """Renewals at 1 s, 3 s and 5 s; the successor asks at 7 s in vain and at 8.9 s gets both queues, one by one."""
    queues = [f"broker-a:{queue}" for queue in range(QUEUES)]
    requests = [("owner", second, queues, queues) for second in (1.0, 3.0, 5.0)]
    if changed:
        # A client renews all of its locks in one request, and takes over by its rebalance, a queue at a time.
        requests += [("successor", 7.0, [queue], []) for queue in queues]
        requests += [("successor", 8.9, [queue], [queue]) for queue in queues]
    for group in ("g0", "g1"):
        for process, second, asked, granted in requests:
            trial.record(
                process,
                "rpc",
                instance=f"{group}-{process}",
                group=group,
                code=41,
                thread="ConsumeMessageScheduledThread_1" if process == "owner" else "RebalanceService",
                address="127.0.0.1:10911",
                started_ns=start_ns + round(second * S),
                finished_ns=start_ns + round(second * S) + MS,
                response=0,
                asked=asked,
                granted=granted,
                topic=trial.about["topic"],
            )


STALL_FAULT_S, STALL_ENTRY_S, STALL_HOLD_S = 3, 3.5, 8


def stall(
    name: str,
    *,
    arm: str = "incident",
    stall_ms: float = 450.0,
    refused: int = 30,
    start_s: int = 5_000,
    deployment: str = "d2",
    **about: object,
) -> HandMade:
    """100 sends a second over 8 s; one append stalls from 3.5 s on, and ``refused`` sends that were due in it fail.

    The first refusal comes back 205 ms after it was due, with a period of 205 ms and a queue of ``refused`` requests.
    """
    start_ns = start_s * S
    trial = HandMade(name=name, about=_trial_json(name, "stall", arm, deployment=deployment, **about))
    _clock(trial, start_ns, ("producer",))
    _phases(trial, start_ns, {"steady": STALL_FAULT_S, "inject": 3.2, "hold": STALL_HOLD_S, "drain": 8.5, "down": 9})
    _hiccups(trial, start_ns, 9)
    entry_ns = start_ns + round(STALL_ENTRY_S * S)
    exit_ns = entry_ns + round(stall_ms * MS)
    kind = "append-stall" if stall_ms else "none"
    trial.event("fault", fault=kind, state="injecting", at_ns=start_ns + STALL_FAULT_S * S, target="", detail="")
    if stall_ms:
        for state in ("injected", "healing", "healed"):
            lengths = {"asked_ms": stall_ms, "achieved_ms": stall_ms}
            trial.event("fault", fault=kind, state=state, at_ns=exit_ns, target="broker-a", detail="", **lengths)
        trial.event("append", node="broker-a", entry_ns=entry_ns, delay_end_ns=exit_ns - 1, exit_ns=exit_ns)
    for number in range(800):
        _send(trial, number, start_ns + number * 10 * MS, entry_ns=entry_ns, exit_ns=exit_ns, refused=refused)
    return trial


def _send(trial: HandMade, number: int, due_ns: int, *, entry_ns: int, exit_ns: int, refused: int) -> None:
    after = (due_ns - entry_ns) // (10 * MS)
    is_refused = 0 <= after < refused
    remark = (
        "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, "
        f"period in queue: {205 + after}ms, size of queue: {refused - 1 - after}"
    )
    stored_ns = exit_ns if entry_ns <= due_ns < exit_ns else due_ns
    trial.record(
        "producer",
        "send",
        instance="p0",
        client="java",
        topic=trial.about["topic"],
        key="k",
        seq=number,
        intended_ns=due_ns,
        started_ns=due_ns,
        finished_ns=due_ns + (205 + after) * MS if is_refused else stored_ns + MS,
        outcome="failed" if is_refused else "ok",
        code=2 if is_refused else None,
        error="MQBrokerException" if is_refused else "",
        remark=remark if is_refused else "",
        broker="broker-a",
        queue=0,
        offset=None if is_refused else number,
        msg_id="",
    )


# --- logs -------------------------------------------------------------------------------------------------------------


def log_time(mono_ns: int, *, zone_hours: int = 0, millis: bool = True) -> str:
    """The time of a log line at a monotonic time, as the lab's layout or a stock one writes it."""
    wall = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=mono_ns // 1000 + WALL_MINUS_MONO_US)
    local = wall + timedelta(hours=zone_hours)
    return local.strftime("%Y-%m-%d %H:%M:%S") + (f",{local.microsecond // 1000:03d}" if millis else "")


# --- one run ----------------------------------------------------------------------------------------------------------


@dataclass
class HandMadeRun:
    """Trials, deployments and logs that become a run directory."""

    path: Path
    trials: list[HandMade] = field(default_factory=list)
    logs: dict[str, list[str]] = field(default_factory=dict)
    """Lines by file, such as ``d1/broker-a/logs/lock.log``."""
    zones: dict[str, str] = field(default_factory=dict)

    def write(self) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = {
            "schema": 1,
            "run": "hand-made",
            "created": "2026-11-21T08:15:00Z",
            "command": "",
            "commit": "0" * 40,
            "dirty": False,
            "seed": 7,
            "incidents": ["handover", "stall"],
            "releases": ["4.6.0"],
            "client_releases": {"4.6.0": "4.6.0"},
            "backend": "local",
            "effort": "full",
            "rules": {},
            "host": {"cores": 2, "java": "17"},
            "trials": [trial.name for trial in self.trials],
            "notes": [],
            "status": "complete",
        }
        (self.path / "manifest.json").write_text(json.dumps(manifest))
        for trial in self.trials:
            trial.write(self.path)
        for name in sorted({str(trial.about["deployment"]) for trial in self.trials}):
            self._write_deployment(name)
        for file, lines in self.logs.items():
            deployment, node, *rest = file.split("/")
            path = self.path.joinpath("deployments", deployment, "nodes", node, *rest)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
        return self.path

    def _write_deployment(self, name: str) -> None:
        folder = self.path / "deployments" / name
        folder.mkdir(parents=True)
        deployment = {
            "schema": 1,
            "deployment": name,
            "incident": "",
            "release": "4.6.0",
            "index": 1,
            "topology": {"name": "one"},
            "logging": "lab",
            "log_zone": self.zones.get(name, "UTC"),
            "nodes": [{"name": "broker-a", "kind": "broker", "role": "MASTER", "address": "127.0.0.1:1", "pid": 1}],
            "settings": {"conf": {}, "properties": {}, "environment": {}},
            "overrides": [],
        }
        (folder / "deployment.json").write_text(json.dumps(deployment))


# --- scenarios of the tests' own --------------------------------------------------------------------------------------


def _claim(
    claim_id: str,
    measure: str,
    *,
    statistic: Statistic = Statistic.MEAN,
    relation: str = ">=",
    bound: float,
    where: Mapping[str, tuple[str]] | None = None,
) -> Claim:
    part = Part(
        name="it",
        quantity=Quantity(measure=measure, arm="incident", statistic=statistic, where=where or {}),
        relation=relation,  # type: ignore[arg-type]
        bound=bound,
        unit="s",
        why="for the test",
        units_min=2,
    )
    expected = {"4.6.0": Expectation(verdict=VerdictKind.CONFIRMED, because="the test", source="the test")}
    return Claim(id=claim_id, article="A0", says="s", reading="r", parts=(part,), expected=expected, truth="{it} s")


def _scenario(name: str, arms: tuple[Arm, ...], claims: tuple[Claim, ...]) -> Scenario:
    return Scenario(
        name=name,
        title=name,
        article="A0",
        summary="",
        topology=Topology(name="one"),
        arms=arms,
        phases=Phases(steady_s=6, hold_s_min=6, hold_s_max=6, recover_s=1),
        claims=claims,
        effort=Effort(trials=1, deployments=1),
        quick_effort=Effort(trials=1, deployments=1),
        exclusive=False,
        hiccup_ms_max=20,
    )


_ORDERED, _SENDS = OrderedGroups(groups=2), OpenLoopSends()

SCENARIOS = (
    _scenario(
        "handover",
        (
            Arm(name="baseline", what="", fault=NoFault(), load=_ORDERED),
            Arm(name="incident", what="", fault=KillOwners(), load=_ORDERED),
            Arm(name="fix-shutdown", what="", fault=ShutDownOwners(), load=_ORDERED),
        ),
        (
            _claim("HAND-01", "handover_s", statistic=Statistic.MEDIAN, bound=2.0),
            _claim("HAND-02", "lost_count", relation="<=", bound=3.0),
            _claim("HAND-03", "lock_lines_waiting", bound=0.5, where={"file": ("lock.log",)}),
        ),
    ),
    _scenario(
        "stall",
        (
            Arm(name="baseline", what="", fault=NoFault(), load=_SENDS),
            Arm(name="incident", what="", fault=AppendStall(), load=_SENDS),
            Arm(name="fix-wait", what="", fault=AppendStall(), load=_SENDS),
        ),
        (_claim("STALL-01", "rejected_count", bound=5.0, where={"keyword": ("any",)}),),
    ),
)


# --- what the analysis made of it -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """One observation as it is kept, whether or not its trial counts."""

    value: float
    censored: bool
    params: Mapping[str, str]
    file: str
    line: int
    unit: str


@dataclass(frozen=True)
class Analysed:
    path: Path
    findings: Mapping[str, Finding]
    report: Mapping[str, object]
    observations: Mapping[tuple[str | None, str], tuple[Seen, ...]]
    judged: tuple[Finding, ...] = ()
    """All findings, where a claim has one for each way of injection."""

    def seen(self, trial: str | None, measure: str, **params: str) -> list[Seen]:
        found = self.observations.get((trial, measure), ())
        return [item for item in found if all(item.params.get(key) == value for key, value in params.items())]

    def values(self, trial: str | None, measure: str, **params: str) -> list[float]:
        return sorted(item.value for item in self.seen(trial, measure, **params))

    def record(self, seen: Seen) -> Record:
        """The record that an observation cites."""
        value: Record = json.loads((self.path / seen.file).read_text().splitlines()[seen.line - 1])
        return value

    def reasons(self, trial: str) -> list[str]:
        trials = self.report["trials"]
        assert isinstance(trials, list)
        return next(item["reasons"] for item in trials if item["trial"] == trial)


@pytest.fixture(scope="session")
def analysed(spark: SparkSession) -> Callable[[HandMadeRun], Analysed]:
    """Writes a run, analyses it, and collects what came of it."""

    def run(hand_made: HandMadeRun) -> Analysed:
        path = hand_made.write()
        found = analyze_in(spark, read_run_directory(path), showing_everything(SCENARIOS))
        observations: dict[tuple[str | None, str], list[Seen]] = {}
        for row in spark.read.parquet(str(path / "analysis" / "observations.parquet")).collect():
            observations.setdefault((row["trial"], row["measure"]), []).append(
                Seen(row["value"], row["censored"], json.loads(row["params"]), row["file"], row["line"], row["unit"])
            )
        return Analysed(
            path=path,
            findings={item.claim: item for item in found},
            judged=tuple(found),
            report=json.loads((path / "analysis" / "report_data.json").read_text()),
            observations={key: tuple(items) for key, items in observations.items()},
        )

    return run


@dataclass(frozen=True)
class Made:
    """The builders, for tests that cannot import a conftest."""

    handover: Callable[..., HandMade] = handover
    stall: Callable[..., HandMade] = stall
    run: Callable[..., HandMadeRun] = HandMadeRun
    log_time: Callable[..., str] = log_time
    scenarios: tuple[Scenario, ...] = SCENARIOS


@pytest.fixture(scope="session")
def made() -> Made:
    return Made()
