"""Loads from the command line, against real brokers: Locust's counts, and where a load may go."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from harness.backends.cluster import create_topic, namesrv_addresses
from harness.backends.local import LocalCluster
from harness.backends.proxy import proxy_beside
from harness.clients.python.clients import CLIENTS
from harness.errors import EXIT_INTERRUPTED
from harness.host.ports import free_port
from harness.leases import proc
from harness.leases.leases import Leases
from harness.model.rocketmq import RETRY_PREFIX
from harness.paths import PACKAGES
from harness.protocol.broker import Broker
from harness.protocol.name_server import NameServer
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.rundir.reading import read_run_directory
from harness.wait import wait_until
from tests.lib.commands import typed
from tests.lib.judged_loads import judge_load_in, shown_of_json
from tests.lib.loads import CLUSTER_S_MAX, SOON, Command, Json, masters_of, none_is_left, seqs

__all__ = ["none_is_left"]

GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of commands that are carried out in this process."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    with masters_of("4.6.0", tmp_path_factory.mktemp("load"), leases, java, masters=3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def three_5x(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    with masters_of("5.3.3", tmp_path_factory.mktemp("load-5x"), leases, java, masters=3) as cluster:
        yield cluster


def test_two_workers_send_in_order_and_locust_counts_what_the_history_has(three: LocalCluster, tmp_path: Path) -> None:
    command = Command(
        three, tmp_path / "run", "ordered", "--rate", "400", "--duration", "5", "--processes", "2", "--mode", "sync",
        "--route", "fixed", "--threads", "8", "--consumers", "2", "--ordered", "--record-only", "--keep-groups",
    )  # fmt: skip
    command.end()
    sends, consumed = command.records("producer", "send"), command.records("consumer", "consume")
    assert command.locust() == (len(sends), sum(send["outcome"] != "ok" for send in sends))
    assert len(set(seqs(sends))) == len(sends)
    assert {send["process"] for send in sends} == {"producer-0", "producer-1"}
    accepted = [send for send in sends if send["outcome"] == "ok"]
    assert set(seqs(accepted)) <= set(seqs(consumed))
    assert {record["outcome"] for record in consumed} == {"ok"}
    queues = defaultdict(set)
    for send in accepted:
        queues[send["key"]].add((send["broker"], send["queue"]))
    assert {len(found) for found in queues.values()} == {1}
    assert len({queue for found in queues.values() for queue in found}) > 12


@pytest.mark.parametrize("client", ["java", *CLIENTS])
def test_kills_leave_whole_histories_and_an_answer_that_the_stores_bear_out(
    request: pytest.FixtureRequest, spark: SparkSession, leases: Leases, java: Java, tmp_path: Path, client: str
) -> None:
    if client != "grpc":
        _kill_in_mid_load(request.getfixturevalue("three"), client, spark, tmp_path)
        return
    cluster = request.getfixturevalue("three_5x")
    home, nodes = tmp_path / "proxy", cluster.nodes
    namesrv, release = namesrv_addresses(cluster), cluster.spec.release
    with proxy_beside(release, namesrv, home, leases, java, nodes=nodes, until_s=CLUSTER_S_MAX) as proxy:
        _kill_in_mid_load(cluster, client, spark, tmp_path, "--proxy", proxy)


def _kill_in_mid_load(cluster: LocalCluster, client: str, spark: SparkSession, tmp_path: Path, *arguments: str) -> None:
    """Kill a worker with its client, a consumer and a broker, and hold what is said of the load against the stores."""
    is_java = client == "java"
    command = Command(
        cluster, tmp_path / "run", f"killed-{client}", "--client", client, "--rate", "150", "--duration", "0",
        "--processes", "2", "--mode", "sync", "--route", "fixed" if is_java else "selector", "--threads", "8",
        "--timeout-ms", "1000", "--consumers", "2", "--ordered", "--record-only", "--keep-groups", *arguments,
    )  # fmt: skip
    worker, consumer = command.pid("locust-worker-1"), command.pid("consumer-1")
    (sender,) = psutil.Process(worker).children()
    command.wait_consumed(300)
    for pid in (sender.pid, worker):
        os.kill(pid, signal.SIGKILL)
    command.wait_consumed(150)
    os.kill(consumer, signal.SIGKILL)
    command.wait_consumed(150)
    cluster.kill_node("broker-c")
    command.wait_consumed(100)
    cluster.start_node("broker-c")
    command.wait_consumed(100)
    command.process.send_signal(signal.SIGINT)
    judged = command.judged(spark)
    told = shown_of_json(judged["findings"])

    sends, consumed = command.records("producer", "send"), command.records("consumer", "consume")
    accepted = [send for send in sends if send["outcome"] == "ok"]
    assert {send["process"] for send in sends} == {"producer-0", "producer-1"}
    assert 0 < len(accepted) < len(sends), "the broker's death makes some sends fail"
    name = f"java {cluster.spec.release}" if is_java else CLIENTS[client].can.name
    assert {send["client"] for send in sends} == {judged["client"]} == {name}

    # Every acknowledged message lies in a broker's store, where its client says so, and came to a consumer.
    stored = Counter(command.stored(cluster))
    for broker in cluster.nodes:
        if broker.kind == "broker":
            ends = command.ends(broker.name)
            assert all(
                int(str(send["offset"])) < ends[int(str(send["queue"]))]
                for send in accepted
                if send.get("broker") == broker.name
            )
    assert set(seqs(accepted)) <= set(stored)
    assert set(seqs(consumed)) == set(stored)
    assert (told["all arrived"].verdict, told["all arrived"].count) == ("confirmed", 0)
    assert (told["nothing lost"].verdict, told["nothing lost"].count) == ("confirmed", 0)
    assert told["store agrees"].verdict == "confirmed"
    assert told["stored once"].count == sum(count > 1 for count in stored.values())
    assert (told["history whole"].count or 0) <= 2
    # Each queue's messages of the killed consumer that it had not committed come again, and in order all the same.
    assert told["in order"].verdict == "confirmed"
    again = len(consumed) - len({(record["broker"], record["queue"], record["offset"]) for record in consumed})
    assert told["nothing twice"].count == again
    queues = defaultdict(set)
    for record in consumed:
        queues[record["key"]].add((record["broker"], record["queue"]))
    assert told["a key, a queue"].count == sum(len(found) > 1 for found in queues.values())

    # Only a broker's own refusal is a failure, and these clients show none: set apart, and told how many arrived.
    unknown = [send for send in sends if send["outcome"] == "unknown"]
    figures = judged["figures"]
    assert (figures["unknown"], figures["unknown_arrived"]) == (len(unknown), len(set(seqs(unknown)) & set(stored)))
    assert all(send["error"] for send in unknown)
    if is_java:
        assert (told["a key, a queue"].verdict, told["stored once"].verdict) == ("confirmed", "confirmed")
        assert (figures["unplaced"], judged["notes"]) == (0, [f"setting of the user: {one}" for one in SOON[1::2]])
    else:
        assert len(sends) == len(accepted) + len(unknown)
        assert figures["unplaced"] == len(accepted)
        assert {f"{name}: {limit}" for limit in CLIENTS[client].can.limits} <= set(judged["notes"])
        assert f"consumptions are those of the client java {cluster.spec.release}" in judged["notes"]


def test_a_load_that_its_user_stops_before_its_time_is_drained_judged_and_told(
    three: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    command = Command(
        three, tmp_path / "run", "stopped", "--rate", "100", "--duration", "600", "--consumers", "1", "--record-only",
        "--keep-groups",
    )  # fmt: skip
    command.wait_consumed(100)
    command.process.send_signal(signal.SIGINT)
    _, err = command.process.communicate(timeout=400)
    assert command.process.returncode == EXIT_INTERRUPTED, err[-3000:]
    assert "stopping: nothing more is sent" in err
    judged = judge_load_in(spark, read_run_directory(command.out))
    first = judged.lines()[0]
    assert re.fullmatch(r"the load was stopped by its user after \d+\.\d of 600 s", first), first
    told = {item.claim: item.verdict for item in judged.findings}
    assert set(told.values()) == {"confirmed"}, "all of it was drained"


@pytest.mark.parametrize("cluster", ["three", "three_5x"])
def test_a_users_topic_is_read_from_its_end_and_nothing_is_left_on_his_cluster(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, cluster: str
) -> None:
    found: LocalCluster = request.getfixturevalue(cluster)
    create_topic(found, "users", read_queues=8, write_queues=8)
    broker = next(node for node in found.nodes if node.kind == "broker")
    with Broker(broker.address, timeout_s=60.0) as connection:
        for number in range(100):
            connection.send("users", number % 8, b"an order of the user's")
        command = Command(
            found, tmp_path / "run", "users", "--rate", "100", "--duration", "0", "--consumers", "1", "--record-only"
        )
        consumer = proc.identify(command.pid("consumer-0"))
        assert consumer is not None
        command.wait_consumed(50)
        for number in range(16):
            connection.send("users", number % 8, b"another order, meanwhile")
        command.wait_consumed(50)
        command.process.send_signal(signal.SIGINT)
    # What was sent and consumed is written down by then. Its group is removed 21 s later, which is time for another load.
    wait_until("the consumer's end", lambda: not consumer.is_alive(), timeout_s=300)
    kept = Command(
        found, tmp_path / "kept", "users", "--rate", "100", "--duration", "2", "--consumers", "1", "--record-only",
        "--keep-groups",
    )  # fmt: skip
    judged = command.judged(spark)
    told = shown_of_json(judged["findings"])
    consumed = command.records("consumer", "consume")
    assert {record["outcome"] for record in consumed} == {"ok", "foreign"}
    assert sum(record["outcome"] == "foreign" for record in consumed) == 16
    assert {item.verdict for item in told.values()} == {"confirmed"}
    assert told["bodies whole"].words.endswith("16 messages of others are left out")
    assert told["store agrees"].words.startswith(f"{len(consumed):,} messages in 24 queues")
    assert _groups_of(found, command) == set()

    kept.end()
    assert _groups_of(found, kept) == {"group", "retry topic"}


def _groups_of(cluster: LocalCluster, command: Command) -> set[str]:
    """What the brokers have of the load's consumer group."""
    (group,) = json.loads((command.trial / "trial.json").read_text())["groups"]
    left = set()
    for node in cluster.nodes:
        if node.kind == "broker":
            with Broker(node.address) as connection:
                if group in connection.call(GET_ALL_SUBSCRIPTIONGROUP_CONFIG).json()["subscriptionGroupTable"]:
                    left.add("group")
                if RETRY_PREFIX + group in {topic.name for topic in connection.topic_table().topics}:
                    left.add("retry topic")
        else:
            with NameServer(node.address) as server:
                if server.route(RETRY_PREFIX + group) is not None:
                    left.add("retry topic")
    return left


def test_a_broker_that_a_file_names_stands_still_after_a_dry_run_and_the_load_goes_on(
    three: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    broker = next(node for node in three.nodes if node.name == "broker-b")
    process = proc.identify(three.pid("broker-b") or 0)
    assert process is not None
    (tmp_path / "nodes.toml").write_text(f'[theirs]\naddress = "{broker.address}"\npid = {process.pid}\n')
    arguments = (
        "--rate", "100", "--duration", "9", "--consumers", "1", "--keep-groups", "--record-only",
        "--nodes", str(tmp_path / "nodes.toml"), "--fault", "pause-node:theirs,for=3s@3s",
    )  # fmt: skip
    dry = Command(three, tmp_path / "dry", "staged", *arguments, "--dry-run", "--json")
    dry_run = json.loads(dry.end())
    assert [step["what"].split(" (")[0] for step in dry_run["steps"]] == [
        f"SIGSTOP to process {process.pid}",
        f"SIGCONT to process {process.pid}",
    ]
    assert not dry.out.exists()

    command = Command(three, tmp_path / "run", "staged", *arguments, "--confirm", dry_run["confirm"])
    wait_until("the broker to stand still", process.is_stopped, timeout_s=300, poll_s=0.02)
    judged = command.judged(spark)
    assert process.is_alive()
    assert not process.is_stopped()
    told = {name: one.verdict for name, one in shown_of_json(judged["findings"]).items()}
    names = ("faults took effect", "all arrived", "nothing lost", "history whole", "store agrees")
    assert {told[name] for name in names} == {"confirmed"}
    stamps = {one["state"]: int(str(one["at_ns"])) for one in _faults(command)}
    ended = [one for one in command.records("producer", "send") if one["outcome"] == "ok"]
    still = [one for one in ended if stamps["injected"] < int(str(one["intended_ns"])) < stamps["healing"]]
    assert {one["broker"] for one in still} >= {"broker-a", "broker-c"}, "the others go on"


def _faults(command: Command) -> list[Json]:
    return [one for one in read_records(command.trial / "events.jsonl").records if one["type"] == "fault"]


@pytest.mark.usefixtures("spark_of_commands", "own_state")
def test_a_grpc_client_sends_by_way_of_a_proxy_and_is_judged_by_numbers(tmp_path: Path) -> None:
    done = typed(
        "load", "--out", str(tmp_path / "run"), "--release", "5.3.3", "--topology", "two-masters", "--client", "grpc",
        "--route", "selector", "--rate", "100", "--duration", "5", "--consumers", "1", "--ordered", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err[-3000:]
    judged = json.loads(done.out)
    told = {name: one.verdict for name, one in shown_of_json(judged["findings"]).items()}
    figures = judged["figures"]
    assert judged["client"] == "grpc rocketmq-python-client 5.1.2"
    assert figures["ok"] == figures["unplaced"] > 0
    names = ("all arrived", "nothing lost", "stored once", "in order", "bodies whole", "store agrees", "a key, a queue")
    assert {told[name] for name in names} == {"confirmed"}
    assert any("the proxy picks each message's queue" in note for note in judged["notes"])


def test_three_processes_are_one_load_and_are_judged_by_all_their_histories(
    three: LocalCluster, spark_of_commands: SparkSession, tmp_path: Path
) -> None:
    port = free_port()
    create_topic(three, "joined", read_queues=8, write_queues=8)
    same = ("--run-name", "all-three", "--users", "30", "--mode", "sync", "--route", "fixed", "--threads", "4")
    master = Command(
        three, tmp_path / "master", "joined", *same, "--rate", "300", "--duration", "8", "--consumers", "1", "--ordered",
        "--expect-workers", "3", "--bind", "127.0.0.2", "--master-port", str(port), "--record-only", "--keep-groups",
    )  # fmt: skip
    to = ("--join", f"127.0.0.2:{port}")
    other = Command(three, tmp_path / "other", "joined", *same, "--rate", "900", *to)
    _, said = other.process.communicate(timeout=300)
    assert other.process.returncode == 3
    assert f"this is no part of the load at 127.0.0.2:{port}: per_user is 10.0 there" in said
    parts = [Command(three, tmp_path / f"part-{i}", "joined", *same, "--rate", "300", *to) for i in (1, 2)]
    for part in parts:
        part.end()
    alone = shown_of_json(master.judged(spark_of_commands)["findings"])
    for name in ("history whole", "Locust agrees"):
        assert alone[name].verdict == "undecided"
        assert alone[name].words.startswith("the histories of 2 workers are missing")

    parts_of_it = (str(tmp_path / "part-1"), str(tmp_path / "part-2"))
    done = typed("runs", "analyze", str(tmp_path / "master"), "--json", "--with", *parts_of_it)
    assert done.code == 0, done.err[-2000:]
    assert {item["verdict"] for item in json.loads(done.out)["findings"]} == {"confirmed"}
    sends = master.records("producer", "send")
    # Numbered as they came to the master, which the one that was refused did as well.
    assert len({send["process"] for send in sends}) == 3
    assert len(set(seqs(sends))) == len(sends) == master.locust()[0] > 1_000
    assert set(seqs(sends)) == set(seqs(master.records("consumer", "consume")))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--namesrv", "192.0.2.1:9876"], "192.0.2.1:9876 is not an allowed target"),
        (
            ["--client", "grpc", "--release", "4.9.7"],
            "speaks to a proxy, which asks brokers for PopMessageProcessor, and 4.9.7 has none",
        ),
        (["--client", "grpc", "--namesrv", "127.0.0.1:1", "--proxy", "192.0.2.1:8081"], "192.0.2.1:8081 is not an"),
    ],
)
@pytest.mark.usefixtures("own_state")
def test_a_load_goes_nowhere_that_is_not_allowed_or_not_understood(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    done = typed("load", "--out", str(tmp_path / "run"), *arguments)
    assert done.code == 3
    assert words in done.err


def test_a_load_has_a_cluster_and_a_client_of_the_release_that_is_named(tmp_path: Path) -> None:
    ended = subprocess.run(
        # A broker's first sends may all be late on a busy machine: it has been started for this load.
        [sys.executable, "-m", "mqlab", "load", "--out", str(tmp_path / "run"), "--release", "5.3.3", "--rate", "100",
         "--duration", "20", "--consumers", "1", "--json", "--set", "broker.messageIndexEnable=false",
         "--set", "client.unitName=mine"],
        env={**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    history = read_records(tmp_path / "run" / "trials" / "load" / "history" / "producer-0.jsonl").records
    sends = [record for record in history if record["type"] == "send"]
    assert {record["client"] for record in sends} == {"java 5.3.3"}
    judged = json.loads(ended.stdout)
    assert sum(record["outcome"] == "ok" for record in sends) == judged["figures"]["ok"] > 0
    consumer = read_records(tmp_path / "run" / "trials" / "load" / "history" / "consumer-0.jsonl").records
    assert any(str(record.get("client_id", "")).endswith("@mine") for record in consumer)
    assert {f"setting of the user: {one}" for one in ("broker.messageIndexEnable=false", "client.unitName=mine")} <= {
        *judged["notes"]
    }
    conf = next((tmp_path / "run" / "deployments" / "load").rglob("broker.conf"))
    assert "messageIndexEnable=false" in conf.read_text()
    logs = tmp_path / "run" / "trials" / "load" / "clients" / "producer-0"
    assert any(file.name == "rocketmq_client.log" for file in logs.rglob("*.log"))
