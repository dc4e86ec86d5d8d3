"""What all trials of a run share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.backends.cluster import Cluster, ClusterSpec
from harness.host.cores import usable_cores
from harness.leases.leases import Leases
from harness.releases.java import Java
from harness.rundir.writing import RunWriter

CLIENT_BOOTS_PER_CORE = 5
"""Trials that come up at once. Their first messages come when all members have their queues; ten ordered ones of 4.9.7 on two
cores were there after one to two minutes."""


class Observer(Protocol):
    """Told what happens, from several threads."""

    def phase(self, trial: str, phase: str) -> None:
        """A trial (or deployment) has entered a phase."""

    def rate(self, trial: str, per_s: float) -> None:
        """Messages a second of a trial."""

    def ended(self, trial: str, status: str, note: str) -> None:
        """A trial has ended."""

    def repeats(self, trial: str, why: str) -> None:
        """A trial that has ended is run once more."""

    def say(self, text: str) -> None:
        """Something else worth a line."""


StartCluster = Callable[[ClusterSpec, Path, float], Cluster]
"""A backend: starts a cluster in a folder, with leases that end after so many seconds."""


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What all trials of a run share."""

    run: RunWriter
    leases: Leases
    java: Java
    start_cluster: StartCluster
    observer: Observer
    backend: str = "local"
    user_conf: Mapping[str, str] = field(default_factory=dict)
    client_releases: Mapping[str, str] = field(default_factory=dict)
    cancel: threading.Event = field(default_factory=threading.Event)
    boots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(usable_cores()))
    """Clusters that boot at once: more than there are cores only make each other late."""
    client_boots: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(CLIENT_BOOTS_PER_CORE * usable_cores())
    )
    """Trials whose clients boot and find their queues at once; apart, so that no cluster waits for clients."""
