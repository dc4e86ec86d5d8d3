"""Transactions, on a cluster of their own: since its first one a broker of 5.5.0 has kept a core busy (apache/rocketmq 10966)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, create_topic, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.model.loads import COMMITTED, STATE_PREFIX
from harness.plan.deployments import beside_others
from harness.releases.java import Java
from harness.wait import wait_until
from tests.lib.clusters import OLDEST_AND_NEWEST

TEST_S_MAX = 600.0


@pytest.fixture(params=OLDEST_AND_NEWEST)
def transactional(request: pytest.FixtureRequest, tmp_path: Path, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    settings = beside_others(BrokerSettings(), request.param)
    spec = ClusterSpec(name="transactional", release=request.param, topology=Topology(name="single"), settings=settings)
    started = start_local(spec, tmp_path / "cluster", leases, java, until_s=TEST_S_MAX)
    yield started
    started.down()


def _records(path: Path, kind: str) -> list[dict[str, object]]:
    # Ahead of its last record an open history is empty lines.
    records = [json.loads(line) for line in path.read_text().rstrip("\n").splitlines()]
    return [record for record in records if record["type"] == kind]


def test_consumers_are_given_what_transactions_committed_and_nothing_else(
    transactional: LocalCluster, leases: Leases, java: Java, tmp_path: Path
) -> None:
    topic, group, history = "transactions", "of-transactions", tmp_path / "history.jsonl"
    addresses = namesrv_addresses(transactional)
    create_topic(transactional, topic, read_queues=4, write_queues=4)
    client = JavaClient.start(
        leases, name="client", release=transactional.spec.release, java=java, folder=tmp_path / "logs", until_s=300
    )
    client.wait_started()
    client.open_history(history)
    client.start_producer("p", "g-transactions", addresses, transactional=True)
    client.wait_for_route("p", topic, 4)
    sends = SendSettings(topic=topic, mode="transaction", keys=3, key_prefix=STATE_PREFIX)
    client.start_schedule(
        ScheduleSpec(name="t", instance="p", rate_hz=100, start_ns=mono_ns(), operations=60, sends=sends)
    )
    wait_until("the schedule", lambda: client.schedule_state("t").is_through, timeout_s=180)
    client.wait_consumer_started(ConsumerSpec(instance="c", group=group, topic=topic, ordered=False), addresses)
    wait_until("the committed", lambda: len(_records(history, "consume")) >= 20, timeout_s=180)
    assert Counter(record["outcome"] for record in _records(history, "send")) == {"ok": 60}
    assert Counter(record["key"] for record in _records(history, "consume")) == {f"{STATE_PREFIX}{COMMITTED}": 20}
    client.stop()
