"""Loads from the command line, against real brokers: Locust's counts, its steering, and what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.backends.base import ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.backends.ports import free_port
from harness.clients.remoting import Remoting
from harness.leases import Leases
from harness.model import Topology
from harness.recorder import read_records
from harness.releases import Java
from harness.wait import NotYet, wait_until

ROOT = Path(__file__).parents[2]
Json = Mapping[str, object]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    """Three masters, whose brokers let sends wait on a busy machine."""
    spec = ClusterSpec(
        name="load",
        release="4.6.0",
        topology=Topology(name="three-masters", masters=3),
        user_conf={"waitTimeMillsInSendQueue": "30000"},
    )
    cluster = start_local(spec, tmp_path_factory.mktemp("load"), leases, java, until_s=900)
    yield cluster
    cluster.down()


class Command:
    """A running ``mqlab load`` with a run directory of its own."""

    def __init__(self, cluster: LocalCluster, out: Path, topic: str, *arguments: str) -> None:
        create_topic(cluster, topic, read_queues=8, write_queues=8)
        self.out = out
        self.trial = out / "trials" / "load"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness.cli", "load", "--namesrv", namesrv_addresses(cluster).replace(";", ","),
             "--topic", topic, "--out", str(out), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(out.parent / "state")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def end(self) -> str:
        """Wait for its end; its standard output."""
        out, err = self.process.communicate(timeout=240)
        assert self.process.returncode == 0, err[-3000:]
        return out

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

    def wait_for_sends(self, count: int) -> None:
        """Wait until so many sends are in the histories."""

        def sent() -> bool:
            have = len(self.records("producer", "send")) if self.trial.exists() else 0
            if have < count:
                assert self.process.poll() is None, self.process.communicate()[1]
                raise NotYet(f"{have} sends")
            return True

        wait_until(f"{count} sends", sent, timeout_s=120, poll_s=0.2)


def _seqs(records: list[Json]) -> list[int]:
    return [int(str(record["seq"])) for record in records]


def test_two_workers_send_in_order_and_locust_counts_what_the_history_has(three: LocalCluster, tmp_path: Path) -> None:
    command = Command(
        three, tmp_path / "run", "ordered", "--rate", "400", "--duration", "5", "--processes", "2", "--mode", "sync",
        "--route", "fixed", "--threads", "8", "--consumers", "2", "--ordered", "--record-only",
    )  # fmt: skip
    command.end()
    sends, consumed = command.records("producer", "send"), command.records("consumer", "consume")
    assert command.locust() == (len(sends), sum(send["outcome"] != "ok" for send in sends))
    assert len(sends) > 500
    assert len(set(_seqs(sends))) == len(sends)
    assert {send["process"] for send in sends} == {"producer-0", "producer-1"}
    accepted = [send for send in sends if send["outcome"] == "ok"]
    assert set(_seqs(accepted)) <= set(_seqs(consumed))
    assert {record["outcome"] for record in consumed} == {"ok"}
    queues = defaultdict(set)
    for send in accepted:
        queues[send["key"]].add((send["broker"], send["queue"]))
    assert {len(found) for found in queues.values()} == {1}
    assert len({queue for found in queues.values() for queue in found}) > 12


def test_users_and_stop_on_locusts_page_take_effect_within_a_second(three: LocalCluster, tmp_path: Path) -> None:
    port = free_port()
    command = Command(
        three, tmp_path / "run", "steered", "--rate", "200", "--users", "10", "--web", str(port), "--record-only"
    )
    command.wait_for_sends(300)
    faster_ns = _ask(port, "swarm", user_count="30", spawn_rate="100")
    time.sleep(4)
    stopped_ns = _ask(port, "stop")
    time.sleep(1.5)
    command.process.send_signal(signal.SIGTERM)
    command.end()
    due = sorted(int(str(send["intended_ns"])) for send in command.records("producer", "send"))
    second = 1_000_000_000
    before = sum(faster_ns - second <= at < faster_ns for at in due)
    after = sum(faster_ns + second <= at < faster_ns + 3 * second for at in due) / 2
    assert 190 <= before <= 210
    assert 590 <= after <= 610
    assert max(due) < stopped_ns + second
    assert command.locust()[0] == len(due)


def _ask(port: int, path: str, **form: str) -> int:
    """Ask Locust's page for something; monotonic nanoseconds just before."""
    data = urllib.parse.urlencode(form).encode() if form else None
    asked_ns = time.monotonic_ns()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", data, timeout=30) as answer:
        assert answer.status == 200
    return asked_ns


def test_kills_of_worker_consumer_and_broker_leave_whole_histories_and_a_right_judgement(
    three: LocalCluster, tmp_path: Path
) -> None:
    command = Command(
        three, tmp_path / "run", "killed", "--rate", "300", "--duration", "16", "--processes", "2", "--mode", "sync",
        "--route", "fixed", "--threads", "8", "--timeout-ms", "2000", "--consumers", "2", "--ordered", "--json",
    )  # fmt: skip
    command.wait_for_sends(600)
    pids = json.loads((command.trial / "processes.json").read_text())
    os.kill(pids["locust-worker-1"], signal.SIGKILL)
    os.kill(pids["consumer-0"], signal.SIGKILL)
    three.kill_node("broker-a")
    time.sleep(2)
    three.restart_node("broker-a")
    judged = json.loads(command.end())
    sends, consumed = command.records("producer", "send"), command.records("consumer", "consume")
    accepted = [send for send in sends if send["outcome"] == "ok"]
    assert len({send["process"] for send in accepted}) == 2
    assert max(int(str(send["seq"])) for send in accepted if send["process"] == "producer-0") > 600
    # The store's own account: everything that was accepted lies below the end of its queue, and once.
    ends = _ends(three, "killed")
    places = [(str(send["broker"]), int(str(send["queue"])), int(str(send["offset"]))) for send in accepted]
    assert len(set(places)) == len(places)
    assert all(offset < ends[broker, queue] for broker, queue, offset in places)
    lost = set(_seqs(accepted)) - set(_seqs(consumed))
    holds = {item["name"]: item["holds"] for item in judged["properties"]}
    assert holds["all arrived"] == ("violated" if lost else "holds")
    assert holds["nothing lost"] == ("violated" if lost else "holds")
    twice = len(consumed) - len({(record["broker"], record["queue"], record["offset"]) for record in consumed})
    assert next(item["count"] for item in judged["properties"] if item["name"] == "nothing twice") == twice
    assert holds["store agrees"] == "holds"
    assert holds["a key, a queue"] == "holds"
    assert not lost


def _ends(cluster: LocalCluster, topic: str) -> dict[tuple[str, int], int]:
    found = {}
    for node in cluster.nodes:
        if node.kind == "broker":
            with Remoting(node.address) as connection:
                found |= {(node.broker_name, queue): connection.max_offset(topic, queue) for queue in range(8)}
    return found


def test_a_load_goes_nowhere_that_is_not_allowed(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "harness.cli", "load", "--namesrv", "192.0.2.1:9876", "--out", str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert run.returncode == 3
    assert "192.0.2.1:9876 is not an allowed target" in run.stderr
