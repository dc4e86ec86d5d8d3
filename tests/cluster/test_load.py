"""Loads from the command line, against real brokers: Locust's counts, and where a load may go."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.clock import mono_ns
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.paths import PACKAGES
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.wait import wait_until

Json = Mapping[str, object]
S = 1_000_000_000


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    """Three masters, whose brokers let sends wait on a busy machine and forget a dead consumer's locks soon."""
    spec = ClusterSpec(
        name="load",
        release="4.6.0",
        topology=Topology(name="three-masters", masters=3),
        settings=BrokerSettings(properties={"rocketmq.broker.rebalance.lockMaxLiveTime": "10000"}),
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
            [sys.executable, "-m", "mqlab", "load", "--namesrv", namesrv_addresses(cluster).replace(";", ","),
             "--topic", topic, "--out", str(out), *arguments],
            env={**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(out.parent / "state")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def pid(self, name: str) -> int:
        """Of a process that the load has started; they are written down when Locust begins to send."""
        written = self.trial / "processes.json"
        wait_until(f"the load to write {written}", written.exists, timeout_s=180)
        return int(json.loads(written.read_text())[name])

    def consumed(self) -> int:
        """Consumptions so far, in all histories."""
        return sum(path.read_bytes().count(b'"consume"') for path in (self.trial / "history").glob("consumer-*.jsonl"))

    def wait_consumed(self, count: int) -> None:
        """Until so many more messages were consumed."""
        goal = self.consumed() + count

        def went_on() -> bool:
            if self.process.poll() is not None:
                raise AssertionError("the load has ended")
            return self.consumed() >= goal

        wait_until(f"{count} more consumptions", went_on, timeout_s=120, poll_s=0.2)

    def end(self) -> str:
        """Wait for its end; its standard output."""
        out, err = self.process.communicate(timeout=240)
        assert self.process.returncode == 0, err[-3000:]
        return out

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


@pytest.mark.parametrize("processes", [1, 2], ids=["alone", "master and workers"])
def test_what_is_done_on_locusts_page_takes_effect_within_a_second(
    three: LocalCluster, tmp_path: Path, processes: int
) -> None:
    port = free_port()
    command = Command(
        three, tmp_path / "run", f"page-{processes}", "--rate", "200", "--users", "20",
        "--processes", str(processes), "--web", str(port), "--record-only",
    )  # fmt: skip

    def sent() -> int:
        return sum(path.read_bytes().count(b'"send"') for path in (command.trial / "history").glob("producer-*.jsonl"))

    wait_until("two seconds of sends", lambda: sent() > 400, timeout_s=180, poll_s=0.2)
    more_ns = mono_ns()
    swarm = {"user_count": "60", "spawn_rate": "1000"}
    _page(port, "/swarm", swarm)
    before = sent()
    wait_until("three seconds of three times as many", lambda: sent() > before + 1_800, timeout_s=60, poll_s=0.2)
    stop_ns = mono_ns()
    _page(port, "/stop", {})
    command.process.send_signal(signal.SIGINT)
    command.end()

    sends = command.records("producer", "send")
    intended = sorted(int(str(send["intended_ns"])) for send in sends)
    late_s = (_hiccup_ms(command.out, more_ns) + _hiccup_ms(command.out, stop_ns)) / 1000

    def rate(from_ns: float) -> float:
        return sum(from_ns <= at_ns < from_ns + S / 2 for at_ns in intended) * 2

    assert rate(more_ns - S / 2) == pytest.approx(200, rel=0.1)
    assert rate(more_ns + S + late_s * S) == pytest.approx(600, rel=0.1)
    assert max(intended) <= stop_ns + S + late_s * S
    assert command.locust() == (len(sends), sum(send["outcome"] != "ok" for send in sends))


def _page(port: int, path: str, form: Mapping[str, str]) -> None:
    body = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=30) as answer:
        assert answer.status == 200


def _hiccup_ms(run: Path, at_ns: int) -> float:
    """How long this machine stood still at worst within two seconds after that moment."""
    records = read_records(run / "hiccups.jsonl").records
    windows = [record for record in records if record["type"] == "hiccup"]
    return max(
        (float(str(one["late_ms_max"])) for one in windows if at_ns - S <= int(str(one["at_ns"])) <= at_ns + 3 * S),
        default=0.0,
    )


@pytest.mark.parametrize(("client", "route"), [("java", "fixed"), ("native", "selector")])
def test_kills_leave_whole_histories_and_an_answer_that_the_stores_bear_out(
    three: LocalCluster, tmp_path: Path, client: str, route: str
) -> None:
    command = Command(
        three, tmp_path / "run", f"killed-{client}", "--client", client, "--rate", "150", "--duration", "0",
        "--processes", "2", "--mode", "sync", "--route", route, "--threads", "8", "--timeout-ms", "1000",
        "--consumers", "2", "--ordered", "--json",
    )  # fmt: skip
    worker, consumer = command.pid("locust-worker-1"), command.pid("consumer-1")
    command.wait_consumed(300)
    os.kill(worker, signal.SIGKILL)
    command.wait_consumed(150)
    os.kill(consumer, signal.SIGKILL)
    command.wait_consumed(150)
    three.kill_node("broker-c")
    command.wait_consumed(100)
    three.start_node("broker-c")
    command.wait_consumed(100)
    command.process.send_signal(signal.SIGINT)
    judged = json.loads(command.end())
    told = {item["name"]: item for item in judged["properties"]}

    sends, consumed = command.records("producer", "send"), command.records("consumer", "consume")
    accepted = [send for send in sends if send["outcome"] == "ok"]
    assert {send["process"] for send in sends} == {"producer-0", "producer-1"}
    assert 0 < len(accepted) < len(sends), "the broker's death makes some sends fail"
    assert judged["client"] == sends[0]["client"] == {"java": "java 4.6.0", "native": "native rocketmq 0.4.4"}[client]

    # Every acknowledged message lies in a broker's store, where its client says so, and came to a consumer.
    stored = Counter(command.stored(three))
    for broker in three.nodes:
        if broker.kind == "broker":
            ends = command.ends(broker.name)
            assert all(
                int(str(send["offset"])) < ends[int(str(send["queue"]))]
                for send in accepted
                if send.get("broker") == broker.name
            )
    assert set(_seqs(accepted)) <= set(stored)
    assert set(_seqs(consumed)) == set(stored)
    assert (told["all arrived"]["holds"], told["all arrived"]["count"]) == ("holds", 0)
    assert (told["nothing lost"]["holds"], told["nothing lost"]["count"]) == ("holds", 0)
    assert told["store agrees"]["holds"] == "holds"
    assert told["stored once"]["count"] == sum(count > 1 for count in stored.values())
    assert told["history whole"]["count"] <= 2
    # Each queue's messages of the killed consumer that it had not committed come again, and in order all the same.
    assert told["in order"]["holds"] == "holds"
    again = len(consumed) - len({(record["broker"], record["queue"], record["offset"]) for record in consumed})
    assert told["nothing twice"]["count"] == again
    queues = defaultdict(set)
    for record in consumed:
        queues[record["key"]].add((record["broker"], record["queue"]))
    assert told["a key, a queue"]["count"] == sum(len(found) > 1 for found in queues.values())

    # Only a broker's own refusal is a failure, and this client shows none: set apart, and told how many arrived.
    unknown = [send for send in sends if send["outcome"] == "unknown"]
    figures = judged["figures"]
    assert (figures["unknown"], figures["unknown_arrived"]) == (len(unknown), len(set(_seqs(unknown)) & set(stored)))
    if client == "java":
        assert (told["a key, a queue"]["holds"], told["stored once"]["holds"]) == ("holds", "holds")
        assert (figures["unplaced"], judged["notes"]) == (0, [])
    else:
        assert len(sends) == len(accepted) + len(unknown)
        assert all(send["error"] for send in unknown)
        assert figures["unplaced"] == len(accepted)
        for weakness in ("hides the broker's answer", "again by itself", "names no queue", "may hang"):
            assert any(note.startswith(judged["client"]) and weakness in note for note in judged["notes"])
        assert "consumptions are those of the client java 4.6.0" in judged["notes"]


def test_a_grpc_client_sends_by_way_of_a_proxy_and_is_judged_by_numbers(tmp_path: Path) -> None:
    run = _load(
        tmp_path, "--release", "5.3.3", "--topology", "two-masters", "--client", "grpc", "--route", "selector",
        "--rate", "100", "--duration", "5", "--consumers", "1", "--ordered", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    judged = json.loads(run.stdout)
    told = {item["name"]: item["holds"] for item in judged["properties"]}
    figures = judged["figures"]
    assert judged["client"] == "grpc rocketmq-python-client 5.1.2"
    assert figures["ok"] == figures["unplaced"] > 300
    names = ("all arrived", "nothing lost", "stored once", "in order", "bodies whole", "store agrees", "a key, a queue")
    assert {told[name] for name in names} == {"holds"}
    assert any("the proxy picks each message's queue" in note for note in judged["notes"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--namesrv", "192.0.2.1:9876"], "192.0.2.1:9876 is not an allowed target"),
        (["--client", "grpc", "--release", "4.9.7"], "the proxy of a 5.x cluster, and this one is 4.9.7"),
        (["--client", "grpc", "--namesrv", "127.0.0.1:1", "--proxy", "192.0.2.1:8081"], "192.0.2.1:8081 is not an"),
    ],
)
def test_a_load_goes_nowhere_that_is_not_allowed_or_not_understood(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    run = _load(tmp_path, *arguments)
    assert run.returncode == 3
    assert words in run.stderr


def test_a_load_has_a_cluster_and_a_client_of_the_release_that_is_named(tmp_path: Path) -> None:
    ended = _load(tmp_path, "--release", "5.3.3", "--rate", "200", "--duration", "4", "--consumers", "1", "--json")
    assert ended.returncode == 0, ended.stderr[-2000:]
    history = read_records(tmp_path / "run" / "trials" / "load" / "history" / "producer-0.jsonl").records
    sends = [record for record in history if record["type"] == "send"]
    assert {record["client"] for record in sends} == {"java 5.3.3"}
    assert sum(record["outcome"] == "ok" for record in sends) > 400
    logs = tmp_path / "run" / "trials" / "load" / "clients" / "producer-0"
    assert any(file.name == "rocketmq_client.log" for file in logs.rglob("*.log"))


def _load(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mqlab", "load", "--out", str(tmp_path / "run"), *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
