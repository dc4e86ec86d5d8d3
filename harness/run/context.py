"""What all trials of a run share."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends.cluster import Cluster, ClusterSpec
from harness.errors import DiskFullError
from harness.host.abilities import usable_cores
from harness.leases.leases import Leases
from harness.model.cluster import UserSettings
from harness.releases.java import Java
from harness.run.display import Display
from harness.rundir.writing import RunWriter
from harness.signals import EarlyEnd
from harness.trial import TrialContext

CLIENT_BOOTS_PER_CORE = 5
"""Trials that come up at once. Their first messages come when all members have their queues; ten ordered ones of 4.9.7 on two
cores were there after one to two minutes."""


DEPLOYMENT_S_MAX = 3600.0

StartCluster = Callable[[ClusterSpec, Path, float], Cluster]
"""A backend: starts a cluster in a folder, with leases that end after so many seconds."""

AtMoment = Callable[[TrialContext, bool], None]
"""Told that a trial's fault was made, and whether it is still on; raises Interrupted to end the run there."""

JudgeFirst = Callable[[str, threading.Event], None]
"""Judges the trials of a deployment that has ended, and says how; to be over soon after the event is set."""


def _is_quiet() -> threading.Event:
    quiet = threading.Event()
    quiet.set()
    return quiet


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What all trials of a run share."""

    run: RunWriter
    leases: Leases
    java: Java
    start_cluster: StartCluster
    observer: Display
    backend: str = "local"
    user: UserSettings = field(default_factory=UserSettings)
    client_releases: Mapping[str, str] = field(default_factory=dict)
    until_s: float = DEPLOYMENT_S_MAX
    """How long a deployment's processes and faults may last before the healer ends them."""
    cancel: threading.Event = field(default_factory=threading.Event)
    early_end: EarlyEnd = field(default_factory=EarlyEnd)
    """Of a load by itself, which is drained and judged then."""
    full: list[DiskFullError] = field(default_factory=list)
    """Why the run is cancelled, where it is that its disk has no room left."""
    quiet: threading.Event = field(default_factory=_is_quiet)
    """Not set while an analysis is at work: no trial gets further than up beside it."""
    boots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(usable_cores()))
    """Clusters that boot at once: more than there are cores only make each other late."""
    client_boots: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(CLIENT_BOOTS_PER_CORE * usable_cores())
    )
    """Trials whose clients boot and find their queues at once; apart, so that no cluster waits for clients."""
    client_starts: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(usable_cores()))
    """Of these, those whose processes start at once."""
    at_moment: AtMoment = lambda trial, is_on: None
    judge_first: JudgeFirst = lambda deployment, is_over: None
