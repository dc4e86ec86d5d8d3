"""Run directories made of trials made by hand, and what an analysis left of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import Row

from analysis.ledger.runs import CountedTrial
from analysis.report.document import ReportData
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from tests.lib.trials import LOCK_THREAD, OWNER, SUCCESSOR, Record, Trial, at, write_json


@dataclass(kw_only=True)
class Run:
    """A run directory in the making. ``save`` writes it and gives its folder."""

    path: Path
    incidents: tuple[str, ...]
    releases: tuple[str, ...] = ("4.6.0",)
    rules: dict[str, str] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    deployments: dict[str, Record] = field(default_factory=dict)
    """Those that a test told more of than that a trial lies in them."""
    logs: dict[str, Sequence[str]] = field(default_factory=dict)
    """Lines by file, such as ``d1/broker-a/logs/lock.log``."""
    planned: list[str] = field(default_factory=list)

    def trial(self, name: str, incident: str, arm: str, *, deployment: str | None = None, **attributes: Any) -> Trial:
        """A trial, in a deployment of its own unless it is told another one."""
        assert all(one.name != name for one in self.trials), f"two trials are named {name}"
        made = Trial(name=name, incident=incident, arm=arm, deployment=deployment or f"d-{name}", **attributes)
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
        """A node's log; ``name`` may have a folder, as stock logging has."""
        self.logs[f"{deployment}/{node}/logs/{name}"] = lines

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
        else:
            # The baseline's appends are watched.
            seen = {"name": "append_count", "value": 1000.0, "target": "broker-a", "moment": "after", "detail": ""}
            trial.event("reading", at_ns=at(1), **seen)
        for index in range(11):
            trial.send(index, due_ms=-1000 + 200 * index, took_ms=2 + index, queue=index % 8, offset=index)
        return trial

    def save(self) -> Path:
        for trial in self.trials:
            if trial.deployment not in self.deployments:
                self.deployment(trial.deployment, incident=trial.incident, release=trial.release)
            trial.save(self.path / "trials" / trial.name)
        for name, record in self.deployments.items():
            write_json(self.path / "deployments" / name / "deployment.json", record)
        for place, lines in self.logs.items():
            deployment, node, *rest = place.split("/")
            path = self.path.joinpath("deployments", deployment, "nodes", node, *rest)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
        write_json(self.path / "manifest.json", self._manifest())
        return self.path

    def _manifest(self) -> Record:
        return {
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
            "budget": "full",
            "rules": self.rules,
            "host": {"cores": 2, "java": "17.0.15"},
            "trials": [*(trial.name for trial in self.trials), *self.planned],
            "notes": [],
            "status": "complete",
        }


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a file wants to see of the trials that it has planted, beside those of other files. Nothing is judged."""

    scenarios: Sequence[Scenario]
    measures: Sequence[str]
    releases: Sequence[str] = ("4.6.0",)


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What an analysis returned and wrote. ``rows`` are all observations, also of trials that do not count."""

    path: Path
    data: ReportData
    judged: Sequence[Finding]
    """All findings, also where a claim has one for each injection."""
    rows: Sequence[Row]
    counted: Sequence[CountedTrial]
    report: Mapping[str, Any]

    @property
    def findings(self) -> Mapping[tuple[str, str], Finding]:
        """The findings by claim and release, the last one where there are several."""
        return {(found.claim, found.release): found for found in self.judged}

    def found(self, measure: str, trial: str | None, **params: str) -> list[Row]:
        """The observations of a trial (or deployment, or of anything), in the order of their values."""
        return sorted(
            (
                row
                for row in self.rows
                if row.measure == measure
                and trial in (None, row.trial, row.deployment)
                and params.items() <= json.loads(row.params).items()
            ),
            key=lambda row: row.value,
        )

    def values(self, measure: str, trial: str | None, **params: str) -> list[float]:
        return [row.value for row in self.found(measure, trial, **params)]

    def one(self, measure: str, trial: str, **params: str) -> float:
        """The value of a measure that a trial has once."""
        (value,) = self.values(measure, trial, **params)
        return value

    def shown(self, row: Row) -> str:
        """The line that the observation names as the place to look."""
        line: str = (self.path / row.file).read_text().splitlines()[row.line - 1]
        return line

    def record(self, row: Row) -> Record:
        """The record that the observation cites."""
        value: Record = json.loads(self.shown(row))
        return value

    def shown_record(self, measure: str, trial: str, **params: str) -> Record:
        (row,) = self.found(measure, trial, **params)
        return self.record(row)

    def finding(self, claim: str, release: str = "4.6.0") -> Finding:
        return self.findings[claim, release]

    def trial(self, name: str) -> CountedTrial:
        """What the analysis says of a trial: whether it counts, the reasons in words, and what else is notable."""
        return next(one for one in self.counted if one.trial == name)

    def reasons(self, trial: str) -> list[str]:
        """Why a trial does not count; empty where it does."""
        return list(self.trial(trial).exclusions)

    def notes(self, trial: str) -> list[str]:
        """What is notable of a trial, whether it counts or not."""
        return list(self.trial(trial).notes)

    def unmatched(self, name: str) -> Mapping[str, Any] | None:
        """The count of unknown lines of the log file whose place ends in ``name``; None when it has none."""
        counted: Sequence[Mapping[str, Any]] = self.report["logs"]["unmatched"]
        return next((item for item in counted if item["file"].endswith(name)), None)
