"""What a trial took, which later plans learn from."""

import time

from harness.backends.cluster import Cluster
from harness.host.meter import Meter
from harness.trial import SharedClients, TrialContext


class TrialCosts:
    """Reads what a trial's processes use, before its fault and at its end: a killed client keeps its last reading."""

    def __init__(self, cluster: Cluster, shared: SharedClients, *, boot_s: float, at_once: int) -> None:
        """``at_once`` trials of the cluster share what its nodes use."""
        self._cluster = cluster
        self._shared = shared
        self._boot_s = boot_s
        self._at_once = at_once
        self._started = time.monotonic()
        self._clients = Meter()
        self._nodes = Meter(self._node_pids())
        self._producers = Meter(shared.pids())

    def _node_pids(self) -> list[int | None]:
        return [self._cluster.pid(node.name) for node in self._cluster.nodes]

    def read(self, trial: TrialContext) -> None:
        """Read what is up."""
        shared = self._shared.pids()
        self._nodes.read(self._node_pids())
        self._producers.read(shared)
        self._clients.read({client.pid for client in trial.clients if client.is_running()} - set(shared))

    def took(self) -> dict[str, float]:
        """As ``TrialRecord.took`` has it."""
        values = {
            "seconds": time.monotonic() - self._started,
            "boot_s": self._boot_s,
            "cpu_s": self._clients.cpu_s + self._producers.cpu_s + self._nodes.cpu_s / self._at_once,
            "wait_s": self._clients.wait_s + self._producers.wait_s + self._nodes.wait_s / self._at_once,
            "clients_mb": self._clients.memory_mb + self._producers.memory_mb,
            "nodes_mb": self._nodes.memory_mb,
        }
        return {name: round(value, 2) for name, value in values.items()}
