"""What a load by itself needs, and how it stands meanwhile: the values of ``mqlab load``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.generator.options import DriverSpec, LoadOptions
from harness.generator.target import Target
from harness.leases.leases import Leases
from harness.releases.java import Java
from harness.rundir.manifest import TrialRecord
from harness.signals import EarlyEnd

LOAD = "load"
"""The incident, the trial and the deployment of a load's run directory: there is one of each."""
DAY_S = 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How a load stands: users, messages that ended and failed so far, a second, and the worst worker's lateness.

    ``errors`` are the commonest ones by name, each with how often it came.
    """

    users: int
    requests: int
    failures: int
    rate_hz: float
    late_p999_ms: float
    errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LoadRun:
    """Everything that a load needs. ``wait_for`` counts Locust workers, our own and those of other machines."""

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
    keep_groups: bool = False
    """Leave the consumer group on a cluster that is the user's when the load has ended."""
    user: Mapping[str, str] = field(default_factory=dict)
    """The user's own settings of clients (``UserSettings.client``)."""
    overrides: dict[str, str] = field(default_factory=dict)
    """What of them the load has changed, as ``old -> new`` by key."""
    until_s: float = DAY_S
    say: Callable[[str], None]
    note: Callable[[str], None]
    """Told what a reader of the report has to know, too."""
    on_progress: Callable[[Progress], None]
    cancel: threading.Event = field(default_factory=threading.Event)
    early_end: EarlyEnd = field(default_factory=EarlyEnd)

    @property
    def group(self) -> str:
        """The group of its consumers; empty where it has none."""
        return self.record.groups[0] if self.consumers else ""
