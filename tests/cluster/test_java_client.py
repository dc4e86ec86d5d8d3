from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from harness.backends.cluster import create_topic, namesrv_addresses, unconsumed
from harness.backends.local import LocalCluster
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.leases.leases import Leases
from harness.model.group_members import IN_A_CONTAINER
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.wait import wait_until

SENDS = 200
PULL_MESSAGE, LOCK_BATCH_MQ = 11, 41
"""Codes of the requests that an ordered consumer's hook records: its first pulls of a queue, and its locks."""


@contextmanager
def _started(release: str, folder: Path, leases: Leases, java: Java) -> Iterator[JavaClient]:
    client = JavaClient.start(leases, name="client", release=release, java=java, folder=folder, until_s=900)
    client.wait_started()
    yield client
    client.stop()


@pytest.fixture
def client(cluster: LocalCluster, leases: Leases, java: Java, tmp_path: Path) -> Iterator[JavaClient]:
    with _started(cluster.spec.release, tmp_path / "logs", leases, java) as started:
        started.open_history(tmp_path / "history.jsonl")
        yield started


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[Callable[[str], JavaClient]]:
    """A client of each release that is asked for: to start one takes seconds of a core."""
    with ExitStack() as stack:
        yield cache(lambda of: stack.enter_context(_started(of, tmp_path_factory.mktemp("logs"), leases, java)))


@pytest.fixture
def sender(cluster: LocalCluster, kept: Callable[[str], JavaClient], tmp_path: Path) -> JavaClient:
    """A client that has nothing but producers, each of one test, and this test's history."""
    client = kept(cluster.spec.release)
    client.open_history(tmp_path / "history.jsonl")
    return client


def _records(path: Path, kind: str) -> list[dict[str, object]]:
    # Ahead of its last record an open history is empty lines.
    records = [json.loads(line) for line in path.read_text().rstrip("\n").splitlines()]
    assert [record["n"] for record in records] == list(range(1, len(records) + 1))
    return [record for record in records if record["type"] == kind]


def _send(
    client: JavaClient, topic: str, mode: str, route: str, cluster: LocalCluster, *, tagged: bool = False
) -> None:
    client.start_producer(f"p-{mode}-{route}", f"g-{mode}-{route}", namesrv_addresses(cluster))
    client.wait_for_route(f"p-{mode}-{route}", topic, 8)
    client.start_schedule(
        ScheduleSpec(
            name="s",
            instance=f"p-{mode}-{route}",
            rate_hz=400,
            start_ns=mono_ns(),
            operations=SENDS,
            sends=SendSettings(topic=topic, mode=mode, route=route, threads=2, keys=16, tagged=tagged),
        )
    )
    wait_until("the schedule", lambda: client.schedule_state("s").is_through, timeout_s=180)


@pytest.mark.parametrize("mode", ["sync", "async", "oneway"])
@pytest.mark.parametrize("route", ["normal", "selector", "fixed"])
def test_every_kind_of_send_is_recorded_once_with_its_outcome(
    sender: JavaClient, cluster: LocalCluster, tmp_path: Path, mode: str, route: str
) -> None:
    topic = f"kinds-{mode}-{route}"
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    _send(sender, topic, mode, route, cluster)
    sends = _records(tmp_path / "history.jsonl", "send")
    assert sorted(int(str(send["seq"])) for send in sends) == list(range(SENDS))
    # A one-way send has no answer, so that nobody can say whether it arrived.
    assert {send["outcome"] for send in sends} == ({"unknown"} if mode == "oneway" else {"ok"})
    assert all(int(str(s["intended_ns"])) <= int(str(s["started_ns"])) <= int(str(s["finished_ns"])) for s in sends)
    if mode != "oneway" and route != "normal":
        queues = defaultdict(set)
        for send in sends:
            queues[send["key"]].add((send["broker"], send["queue"]))
        assert {len(found) for found in queues.values()} == {1}


@pytest.mark.parametrize("ordered", [True, False])
def test_consumptions_carry_the_sends_sequence_and_intended_time(
    client: JavaClient, cluster: LocalCluster, tmp_path: Path, ordered: bool
) -> None:
    topic, group = f"consume-{ordered}", f"group-{ordered}"
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    spec = ConsumerSpec(instance="c", group=group, topic=topic, ordered=ordered)
    client_id = client.wait_consumer_started(spec, namesrv_addresses(cluster))
    assert client_id.startswith("127.0.0.1@c")
    _send(client, topic, "sync", "selector", cluster)
    wait_until("the group to commit everything", lambda: unconsumed(cluster, topic, 4, [group]) == 0, timeout_s=180)
    sends = {record["seq"]: record for record in _records(tmp_path / "history.jsonl", "send")}
    consumed = _records(tmp_path / "history.jsonl", "consume")
    assert sorted(int(str(record["seq"])) for record in consumed) == list(range(SENDS))
    for record in consumed:
        send = sends[record["seq"]]
        assert record["intended_ns"] == send["intended_ns"]
        assert (record["broker"], record["queue"], record["offset"]) == (send["broker"], send["queue"], send["offset"])
    if ordered:
        requests = _records(tmp_path / "history.jsonl", "rpc")
        assert {request["code"] for request in requests} == {PULL_MESSAGE, LOCK_BATCH_MQ}
        locks = [request for request in requests if request["code"] == LOCK_BATCH_MQ]
        assert sum(len(cast(list[str], lock["granted"])) for lock in locks) >= 8
        assert len(client.assigned_queues()["c"]) == 8
        client.shut_down_consumers()
        events = [record["event"] for record in _records(tmp_path / "history.jsonl", "instance")]
        assert events == ["starting", "started", "stopping", "stopped"]


def test_a_member_gets_its_tags_and_its_client_has_the_name_that_is_asked_for(
    client: JavaClient, cluster: LocalCluster, tmp_path: Path
) -> None:
    topic, groups = "tagged", ["of-k0", "of-k1-and-k2"]
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    ids = [
        client.wait_consumer_started(
            ConsumerSpec(instance=group, group=group, topic=topic, ordered=False, tags=tags, client_name=name),
            namesrv_addresses(cluster),
        )
        for group, tags, name in zip(groups, ("k0", "k1 || k2"), ("service", IN_A_CONTAINER), strict=True)
    ]
    assert ids[0].startswith("127.0.0.1@service")
    assert ids[1].partition("#")[0] == "127.0.0.1@1"
    _send(client, topic, "sync", "normal", cluster, tagged=True)

    def given() -> Counter[tuple[object, object]]:
        consumed = _records(tmp_path / "history.jsonl", "consume")
        return Counter((record["group"], record["key"]) for record in consumed)

    of_each = -(-SENDS // 16)
    wait_until("every message of the tags", lambda: sum(given().values()) >= 3 * of_each, timeout_s=180)
    assert given() == {(groups[0], "k0"): of_each, (groups[1], "k1"): of_each, (groups[1], "k2"): of_each}


def test_a_kill_damages_the_last_line_at_most(client: JavaClient, cluster: LocalCluster, tmp_path: Path) -> None:
    topic = "killed"
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    client.start_producer("p", "g", namesrv_addresses(cluster))
    client.wait_for_route("p", topic, 8)
    spec = ScheduleSpec(
        name="s",
        instance="p",
        rate_hz=2000,
        start_ns=mono_ns(),
        operations=100_000,
        sends=SendSettings(topic=topic),
    )
    client.start_schedule(spec)
    wait_until("some sends", lambda: client.schedule_state("s").ended > 500, timeout_s=180)
    before_ns, gone_ns = client.kill()
    assert before_ns < gone_ns
    with pytest.raises(ClientError, match="client client"):
        client.schedule_state("s")
    # The history is memory that the kernel keeps, so a record is torn only where the kill met the copying of it, which
    # stands still longest where it enters a page for the first time.
    left = read_records(tmp_path / "history.jsonl")
    assert not left.damaged_lines or left.damaged_lines[0] == len(left.records) + 1
    assert len(left.damaged_lines) <= 1
    assert [record["n"] for record in left.records] == list(range(1, len(left.records) + 1))
    assert sum(record["type"] == "send" for record in left.records) > 500


def test_the_clients_own_error_reaches_the_harness(sender: JavaClient, cluster: LocalCluster) -> None:
    with pytest.raises(ClientError, match="MQClientException"):
        sender.start_producer("p", "a group with spaces", namesrv_addresses(cluster))
    with pytest.raises(ClientError, match="setNoSuchSetting"):
        sender.start_producer("q", "group", namesrv_addresses(cluster), noSuchSetting=1)
    assert sender.is_running()


def test_a_history_may_be_closed_while_its_consumers_go_on(
    client: JavaClient, cluster: LocalCluster, tmp_path: Path
) -> None:
    topic = "closed"
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    client.wait_consumer_started(
        ConsumerSpec(instance="c", group="closed", topic=topic, ordered=True), namesrv_addresses(cluster)
    )
    client.start_producer("p", "g", namesrv_addresses(cluster))
    client.wait_for_route("p", topic, 8)
    spec = ScheduleSpec(
        name="s",
        instance="p",
        rate_hz=1000,
        start_ns=mono_ns(),
        operations=60_000,
        sends=SendSettings(topic=topic),
    )
    client.start_schedule(spec)
    for part in range(5):
        wanted = client.schedule_state("s").ended + 200
        wait_until("sends", lambda wanted=wanted: client.schedule_state("s").ended >= wanted, timeout_s=180)  # type: ignore[misc]
        client.close_history()  # Raises when it could not record everything.
        client.open_history(tmp_path / f"part-{part}.jsonl")
    client.stop_schedule("s")
