"""Our load against RocketMQ's own benchmark producer, on one broker, alternating in one run.

First table, a closed loop at saturation: RocketMQ's benchmark (rocketmq-example 4.6.0, with 8, 32 and 64 threads), our
Java client under Locust with the history on, in the same mode with as many threads, asynchronously, and Python's native
client under Locust. All Java clients are of release 4.6.0 and have the same JVM options. Throughput is what the broker
stored, by its own queues' ends, in a window after a warm-up; CPU is that of all processes of the client's side. The ratio
is of rounds: each has every kind once, in an order that rotates. Intervals are 95 %, bootstrapped over the rounds. At the
end stand the ratios of the same mode and threads for each release and size;
``--only saturation --kinds "benchmark 64,ours sync 64"`` measures nothing else.

Second table, an open loop: what was asked and what was started, and how late starts were, the first seconds of a JVM
left out; beside it the worst hiccup of the machine itself.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from harness.backends.cluster import ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import start_local
from harness.clients.commands import SendSettings
from harness.clients.java import LOAD_JVM_OPTIONS
from harness.clock import mono_ns
from harness.generator.locust_processes import spawn_locust
from harness.generator.options import LoadOptions, LocustSpec
from harness.generator.senders import java_driver, python_driver
from harness.generator.target import Target, find_target
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.model.cluster import Topology
from harness.protocol.broker import Broker
from harness.protocol.targets import LOOPBACK
from harness.releases.jars import BENCHMARK, BENCHMARK_RELEASE, ensure_jars
from harness.releases.java import Java, find_java
from harness.releases.jvm import MODULE_FLAGS
from harness.rundir.events import EventLog
from harness.wait import wait_until

QUEUES = 8
THREADS = (8, 32, 64)
KINDS = (
    *(f"benchmark {threads}" for threads in THREADS),
    *(f"ours sync {threads}" for threads in THREADS),
    "ours async 256",
    "native sync 8",
)
WARM_UP_S = 6.0
RATES_HZ = (1_000.0, 5_000.0, 10_000.0)
RATE_WARM_UP_S = 10.0
RUN_S_MAX = 600.0


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What one measurement needs."""

    leases: Leases
    java: Java
    target: Target
    folder: Path
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Messages a second that the broker stored, and the client side's CPU microseconds for each."""

    per_s: float
    cpu_us: float


def stored(target: Target) -> int:
    """Messages in the topic by the broker's own count."""
    count = 0
    for name, address in target.brokers.items():
        with Broker(address) as connection:
            count += sum(connection.max_offset(target.topic, queue) for queue in range(target.queues[name]))
    return count


def cpu_s(process: LeasedProcess) -> float:
    """User and system seconds of a process and its children."""
    root = psutil.Process(process.pid)
    return sum(sum(one.cpu_times()[:2]) for one in (root, *root.children(recursive=True)))


@contextlib.contextmanager
def sending(bench: Bench, kind: str, size: int) -> Iterator[LeasedProcess]:
    """One kind of sender at saturation, ended afterwards."""
    name, *_, number = kind.split()
    if name == "benchmark":
        jars = (*ensure_jars(BENCHMARK), *ensure_jars(BENCHMARK_RELEASE))
        command = [
            str(bench.java.executable), *LOAD_JVM_OPTIONS, *MODULE_FLAGS, "-cp", ":".join(map(str, jars)),
            f"-Drocketmq.client.logRoot={bench.folder}",
            "org.apache.rocketmq.example.benchmark.Producer",
            "-n", bench.target.namesrv_list, "-t", bench.target.topic, "-w", number, "-s", str(size),
        ]  # fmt: skip
        process = bench.leases.spawn(
            command, name=kind, until_s=RUN_S_MAX, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    else:
        process = start_locust(bench, locust_spec_of(bench, kind, size))
    try:
        yield process
    finally:
        process.terminate(20.0)
        process.release()


def locust_spec_of(bench: Bench, kind: str, size: int) -> LocustSpec:
    """A closed loop of ours: eight users share its threads, sixteen its asynchronous messages."""
    name, mode, number = kind.split()
    java = name != "native"
    driver = java_driver(BENCHMARK_RELEASE, bench.java, bench.target) if java else python_driver(name, bench.target)
    users = 8 if mode == "sync" else 16
    sends = SendSettings(
        topic=bench.target.topic,
        mode=mode,
        run="benchmark",
        keys=0,
        threads=int(number) if mode == "sync" else 1,
        body_bytes=(size,),
    )
    options = LoadOptions(
        users=users, per_user=int(number) / users, closed=True, duration_s=0.0, shape=((0.0, 1.0),), sends=sends
    )
    return LocustSpec(role="local", options=options, driver=driver, folder=str(bench.folder))


def start_locust(bench: Bench, spec: LocustSpec) -> LeasedProcess:
    """Start a Locust process in a folder of its own and wait until its load begins."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    (folder / "history").mkdir()
    process = spawn_locust(bench.leases, dataclasses.replace(spec, folder=str(folder)), "locust", folder, heard=True)
    assert process.stdout is not None
    for line in process.stdout:
        if b'"started"' in line:
            return process
    raise SystemExit(f"Locust ended: {(folder / 'stderr.log').read_text()[-2000:]}")


def measure(bench: Bench, kind: str, size: int) -> Measured:
    """Stored messages and CPU over the window."""
    first = stored(bench.target)
    with sending(bench, kind, size) as process:
        wait_until(f"{kind} to send", lambda: stored(bench.target) > first, timeout_s=60.0)
        time.sleep(WARM_UP_S)
        before, cpu_before, started = stored(bench.target), cpu_s(process), time.monotonic()
        time.sleep(bench.seconds)
        count, cpu, seconds = stored(bench.target) - before, cpu_s(process) - cpu_before, time.monotonic() - started
    return Measured(per_s=count / seconds, cpu_us=cpu / count * 1e6)


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median and its 95 % bootstrap interval."""
    draws = np.random.default_rng(1).choice(values, size=(2000, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)


def saturation(bench: Bench, release: str, size: int, rounds: int, kinds: tuple[str, ...]) -> list[str]:
    """The first table; returns a line for each ratio of the same mode and threads."""
    found: dict[str, list[Measured]] = defaultdict(list)
    for number in range(rounds):
        turn = number % len(kinds)
        for kind in (*kinds[turn:], *kinds[:turn]):
            found[kind].append(measure(bench, kind, size))
    print(f"\n{release}, bodies of {size} B: messages/s (95 % of {rounds} rounds), client CPU us a message")
    for kind in kinds:
        middle, low, high = interval([one.per_s for one in found[kind]])
        cpu = float(np.median([one.cpu_us for one in found[kind]]))
        print(f"  {kind:15} {middle:9,.0f} ({low:,.0f} to {high:,.0f})  {cpu:6.1f}")
    theirs = [kind for kind in kinds if kind.startswith("benchmark")]
    if not theirs:
        return []
    best = max(theirs, key=lambda kind: float(np.median([one.per_s for one in found[kind]])))

    def ratio(ours: str, other: str) -> str:
        pairs = zip(found[ours], found[other], strict=True)
        middle, low, high = interval([one.per_s / two.per_s for one, two in pairs])
        return f"{ours} / {other}: {middle:.2f} ({low:.2f} to {high:.2f})"

    for kind in (kind for kind in kinds if kind not in theirs):
        print(f"  {ratio(kind, best)}", flush=True)
    same = ((kind.replace("benchmark", "ours sync"), kind) for kind in theirs)
    return [f"  {release:7} {size:5} B  {ratio(ours, other)}" for ours, other in same if ours in kinds]


def open_loop(bench: Bench, release: str, rate_hz: float, probe: NoiseProbe) -> None:
    """One line of the second table."""
    seconds = RATE_WARM_UP_S + bench.seconds
    users = 20
    options = LoadOptions(
        users=users, per_user=rate_hz / users, closed=False, duration_s=seconds, shape=((0.0, 1.0),),
        sends=SendSettings(topic=bench.target.topic, mode="async", run="benchmark", keys=0),
    )  # fmt: skip
    driver = java_driver(release, bench.java, bench.target, is_punctual=True)
    folder = Path(tempfile.mkdtemp(dir=bench.folder))
    spec = LocustSpec(role="local", options=options, driver=driver, folder=str(folder))
    (folder / "history").mkdir()
    process = spawn_locust(bench.leases, spec, "locust", folder, heard=True)
    from_ns = mono_ns()
    assert process.stdout is not None
    process.stdout.read()
    process.wait(60.0)
    process.release()
    with EventLog(folder / "events.jsonl") as events:
        worst = worst_ms(probe.copy_into(events, from_ns + int(RATE_WARM_UP_S * 1e9), mono_ns())) or 0.0
    lines = (folder / "history" / "producer-0.jsonl").read_bytes().splitlines()
    sends = [record for record in map(json.loads, lines) if record["type"] == "send"]
    intended = np.array([record["intended_ns"] for record in sends])
    started = np.array([record["started_ns"] for record in sends])
    counted = json.loads((folder / "locust.json").read_text())["tests"][0]
    kept = intended >= intended.min() + RATE_WARM_UP_S * 1e9
    window_s = (intended.max() - intended[kept].min()) / 1e9
    achieved = ((started >= intended[kept].min()) & (started <= intended.max())).sum() / window_s
    late = np.percentile((started - intended)[kept] / 1e6, [50, 99, 99.9])
    equal = "equal" if counted["requests"] == len(sends) else f"{counted['requests']} of {len(sends)}"
    failed = sum(record["outcome"] != "ok" for record, is_kept in zip(sends, kept, strict=True) if is_kept)
    print(
        f"  {release:7} {rate_hz:7,.0f} {achieved:10,.1f} {achieved / rate_hz - 1:+8.3%} {late[0]:8.3f} {late[1]:8.3f} "
        f"{late[2]:8.3f} {worst:10.1f}  {equal}, {failed} not ok",
        flush=True,
    )


@contextlib.contextmanager
def bench_on(release: str, size: int, seconds: float, leases: Leases, java: Java) -> Iterator[Bench]:
    """A broker of its own for each release and size, so that none works on the other's leftovers."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spec = ClusterSpec(name="load", release=release, topology=Topology(name="single"))
        cluster = start_local(spec, folder / "cluster", leases, java, until_s=7200)
        try:
            topic = f"load-{size}"
            create_topic(cluster, topic, read_queues=QUEUES, write_queues=QUEUES)
            namesrv = namesrv_addresses(cluster).split(";")
            target = find_target(namesrv, topic, allowed=LOOPBACK, create_queues=None)
            yield Bench(leases=leases, java=java, target=target, folder=folder, seconds=seconds)
        finally:
            cluster.down()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="4.6.0,5.3.3")
    parser.add_argument("--sizes", default="128,1024")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", choices=("saturation", "open-loop"), default="")
    options = parser.parse_args()
    java = find_java()
    kinds = tuple(options.kinds.split(","))
    same: list[str] = []
    with tempfile.TemporaryDirectory() as state, Leases.open(Path(state)) as leases:
        for release in options.release.split(","):
            for size in map(int, options.sizes.split(",")):
                if options.only != "open-loop":
                    with bench_on(release, size, options.seconds, leases, java) as bench:
                        same += saturation(bench, release, size, options.rounds, kinds)
        if options.only != "saturation":
            print("\nopen loop through Locust, history on (lateness in ms, the first 10 s left out)")
            print("  broker    asked    started      off      p50      p99    p99.9 hiccup max  Locust's count")
            for release in options.release.split(","):
                with bench_on(release, 128, max(options.seconds, 20.0), leases, java) as bench:
                    probe = NoiseProbe.start(leases, bench.folder / "hiccups.jsonl", until_s=3600)
                    for rate_hz in RATES_HZ:
                        open_loop(bench, release, rate_hz, probe)
                    probe.stop()
    if same:
        print("\nours by RocketMQ's own producer, same mode and threads (95 % of the rounds)", *same, sep="\n")


if __name__ == "__main__":
    main()
