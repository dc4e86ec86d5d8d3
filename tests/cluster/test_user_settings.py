"""The user's own settings take effect: those of clients, and those of the brokers' JVMs."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, ask, create_topic, masters, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.clients.java import ConsumerSpec, JavaClient
from harness.leases.leases import Leases
from harness.model.cluster import Topology, UserSettings
from harness.model.rocketmq import LOCK_BATCH_MQ, LOCK_INTERVAL, LOCK_INTERVAL_MS, LOCK_LIFE, LOCK_LIFE_MS
from harness.releases.java import Java
from harness.wait import wait_until

TOPIC = "locks"
LIFE_MS, INTERVAL_MS = 3000, 1000
USER = UserSettings(
    broker_jvm={LOCK_LIFE: str(LIFE_MS)},
    client={LOCK_INTERVAL: str(INTERVAL_MS), "unitName": "mine", "consumeMessageBatchMaxSize": "3"},
)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    spec = ClusterSpec(name="tests-own", release="5.3.3", topology=Topology(name="single"), user=USER)
    started = start_local(spec, tmp_path_factory.mktemp("own"), leases, java, until_s=600)
    create_topic(started, TOPIC, read_queues=2, write_queues=2)
    yield started
    started.down()


def test_a_lock_lives_as_long_as_the_user_set_for_the_brokers_jvm(own: LocalCluster) -> None:
    (master,) = masters(own)
    pid = own.pid(master.name)
    assert f"-D{LOCK_LIFE}={LIFE_MS}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    queue = (TOPIC, master.broker_name, 0)
    with ask(master) as broker:
        asked = time.monotonic()
        assert broker.lock("g", "first", [queue])
        assert not broker.lock("g", "second", [queue])
        wait_until(
            "the lock to expire", lambda: bool(broker.lock("g", "second", [queue])), timeout_s=LOCK_LIFE_MS / 2000
        )
        assert time.monotonic() - asked >= LIFE_MS / 1000


def test_a_consumer_locks_as_often_as_the_user_set_and_its_beans_have_their_values(
    own: LocalCluster, leases: Leases, java: Java, tmp_path: Path
) -> None:
    history = tmp_path / "history.jsonl"
    overrides: dict[str, str] = {}
    client = JavaClient.start(
        leases, name="client", release="5.3.3", java=java, folder=tmp_path / "logs", until_s=300, user=USER.client,
        overrides=overrides,
    )  # fmt: skip
    try:
        client.wait_started()
        client.open_history(history)
        settings = {"consumeMessageBatchMaxSize": 1}
        spec = ConsumerSpec(instance="one", group="locking", topic=TOPIC, ordered=True, settings=settings)
        assert client.wait_consumer_started(spec, namesrv_addresses(own)).split("@")[2] == "mine"
        wait_until("eight requests for locks", lambda: len(_lock_requests(history)) >= 8, timeout_s=120)
    finally:
        client.stop()
    # The first ones come with the first rebalance; each of the others would be 20 s after the one before it.
    took_ms = (_lock_requests(history)[7] - _lock_requests(history)[3]) / 1e6
    assert took_ms < LOCK_INTERVAL_MS, _lock_requests(history)
    assert overrides == {"client.consumeMessageBatchMaxSize": "3 -> 1"}


def _lock_requests(history: Path) -> list[int]:
    """When each request was made, in nanoseconds. Ahead of its last record an open history is empty lines."""
    records = [json.loads(line) for line in history.read_text().rstrip("\n").splitlines() if line]
    return [one["started_ns"] for one in records if one["type"] == "rpc" and one["code"] == LOCK_BATCH_MQ]
