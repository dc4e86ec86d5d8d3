"""From start to usable: a name server and a broker, with and without asking the broker to register again.

A broker of 5.x may miss its first registration and repeat it ten seconds later (``harness.backends.cluster.wait_registered``
says why). Both ways alternate in one run; printed are medians and the ratio, by release.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from pathlib import Path
from unittest import mock

from harness.backends.cluster import ClusterSpec, create_topic
from harness.backends.local import start_local
from harness.leases.leases import Leases
from harness.model.cluster import Topology
from harness.protocol.broker import Broker
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.java import Java, find_java


def boot_s(release: str, leases: Leases, java: Java, *, nudged: bool) -> float:
    """Seconds until a topic can be used on a cluster of one broker."""
    spec = ClusterSpec(name="boot", release=release, topology=Topology(name="single"))
    silent = mock.patch.object(Broker, "update_broker_config", return_value=None)
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        with contextlib.nullcontext() if nudged else silent:
            cluster = start_local(spec, Path(folder), leases, java, until_s=120)
        create_topic(cluster, "boot", read_queues=1, write_queues=1)
        seconds = time.monotonic() - started
        cluster.down()
    return seconds


def main() -> None:
    """Print a line a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    java = find_java()
    print(f"{'release':8} {'asked':>8} {'waiting':>8} {'ratio':>6}  (median seconds of {options.rounds} starts each)")
    with tempfile.TemporaryDirectory() as state, Leases.open(Path(state)) as leases:
        for release in recorded_releases():
            ensure_jars(release)
            asked, waiting = [], []
            for _ in range(options.rounds):
                asked.append(boot_s(release, leases, java, nudged=True))
                waiting.append(boot_s(release, leases, java, nudged=False))
            one, other = statistics.median(asked), statistics.median(waiting)
            print(
                f"{release:8} {one:8.2f} {other:8.2f} {one / other:6.2f}  asked, all: {sorted(round(s, 2) for s in asked)}"
            )


if __name__ == "__main__":
    main()
