"""Loads from the command line against a real cluster: the running command, and what it leaves."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

from harness.backends.cluster import Cluster, ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.errors import LabError
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology, UserSettings
from harness.model.rocketmq import LOCK_INTERVAL
from harness.paths import PACKAGES
from harness.plan.deployments import TIMER_SLACK_MS, beside_others
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.rundir.reading import read_run_directory
from harness.wait import wait_until
from tests.lib.judged_loads import judge_load_in

Json = Mapping[str, object]

CLUSTER_S_MAX = 3600
SOON = ("--set", "client.rocketmq.client.rebalance.waitInterval=2000", "--set", f"client.{LOCK_INTERVAL}=2000")
"""By default consumers look every 20 s for queues that a dead one had, and for the locks without which they consume nothing. These
are settings of the Java client, and a load with another one takes none."""


@contextlib.contextmanager
def masters_of(release: str, folder: Path, leases: Leases, java: Java, *, masters: int) -> Iterator[LocalCluster]:
    """Masters whose brokers let sends wait on a busy machine, and forget a dead consumer's locks soon."""
    spec = ClusterSpec(
        name="load",
        release=release,
        topology=Topology(name=f"{masters}-masters", masters=masters),
        settings=beside_others(
            BrokerSettings(
                properties={"rocketmq.broker.rebalance.lockMaxLiveTime": "10000"}, timer_slack_ms=TIMER_SLACK_MS
            ),
            release,
        ),
        user=UserSettings(broker={"waitTimeMillsInSendQueue": "30000"}),
    )
    cluster = start_local(spec, folder, leases, java, until_s=CLUSTER_S_MAX)
    try:
        yield cluster
    finally:
        cluster.down()


class Command:
    """A running ``mqlab load`` with a run directory of its own."""

    processes: ClassVar[list[subprocess.Popen[str]]] = []

    def __init__(self, cluster: Cluster, out: Path, topic: str, *arguments: str) -> None:
        is_java = "--client" not in arguments or "java" in arguments
        create_topic(cluster, topic, read_queues=8, write_queues=8)  # which changes nothing where it is there already
        self.out = out
        self.namesrv = namesrv_addresses(cluster).replace(";", ",")
        self.trial = out / "trials" / "load"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mqlab", "load", "--namesrv", namesrv_addresses(cluster).replace(";", ","),
             "--topic", topic, "--out", str(out), *(SOON if is_java else ()), *arguments],
            env={**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(out.parent / "state")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.processes.append(self.process)

    def pid(self, name: str) -> int:
        """Of a process that the load has started; they are written down when Locust begins to send."""
        written = self.trial / "processes.json"

        self._wait(f"the load to write {written}", written.exists, timeout_s=300)
        return int(json.loads(written.read_text())[name])

    def consumed(self) -> int:
        """Consumptions so far, in all histories."""
        return sum(path.read_bytes().count(b'"consume"') for path in (self.trial / "history").glob("consumer-*.jsonl"))

    def wait_consumed(self, count: int) -> None:
        """Until so many more messages were consumed."""
        goal = self.consumed() + count
        self._wait(f"{count} more consumptions", lambda: self.consumed() >= goal, timeout_s=120)

    def _wait(self, what: str, condition: Callable[[], bool], timeout_s: float) -> None:
        def is_so() -> bool:
            if self.process.poll() is not None:
                raise LabError(f"the load has ended: {self.process.communicate()[1][-3000:]}")
            return condition()

        wait_until(what, is_so, timeout_s=timeout_s, poll_s=0.2)

    def end(self) -> str:
        """Wait for its end; its standard output."""
        out, err = self.process.communicate(timeout=400)
        assert self.process.returncode == 0, err[-3000:]
        return out

    def judged(self, spark: SparkSession) -> Any:
        """Wait for the end of one that only records; what is judged of it, in a session that is there already."""
        self.end()
        return json.loads(json.dumps(asdict(judge_load_in(spark, read_run_directory(self.out)))))

    def ends(self, broker: str) -> dict[int, int]:
        """The largest offset of each queue, as the broker itself told at the end."""
        read = read_records(self.trial / "events.jsonl").records
        return {
            int(str(record["queue"])): int(str(record["max_offset"]))
            for record in read
            if record["type"] == "store_max" and record["broker"] == broker
        }

    def stored(self, cluster: LocalCluster) -> list[int]:
        """The numbers of this run's messages as they lie in the brokers' own commit logs, each as often as it does."""
        run = json.loads((self.out / "manifest.json").read_text())["run"]
        body = re.compile(rf"{run} (\d+) \d+ \.*[0-9a-f]{{8}}".encode())
        files = cluster.folder.glob("nodes/*/store/commitlog/*")
        return [int(match[1]) for file in files for match in body.finditer(file.read_bytes())]

    def locust(self) -> tuple[int, int]:
        """Requests and failures that Locust counted."""
        tests = json.loads((self.trial / "locust.json").read_text())["tests"]
        return sum(test["requests"] for test in tests), sum(test["failures"] for test in tests)

    def records(self, name: str, kind: str) -> list[Json]:
        """Records of one type of all histories whose name begins so; a history may miss its last record only."""
        found: list[Json] = []
        for path in sorted((self.trial / "history").glob(f"{name}-*.jsonl")):
            read = read_records(path)
            assert len(read.damaged_lines) <= 1
            assert [record["n"] for record in read.records] == list(range(1, len(read.records) + 1))
            found += [record for record in read.records if record["type"] == kind]
        return found


def seqs(records: list[Json]) -> list[int]:
    return [int(str(record["seq"])) for record in records]


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """A load without an end whose test failed goes on otherwise."""
    yield
    for process in Command.processes:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=60)
    Command.processes.clear()
