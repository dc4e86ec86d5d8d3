"""From start to ready: three name servers, two masters and their slaves, in containers and as processes.

Ready is: every name server lists every broker, and every slave has what its master has. Starting seven JVMs is work, so
the time is held against that work: the nodes' CPU seconds until ready, divided by the cores. A ratio near 1 means that
nothing was waited for; the largest gap is the longest time in which the machine did next to nothing. Both ways
alternate in one run. On a machine that does something else besides, gaps and ratios mean little.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.backends.choose import BACKENDS, Backend, choose_backend
from harness.backends.cluster import Cluster, ClusterSpec
from harness.backends.topologies import TOPOLOGIES
from harness.host.abilities import usable_cores
from harness.leases.leases import Leases
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.java import find_java

RATIO_MAX = 1.5
GAP_S_MAX = 2.0
SAMPLE_S = 0.05
IDLE_SHARE = 0.1
"""Of one core: below that the machine does next to nothing."""


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One start. ``cpu_s`` is of the nodes alone, until they were ready."""

    ready_s: float
    cpu_s: float
    gap_s: float

    @property
    def ratio(self) -> float:
        """Time until ready over the time that its work takes when every core works on it."""
        return self.ready_s / (self.cpu_s / usable_cores())


class IdleWatch:
    """The longest time in which the machine did next to nothing."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.gap_s = 0.0

    def __enter__(self) -> IdleWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        since, busy_before = time.monotonic(), _busy_s()
        sampled = since
        while not self._stop.wait(SAMPLE_S):
            now, busy = time.monotonic(), _busy_s()
            if busy - busy_before > IDLE_SHARE * (now - sampled):
                since = now
            self.gap_s = max(self.gap_s, now - since)
            sampled, busy_before = now, busy


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system + times.nice + times.irq + times.softirq)


def boot(backend: Backend, release: str, leases: Leases) -> Boot:
    """Start the articles' topology once, and end it."""
    spec = ClusterSpec(name="ready", release=release, topology=TOPOLOGIES["article"])
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        with IdleWatch() as watch:
            cluster = backend.start(spec, Path(folder), leases, until_s=300)
        ready_s = time.monotonic() - started
        cpu_s = _cpu_s(cluster)
        cluster.down()
    return Boot(ready_s=ready_s, cpu_s=cpu_s, gap_s=watch.gap_s)


def _cpu_s(cluster: Cluster) -> float:
    times = [psutil.Process(cluster.pid(node.name)).cpu_times() for node in cluster.nodes]
    return float(sum(one.user + one.system for one in times))


def main() -> None:
    """Print a line a release and backend, and say whether containers are ready as soon as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--release", default=",".join(recorded_releases()))
    options = parser.parse_args()
    java, releases = find_java(), options.release.split(",")
    backends = [choose_backend(name, "", releases, java) for name in BACKENDS]
    print(
        f"{'release':8} {'backend':8} {'ready s':>8} {'CPU s':>7} {'cores':>5} {'ratio':>6} {'gap s':>6}  (medians; worst gap)"
    )
    met = True
    with tempfile.TemporaryDirectory() as state, Leases.open(Path(state)) as leases:
        for release in releases:
            ensure_jars(release)
            boots: dict[str, list[Boot]] = {backend.name: [] for backend in backends}
            for _ in range(options.rounds):
                for backend in backends:
                    boots[backend.name].append(boot(backend, release, leases))
            for name, measured in boots.items():
                ratio = statistics.median(one.ratio for one in measured)
                gap_s = max(one.gap_s for one in measured)
                met &= name == "local" or (ratio <= RATIO_MAX and gap_s <= GAP_S_MAX)
                print(
                    f"{release:8} {name:8} {statistics.median(one.ready_s for one in measured):8.2f} "
                    f"{statistics.median(one.cpu_s for one in measured):7.2f} {usable_cores():5d} {ratio:6.2f} {gap_s:6.2f}"
                )
    print(f"containers: ratio at most {RATIO_MAX}, gap at most {GAP_S_MAX} s: {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
