"""What a broker pays to tell its runtime information (request 28, ``mqadmin brokerStatus``), which exporters ask for often.

One idle broker of each release is up at a time, with both of Java's compilers. Requests for its runtime information alternate with
ones for its configuration, which it tells from memory. Printed are the median milliseconds of both as a client sees them, the
broker's CPU milliseconds of each, and the ratio of the medians. With ``--timer-off`` brokers of 5.x have no timer wheel.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from harness.backends.cluster import ClusterSpec, ask, masters
from harness.backends.local import start_local
from harness.errors import ClientError
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.java import Java, find_java
from harness.releases.settings import settings_of
from harness.wait import NotYet, wait_until

WARM_UPS = 10
ROUNDS, AT_ONCE = 10, 5
"""CPU time is counted in hundredths of a second: several requests of a kind come one after another."""


def measure(release: str, leases: Leases, java: Java, *, timer: bool) -> str:
    """A line of the table."""
    conf = {} if timer or "timerWheelEnable" not in settings_of(release).broker else {"timerWheelEnable": "false"}
    spec = ClusterSpec(
        name="runtime", release=release, topology=Topology(name="single"), settings=BrokerSettings(conf=conf)
    )
    with tempfile.TemporaryDirectory() as folder:
        cluster = start_local(spec, Path(folder), leases, java, until_s=300)
        try:
            (broker,) = masters(cluster)
            pid = cluster.pid(broker.name)
            assert pid is not None
            with ask(broker, timeout_s=60.0) as connection:
                wait_until("the broker to tell", lambda: _tells(connection.runtime_info), timeout_s=60.0)
                kinds: tuple[Callable[[], object], ...] = (connection.runtime_info, connection.broker_config)
                took_ms: tuple[list[float], list[float]] = ([], [])
                cpu_ms = [0.0, 0.0]
                for _ in range(WARM_UPS):
                    for tell in kinds:
                        tell()
                for _ in range(ROUNDS):
                    for index, tell in enumerate(kinds):
                        before = _cpu_ms(pid)
                        for _ in range(AT_ONCE):
                            started = time.perf_counter()
                            tell()
                            took_ms[index].append((time.perf_counter() - started) * 1000)
                        cpu_ms[index] += _cpu_ms(pid) - before
        finally:
            cluster.down()
    runtime, config = map(statistics.median, took_ms)
    each = [cpu / (ROUNDS * AT_ONCE) for cpu in cpu_ms]
    return f"{release:8} {runtime:10.2f} {config:10.2f} {runtime / config:7.1f} {each[0]:10.1f} {each[1]:10.1f}"


def _tells(what: Callable[[], object]) -> bool:
    """Whether it has an answer: in its first second a broker fails with NoSuchElementException."""
    try:
        what()
    except ClientError as error:
        raise NotYet(str(error)) from error
    return True


def _cpu_ms(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return (times.user + times.system) * 1000


def main() -> None:
    """Print a line a release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=",".join(recorded_releases()))
    parser.add_argument("--timer-off", action="store_true")
    options = parser.parse_args()
    java = find_java()
    print(f"{'release':8} {'info ms':>10} {'conf ms':>10} {'ratio':>7} {'info cpu':>10} {'conf cpu':>10}")
    with tempfile.TemporaryDirectory() as state, Leases.open(Path(state)) as leases:
        for release in options.release.split(","):
            ensure_jars(release)
            print(measure(release, leases, java, timer=not options.timer_off), flush=True)


if __name__ == "__main__":
    main()
