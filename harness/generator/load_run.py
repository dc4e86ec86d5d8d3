"""What a load by itself needs, and how it stands meanwhile: the values of ``mqlab load``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.generator.options import DriverSpec, LoadOptions
from harness.generator.target import Target
from harness.leases.leases import Leases
from harness.releases.java import Java
from harness.rundir.manifest import TrialRecord
from harness.rundir.writing import RunWriter

LOAD = "load"
"""The incident, the trial and the deployment of a load's run directory: there is one of each."""
ARM = "baseline"
GROUP = "mqlab-load-consumers"
DAY_S = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How a load stands: users, messages that ended and failed so far, a second, and the worst worker's lateness."""

    users: int
    requests: int
    failures: int
    rate_hz: float
    late_p999_ms: float


@dataclass(frozen=True, kw_only=True)
class LoadRun:
    """Everything that a load needs. ``wait_for`` counts Locust workers, our own and those of other machines."""

    run: RunWriter
    record: TrialRecord
    target: Target
    options: LoadOptions
    driver: DriverSpec
    leases: Leases
    java: Java
    processes: int = 1
    wait_for: int = 1
    bind: str = "127.0.0.1"
    master_port: int = 0
    web_port: int = 0
    join: str = ""
    """HOST:PORT of a master elsewhere: this machine only brings workers to it."""
    consumers: int = 0
    ordered: bool = False
    say: Callable[[str], None]
    on_progress: Callable[[Progress], None]
    cancel: threading.Event = field(default_factory=threading.Event)
