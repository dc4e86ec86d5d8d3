"""What the harness costs beside a running trial: its CPU against the broker's and the client's, in one run.

Printed is the CPU time of harness, probe and healer while a load of 500 sends a second runs, as a share of one core, and
its ratio to that of the broker and the client under it.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import psutil

from harness.backends.cluster import ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import start_local
from harness.clients.commands import SendSettings
from harness.clients.java import JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.host.hiccups import NoiseProbe
from harness.leases.leases import Leases
from harness.model.cluster import Topology
from harness.releases.java import find_java


def cpu_s(processes: list[psutil.Process]) -> float:
    """User and system seconds of the processes so far."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--release", default="4.6.0")
    options = parser.parse_args()
    java = find_java()
    with tempfile.TemporaryDirectory() as scratch, Leases.open(Path(scratch) / "state") as leases:
        folder = Path(scratch)
        spec = ClusterSpec(name="overhead", release=options.release, topology=Topology(name="single"))
        cluster = start_local(spec, folder / "cluster", leases, java, until_s=300)
        create_topic(cluster, "overhead", read_queues=8, write_queues=8)
        probe = NoiseProbe.start(leases, folder / "hiccups.jsonl", until_s=300)
        client = JavaClient.start(
            leases, name="c", release=options.release, java=java, folder=folder / "c", until_s=300
        )
        client.wait_started()
        client.open_history(folder / "history.jsonl")
        client.start_producer("p", "g", namesrv_addresses(cluster))
        client.wait_for_route("p", "overhead", 8)
        sends = int(500 * (options.seconds + 5))
        client.start_schedule(
            ScheduleSpec(
                name="s",
                instance="p",
                rate_hz=500,
                start_ns=mono_ns(),
                operations=sends,
                sends=SendSettings(topic="overhead"),
            )
        )
        time.sleep(3)
        own = {
            "harness": psutil.Process(),
            "probe": psutil.Process(probe.process.pid),
            "healer": psutil.Process(leases.healer_pid),
        }
        under_test = [psutil.Process(client.pid), *(psutil.Process(cluster.pid(node.name)) for node in cluster.nodes)]
        before = {name: cpu_s([process]) for name, process in own.items()}, cpu_s(under_test)
        threading.Event().wait(options.seconds)
        used = {name: cpu_s([process]) - before[0][name] for name, process in own.items()}
        used_by_them = cpu_s(under_test) - before[1]
        probe.stop()
        client.stop()
        cluster.down()
    shares = ", ".join(f"{name} {seconds / options.seconds:.2%}" for name, seconds in used.items())
    ratio = sum(used.values()) / used_by_them
    print(f"of a core: {shares}; cluster and client {used_by_them / options.seconds:.2%}; ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
