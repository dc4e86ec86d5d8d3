"""Which log files a run has, what kind each is, and in which zone its times are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.rundir.reading import RunDirectory

_DAY = r"(?:[._-]\d{4}-?\d\d-?\d\d(?:[-_.T]\d\d(?:[-:]?\d\d)?)?)?"
"""A day, and maybe an hour, as logback and log4j put into the names of what they roll."""
_ROTATED = re.compile(
    rf"^(?P<stem>.+?){_DAY}(?:\.(?P<before>\d+))?\.(?P<kind>log|out){_DAY}(?:\.(?P<after>\d+))?(?:\.gz|\.zip)?$"
)

_KINDS = {
    "broker": "broker",
    "store": "store",
    "namesrv": "namesrv",
    "rocketmq_client": "client",
    "gc": "gc",
    "watermark": "watermark",
}

NO_LOGS_ADVICE = "Stock logs lie in ~/logs/rocketmqlogs."

PLAIN = "plain"
"""A log of no kind that a parser names. Its layout is checked; of its lines those are kept that have a parser's words."""


@dataclass(frozen=True, kw_only=True)
class LogFile:
    """``file`` is relative to the run; ``name`` is without the number of a rotation: lock.2.log is lock.log.

    ``node`` is empty for a client's log, ``trial`` for a node's. ``since_us``, microseconds since 1970, is when its log is whole
    from on, rotated files taken together (``analysis/logs/spans.py``): 0 from the start, None where it is not.
    """

    path: Path
    file: str
    name: str
    kind: str
    node: str
    deployment: str
    trial: str
    zone: str
    is_empty: bool = False
    since_us: int | None = None

    @property
    def process(self) -> str:
        """The client process whose log it is; empty for a node's."""
        return "" if self.node else self.file.split("/")[3]


def log_files(run: RunDirectory) -> list[LogFile]:
    """All log files of the run's nodes and clients, empty and rotated ones included."""
    zones = {item.deployment: item.log_zone for item in run.deployments}
    of_trial = {item.trial: item.deployment for item in run.trials}
    found = []
    logs = [*run.evidence("deployments/*/nodes/*/**/*.log*"), *run.evidence("trials/*/clients/*/**/*.log*")]
    for path in sorted(logs):
        name = _name(path)
        if name is None:
            continue
        parts = path.relative_to(run.path).parts
        is_node = parts[0] == "deployments"
        deployment = parts[1] if is_node else of_trial.get(parts[1], "")
        kind = _KINDS.get(name.removesuffix(".log"), PLAIN)
        found.append(
            LogFile(
                path=path,
                file="/".join(parts),
                name=name,
                kind=kind,
                node=parts[3] if is_node else "",
                deployment=deployment,
                trial="" if is_node else parts[1],
                # The JVM writes its own zone with each line; the lab's client logging is in UTC like the brokers'.
                zone=zones.get(deployment, "UTC"),
                is_empty=path.stat().st_size == 0,
            )
        )
    return found


def rotated_name(name: str) -> str | None:
    """``lock.log`` for lock.log, lock.log.1, lock.1.log, lock.3.log.gz and lock.log.2026-03-04; None for what is no log."""
    match = _ROTATED.match(name)
    return f"{match['stem']}.{match['kind']}" if match else None


def rotation_of(name: str) -> int | None:
    """The number of a rotated file, 3 of lock.3.log.gz; None for the one that is written to."""
    match = _ROTATED.match(name)
    number = match and (match["after"] or match["before"])
    return int(number) if number else None


def _name(path: Path) -> str | None:
    name = rotated_name(path.name)
    # stdout and stderr are whatever a process printed; they have no layout that could be checked.
    if name is None or name in {"stdout.log", "stderr.log"} or not path.is_file():
        return None
    return name
